// Cuts a Jinja template into text, tags and the tokens inside them, with the
// white-space rules that Hugging Face sets: trim_blocks and lstrip_blocks on,
// one newline at the end dropped.
#ifndef SDC_COMPILER_EMIT_TEMPLATELEXER_H
#define SDC_COMPILER_EMIT_TEMPLATELEXER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sdc {

struct TemplateToken {
  enum Kind {
    Text,       // what stands between tags
    PrintBegin, // {{
    PrintEnd,
    BlockBegin, // {%
    BlockEnd,
    Name,
    String, // its value, escapes resolved
    Integer,
    Float,
    Operator,
    End,
  };
  Kind kind;
  unsigned line;
  std::string text;

  bool is(Kind wanted, llvm::StringRef value) const {
    return kind == wanted && text == value;
  }
};

/// Ends with a token of kind End. `name` goes before messages.
llvm::Expected<std::vector<TemplateToken>> lexTemplate(llvm::StringRef source,
                                                       llvm::StringRef name);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TEMPLATELEXER_H
