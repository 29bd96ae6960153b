// A pattern of a Split or Replace step: plain text, or a compiled PCRE2
// expression. Immutable after it was compiled; matching memory is the call's.
#ifndef SDC_RUNTIME_TEXT_PATTERN_H
#define SDC_RUNTIME_TEXT_PATTERN_H

#include "runtime/text/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sdc::text {

/// A part of a text: a match of a pattern, or what lies between two.
struct Match {
  size_t begin;
  size_t end;
  bool isMatch;
};

class Pattern {
public:
  /// `text` is borrowed when it is plain.
  bool compile(Scope &scope, const Allocator &memory, Span text, bool isRegex);
  void release();

  /// Cuts all of `text` into matches and what lies between.
  bool cut(Scope &scope, Span text, Buffer<Match> &out) const;

private:
  bool cutByRegex(Scope &scope, Span text, Buffer<Match> &out) const;

  Span plain = {nullptr, 0};
  pcre2_code *code = nullptr;
  pcre2_general_context *context = nullptr;
};

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_PATTERN_H
