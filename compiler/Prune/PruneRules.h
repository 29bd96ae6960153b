// Which pattern a linear gets: one for all, and rules by name, of which a later
// one wins.

#ifndef SDC_COMPILER_PRUNE_PRUNERULES_H
#define SDC_COMPILER_PRUNE_PRUNERULES_H

#include "kernels/Format/Pattern.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace sdc {

/// A linear as rules see it.
struct RuledLinear {
  std::string name;
  /// The name of its ONNX node, if it is known.
  std::string node;
};

/// What rules say of a linear.
struct RuledPattern {
  Pattern pattern;
  /// Why it is dense, if it is.
  std::string reason;
  /// Whether a rule said so.
  bool byRule = false;
};

class PruneRules {
public:
  /// `rules` are "REGEX=PATTERN" in the order in which they were given; a
  /// pattern of "dense" skips. Fails with all that is wrong with them.
  static llvm::Expected<PruneRules> parse(llvm::StringRef pattern,
                                          llvm::ArrayRef<std::string> rules);

  /// The pattern of each linear. Without a rule for it the head is dense. Fails
  /// if rules match no linear, with the names that come nearest.
  llvm::Expected<std::vector<RuledPattern>>
  apply(llvm::ArrayRef<RuledLinear> linears) const;

private:
  struct Rule {
    std::string text;
    std::string expression;
    Pattern pattern;
  };

  Pattern pattern;
  std::vector<Rule> rules;
};

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_PRUNERULES_H
