// Rules of patterns by name.

#include "compiler/Prune/PruneRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace sdc;

static llvm::Error ruleError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

llvm::Expected<PruneRules>
PruneRules::parse(llvm::StringRef pattern, llvm::ArrayRef<std::string> texts) {
  PruneRules result;
  llvm::Error error = llvm::Error::success();
  auto fail = [&](const llvm::Twine &what) {
    error = llvm::joinErrors(std::move(error), ruleError(what));
  };
  std::string problem;
  if (std::optional<Pattern> parsed = Pattern::parse(pattern, problem))
    result.pattern = *parsed;
  else
    fail(problem);
  for (const std::string &text : texts) {
    // A pattern holds no '=', an expression may.
    auto [expression, wanted] = llvm::StringRef(text).rsplit('=');
    if (expression.empty() || wanted.empty()) {
      fail("rule '" + text + "' is not of the form REGEX=N:M");
      continue;
    }
    std::string regexProblem;
    if (!llvm::Regex(expression).isValid(regexProblem)) {
      fail("rule '" + text + "': '" + expression +
           "' is no regular expression: " + regexProblem);
      continue;
    }
    if (std::optional<Pattern> parsed = Pattern::parse(wanted, problem))
      result.rules.push_back({text, expression.str(), *parsed});
    else
      fail("rule '" + text + "': " + problem);
  }
  if (error)
    return std::move(error);
  return result;
}

/// The names nearest to `expression`, by edits.
static std::string nearestNames(llvm::StringRef expression,
                                llvm::ArrayRef<RuledLinear> linears) {
  std::vector<std::pair<unsigned, size_t>> ranked;
  for (size_t i = 0; i < linears.size(); ++i)
    ranked.emplace_back(
        llvm::StringRef(linears[i].name).edit_distance(expression), i);
  llvm::sort(ranked);
  std::vector<llvm::StringRef> names;
  for (auto &[distance, index] : ranked)
    if (names.size() < 3)
      names.push_back(linears[index].name);
  return llvm::join(names, ", ");
}

llvm::Expected<std::vector<RuledPattern>>
PruneRules::apply(llvm::ArrayRef<RuledLinear> linears) const {
  std::vector<RuledPattern> result(linears.size());
  for (size_t i = 0; i < linears.size(); ++i) {
    bool head = linears[i].name == "head";
    result[i].pattern = head ? Pattern::dense() : pattern;
    if (pattern.isDense())
      result[i].reason = "the build is dense";
    else if (head)
      result[i].reason = "the head stays dense unless a rule says otherwise";
  }
  llvm::Error error = llvm::Error::success();
  for (const Rule &rule : rules) {
    llvm::Regex regex(rule.expression);
    bool matched = false;
    for (size_t i = 0; i < linears.size(); ++i) {
      if (!regex.match(linears[i].name) &&
          (linears[i].node.empty() || !regex.match(linears[i].node)))
        continue;
      matched = true;
      result[i].pattern = rule.pattern;
      result[i].byRule = true;
      result[i].reason = rule.pattern.isDense()
                             ? "the rule '" + rule.expression + "' skips it"
                             : "";
    }
    if (!matched)
      error = llvm::joinErrors(
          std::move(error), ruleError("rule '" + rule.text +
                                      "' matches no linear; the nearest "
                                      "names are " +
                                      nearestNames(rule.expression, linears)));
  }
  if (error)
    return std::move(error);
  return result;
}
