// An accepted option always acts: flags of `sdc compile` that the others leave
// without effect are refused, and so are rules that can't be read.

#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Record/Calibration.h"
#include "tools/sdc/CompileOptions.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

#include <CLI/CLI.hpp>
#include <algorithm>

using namespace sdc;

namespace {

/// A flag and the phases of which one must run for it to act.
struct FlagPhases {
  const char *flag;
  Phase first, last;
};

constexpr FlagPhases kFlagPhases[] = {
    {"--weights-dir", Phase::Import, Phase::Import},
    {"--weights", Phase::Import, Phase::Import},
    {"--batch", Phase::Import, Phase::Import},
    {"--prefill-chunk", Phase::Import, Phase::Import},
    {"--all-logits", Phase::Raise, Phase::Raise},
    {"--pattern", Phase::Prune, Phase::Prune},
    {"--pattern-for", Phase::Prune, Phase::Prune},
    {"--skip", Phase::Prune, Phase::Prune},
    {"--calibration", Phase::Prune, Phase::Prune},
    {"--prompts", Phase::Prune, Phase::Prune},
    {"--positions", Phase::Prune, Phase::Prune},
    {"--method", Phase::Prune, Phase::Prune},
    {"--damp", Phase::Prune, Phase::Prune},
    {"--keep-sparsity", Phase::Prune, Phase::Prune},
    {"--allow-other-weights", Phase::Prune, Phase::Prune},
    {"--strict", Phase::Prune, Phase::Prune},
    {"--work", Phase::Prune, Phase::Prune},
    {"--max-memory", Phase::Prune, Phase::Pack},
    {"--dtype", Phase::Prune, Phase::Pack},
    {"--kv-dtype", Phase::Lower, Phase::Lower},
    {"-O", Phase::Lower, Phase::Lower},
    {"--emit", Phase::Emit, Phase::Emit},
    {"--tokenizer", Phase::Emit, Phase::Emit},
    {"--dry-run", Phase::Emit, Phase::Emit},
};

class FlagCheck {
public:
  FlagCheck(const CLI::App &verb, const CompileOptions &options)
      : verb(verb), options(options) {}

  bool run();

private:
  bool given(const char *flag) const { return verb.count(flag) > 0; }
  void refuse(const std::string &message, const std::string &hint = "") {
    usageError("compile: " + message, hint);
    good = false;
  }
  /// Refuses each of `flags` that is given.
  void refuseAll(std::initializer_list<const char *> flags,
                 const std::string &why, const std::string &hint = "") {
    for (const char *flag : flags)
      if (given(flag))
        refuse(std::string(flag) + " has no effect: " + why, hint);
  }
  void checkPhases();
  void checkPruning();
  void checkRules();

  const CLI::App &verb;
  const CompileOptions &options;
  bool good = true;
};

} // namespace

void FlagCheck::checkPhases() {
  auto parse = [&](const char *flag, const std::string &name) {
    std::optional<Phase> phase = parsePhase(name);
    if (!phase)
      refuse(std::string(flag) + ": unknown phase '" + name + "'",
             "one of " + phaseNames());
    return phase;
  };
  std::optional<Phase> from = Phase::Import, to = Phase::Emit;
  if (!options.compileFrom.empty())
    from = parse("--compile-from", options.compileFrom);
  if (!options.compileTo.empty())
    to = parse("--compile-to", options.compileTo);
  if (from == Phase::Import && !options.compileFrom.empty())
    refuse("--compile-from import: the import begins with a model, not with a "
           "text",
           "drop the flag, or name a later phase: " + phaseNames());
  if (from && to && *from > *to)
    refuse("--compile-from " + options.compileFrom +
           " comes after --compile-to " + options.compileTo);
  for (const auto &[name, passes] : options.addPasses) {
    std::optional<Phase> phase = parse("--add-passes", name);
    if (phase == Phase::Emit)
      refuse("--add-passes emit: passes run before the file is written",
             "--add-passes plan:" + passes);
    else if (phase && from && to && (*phase < *from || *phase > *to))
      refuse("--add-passes " + name + ":" + passes +
             " has no effect: the phase " + name + " is not run");
  }
  if (!from || !to)
    return;
  for (const FlagPhases &entry : kFlagPhases)
    if (given(entry.flag) && (entry.last < *from || entry.first > *to))
      refuse(std::string(entry.flag) + " has no effect: the phase " +
             phaseName(entry.first).str() + " is not run");
  if (options.emit == "sdx" || options.emit == "object")
    return;
  std::string why = "--emit " + options.emit;
  refuseAll({"--tokenizer", "--dry-run"}, why + " has no use for it");
  if (options.emit == "onnx")
    refuseAll({"--kv-dtype", "-O"}, why + " generates no code");
}

/// What says how to prune needs something that is pruned.
void FlagCheck::checkPruning() {
  bool recorded = given("--calibration") || given("--prompts");
  bool byRule = std::any_of(
      options.rules.begin(), options.rules.end(),
      [](const PatternRule &rule) { return rule.pattern != "dense"; });
  bool sparse =
      byRule ||
      (options.pattern.empty() ? recorded : options.pattern != "dense");
  if (options.keepSparsity)
    refuseAll({"--calibration", "--prompts", "--positions", "--method",
               "--damp", "--allow-other-weights", "--work"},
              "--keep-sparsity prunes nothing");
  else if (!sparse)
    refuseAll({"--calibration", "--prompts", "--positions", "--method",
               "--damp", "--allow-other-weights", "--work", "--skip",
               "--pattern-for"},
              "every linear stays dense", "--pattern N:M prunes");
  else if (options.method == "magnitude" || options.method == "wanda")
    refuseAll({"--damp"}, options.method + " has no damping");
  if (!recorded && sparse && !options.keepSparsity)
    refuseAll({"--positions", "--allow-other-weights"},
              "there is no calibration");
}

void FlagCheck::checkRules() {
  for (const PatternRule &rule : options.rules) {
    std::string problem;
    if (!llvm::Regex(rule.regex).isValid(problem))
      refuse("'" + rule.regex + "' is no regular expression: " + problem);
  }
  if (auto weights = PositionWeights::parse(options.positions); !weights)
    refuse("--positions: " + llvm::toString(weights.takeError()));
}

bool FlagCheck::run() {
  checkPhases();
  checkPruning();
  checkRules();
  return good;
}

bool sdc::checkFlagsAct(const CLI::App &verb, const CompileOptions &options) {
  return FlagCheck(verb, options).run();
}
