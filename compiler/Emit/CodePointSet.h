// Sets of Unicode code points, and the classes that Hugging Face's tokenizers
// know by name.
#ifndef SDC_COMPILER_EMIT_CODEPOINTSET_H
#define SDC_COMPILER_EMIT_CODEPOINTSET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// Appends a character in UTF-8.
void appendUtf8(std::string &out, uint32_t character);

/// Reads the character at the front of valid UTF-8 and drops it.
uint32_t takeCharacter(llvm::StringRef &text);

/// Sorted closed ranges that do not touch.
class CodePointSet {
public:
  struct Range {
    uint32_t low;
    uint32_t high;
  };
  static constexpr uint32_t last = 0x10FFFF;

  void add(uint32_t low, uint32_t high);
  void unite(const CodePointSet &other);
  CodePointSet intersect(const CodePointSet &other) const;
  CodePointSet complement() const;

  llvm::ArrayRef<Range> ranges() const { return sorted; }
  bool isEmpty() const { return sorted.empty(); }
  /// Low and high of each range, one after another.
  std::vector<uint32_t> flat() const;

  /// As a class of PCRE2, brackets included: `[...]`, or `[^...]` when
  /// `negated`. No property and no shorthand is left in it.
  std::string toPattern(bool negated = false) const;
  /// The shorter of the two ways to write the set.
  std::string toShortPattern() const;

  /// What \p{name} means; nothing when the name is unknown.
  static std::optional<CodePointSet> property(llvm::StringRef name);
  /// What \s, \w and \d mean.
  static CodePointSet space();
  static CodePointSet word();
  /// What \w means inside brackets, where Oniguruma uses another table.
  static CodePointSet wordInClass();
  static CodePointSet digit();
  /// The predicates of the Rust code: Digits, Punctuation and the words of
  /// Whitespace and of single-word tokens.
  static CodePointSet rustNumeric();
  static CodePointSet rustPunctuation();
  static CodePointSet rustWord();
  /// What the normal forms of the tokenizers leave as it is.
  static CodePointSet normalFormsLeaveAlone();
  /// What StripAccents strips.
  static CodePointSet accents();

private:
  std::vector<Range> sorted;
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_CODEPOINTSET_H
