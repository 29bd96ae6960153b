// The flags of `sdc compile`.

#include "tools/sdc/CompileOptions.h"
#include "kernels/Format/Pattern.h"
#include "tools/sdc/Numbers.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

using namespace sdc;

static std::optional<uint64_t> parseScaled(const std::string &text,
                                           double step) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception &) {
    return std::nullopt;
  }
  if (!std::isfinite(value) || value < 0)
    return std::nullopt;
  std::string unit = text.substr(used);
  if (!unit.empty()) {
    static const std::string units = "kmgt";
    size_t power = units.find(static_cast<char>(std::tolower(unit.front())));
    if (power == std::string::npos)
      return std::nullopt;
    std::string rest = unit.substr(1);
    if (!rest.empty() && rest != "B" && rest != "iB")
      return std::nullopt;
    value *= std::pow(step, static_cast<double>(power + 1));
  }
  if (value > 9e18)
    return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<uint64_t> sdc::parseBytes(const std::string &text) {
  return parseScaled(text, 1024);
}

std::optional<uint64_t> sdc::parseCount(const std::string &text) {
  return parseScaled(text, 1000);
}

namespace {

using Parse = std::optional<uint64_t> (*)(const std::string &);

/// An option that takes a number with a unit.
void addScaled(CLI::App &verb, const std::string &name, uint64_t &value,
               Parse parse, const std::string &help, const std::string &type) {
  verb.add_option_function<std::string>(
          name,
          [&value, parse](const std::string &text) { value = *parse(text); },
          help)
      ->check(CLI::Validator(
          [parse](std::string &text) -> std::string {
            return parse(text) ? "" : "'" + text + "' is not a number";
          },
          type));
}

std::string checkPattern(const std::string &text) {
  std::string problem;
  return Pattern::parse(text, problem) ? "" : problem;
}

const CLI::Validator
    kPattern([](std::string &text) { return checkPattern(text); }, "dense|N:M");

/// REGEX=N:M, cut at the last '='.
const CLI::Validator kPatternRule(
    [](std::string &text) -> std::string {
      size_t equals = text.rfind('=');
      if (equals == std::string::npos || equals == 0)
        return "expected REGEX=N:M, got '" + text + "'";
      return checkPattern(text.substr(equals + 1));
    },
    "REGEX=N:M");

const CLI::Validator kTarget(
    [](std::string &text) -> std::string {
      if (text == "cpu")
        return "";
      bool cuda = text.find("cuda") != std::string::npos;
      if (cuda && text.find("cpu") != std::string::npos)
        return "one file serves one target family: compile once for cpu and "
               "once for cuda";
      if (cuda && text.find_first_of("0123456789") == text.find(':') + 1)
        return "'" + text +
               "' names a device, which --device of `sdc run` takes; --target "
               "takes an architecture, as in cuda:sm_90a";
      if (cuda)
        return "this build of sdc compiles for cpu only";
      return "unknown target '" + text + "', expected cpu";
    },
    "cpu");

} // namespace

void sdc::addSamplingFlags(CLI::App &verb, RecordingOptions &options) {
  verb.add_flag("--raw", options.raw,
                "Take prompts as they are, without the chat template");
  addScaled(verb, "--tokens", options.tokens, parseCount,
            "Decode positions to record [1M]", "N");
  verb.add_option("--temp", options.temperature, "Temperature of the rollouts")
      ->check(realNumber(0, 100))
      ->capture_default_str();
  verb.add_option("--top-k", options.topK, "Keep the k likeliest; 0: all")
      ->capture_default_str();
  verb.add_option("--top-p", options.topP,
                  "Keep the likeliest whose sum reaches p; 1: all")
      ->check(realNumber(0, 1))
      ->capture_default_str();
  verb.add_option("-s,--seed", options.seed, "Seed of the rollouts")
      ->check(wholeNumber())
      ->capture_default_str();
  verb.add_option("--max-new", options.maxNew, "Tokens of a rollout at most")
      ->check(CLI::Range(2, INT32_MAX))
      ->capture_default_str();
}

void sdc::addCompileOptions(CLI::App &verb, CompileOptions &options) {
  verb.add_option("MODEL", options.model,
                  "An .onnx file, or a folder that holds model.onnx")
      ->required();
  verb.add_option("-o", options.output,
                  "The file to write; - is stdout, for text");

  // Pruning.
  verb.add_option("--pattern", options.pattern,
                  "N kept of every M weights along K: dense, 2:4, 4:8, 8:16, "
                  "16:32 or another N:M [16:32 with a calibration, else dense]")
      ->check(kPattern);
  verb.add_option_function<std::vector<std::string>>(
          "--pattern-for",
          [&options](const std::vector<std::string> &rules) {
            for (const std::string &rule : rules) {
              size_t equals = rule.rfind('=');
              options.rules.push_back(
                  {rule.substr(0, equals), rule.substr(equals + 1)});
            }
          },
          "Another pattern for linears whose name matches; later rules win")
      ->check(kPatternRule)
      ->allow_extra_args(false)
      ->trigger_on_parse();
  verb.add_option_function<std::vector<std::string>>(
          "--skip",
          [&options](const std::vector<std::string> &rules) {
            for (const std::string &rule : rules)
              options.rules.push_back({rule, "dense"});
          },
          "Leave linears dense whose name matches; later rules win")
      ->allow_extra_args(false)
      ->trigger_on_parse();
  CLI::Option *calibration =
      verb.add_option("--calibration", options.calibration,
                      "What `sdc record` wrote")
          ->check(CLI::ExistingFile);
  CLI::Option *prompts =
      verb.add_option("--prompts", options.recording.prompts,
                      "Record first, with these prompts (.txt, .jsonl)")
          ->check(CLI::ExistingFile)
          ->excludes(calibration);
  verb.add_option("--save-calibration", options.saveCalibration,
                  "Keep what was recorded")
      ->needs(prompts);
  addSamplingFlags(verb, options.recording);
  for (const char *flag : {"--raw", "--tokens", "--temp", "--top-k", "--top-p",
                           "--seed", "--max-new"})
    verb.get_option(flag)->needs(prompts);
  verb.add_option("--positions", options.positions,
                  "Positions that pruning weighs: decode, prompt, all, or "
                  "three weights DECODE,PROMPT,FIRST")
      ->capture_default_str();
  verb.add_option("--method", options.method,
                  "sparsegpt, wanda or magnitude [sparsegpt]")
      ->check(CLI::IsMember({"sparsegpt", "wanda", "magnitude"}));
  verb.add_option("--damp", options.damp,
                  "Damping of SparseGPT, as a share of the mean diagonal")
      ->check(realNumber(1e-6, 1))
      ->capture_default_str();
  verb.add_flag("--keep-sparsity", options.keepSparsity,
                "Do not prune: keep the pattern that the weights have already");
  verb.add_flag("--allow-other-weights", options.allowOtherWeights,
                "Take a calibration of other weights of this architecture");

  // Shape and type of the executable.
  verb.add_option("--target", options.target, "What it runs on")
      ->check(kTarget)
      ->capture_default_str();
  verb.add_option("--dtype", options.dtype,
                  "Type of weights; auto: f16 and bf16 stay, f32 becomes bf16")
      ->check(CLI::IsMember({"auto", "bf16", "f16", "f32"}))
      ->capture_default_str();
  verb.add_option("--kv-dtype", options.kvDtype,
                  "Type of keys and values; auto: that of the weights")
      ->check(CLI::IsMember({"auto", "bf16", "f16", "f32"}))
      ->capture_default_str();
  verb.add_option("-b,--batch", options.batch, "Sequences decoded at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb.add_option("-c,--context", options.context,
                  "Positions of a sequence [the smaller of 4096 and the "
                  "model's own]")
      ->check(CLI::Range(1, 1 << 24));
  verb.add_option("--prefill-chunk", options.prefillChunk,
                  "Prompt tokens of one pass")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  verb.add_flag("--all-logits", options.allLogits,
                "Prefill gives the logits of every row");
  verb.add_option("--tokenizer", options.tokenizer,
                  "Folder or tokenizer.json; none: leave it out [beside the "
                  "model]");
  verb.add_option("--weights-dir", options.weightsDir,
                  "Folder of external data, if it is not the model's")
      ->check(CLI::ExistingDirectory);
  verb.add_option_function<std::string>(
          "--weights",
          [&options](const std::string &text) {
            options.randomSeed = std::stoull(text.substr(7));
          },
          "random:SEED: weights from a random stream, where files are absent")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            bool number =
                text.size() > 7 && text.size() <= 26 &&
                text.find_first_not_of("0123456789", 7) == std::string::npos;
            return text.rfind("random:", 0) == 0 && number
                       ? ""
                       : "expected random:SEED, got '" + text + "'";
          },
          "random:SEED"));

  // Form of the output, and the rooms.
  verb.add_option("--emit", options.emit,
                  "sdx; object: a linkable .o that holds it, and a header; "
                  "onnx: the pruned weights in the original graph; llvm or "
                  "asm: the generated code as text")
      ->check(CLI::IsMember({"sdx", "object", "onnx", "llvm", "asm"}))
      ->capture_default_str();
  verb.add_option("--compile-from", options.compileFrom,
                  "MODEL is the .mlir text that this phase begins with");
  verb.add_option("--compile-to", options.compileTo,
                  "Stop after this phase and write its .mlir text");
  verb.add_option("--dump-phases-to", options.dumpPhasesTo,
                  "Write the text after every phase into a folder");
  verb.add_option("--load-pass-plugin", options.passPlugins,
                  "Load passes from a library")
      ->allow_extra_args(false)
      ->take_all();
  verb.add_option_function<std::vector<std::string>>(
          "--add-passes",
          [&options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts) {
              size_t colon = text.find(':');
              options.addPasses.push_back(
                  {text.substr(0, colon), text.substr(colon + 1)});
            }
          },
          "PHASE:PIPELINE: run passes at the end of a phase")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            size_t colon = text.find(':');
            return colon != std::string::npos && colon > 0
                       ? ""
                       : "expected PHASE:PIPELINE, got '" + text + "'";
          },
          "PHASE:PIPELINE"))
      ->allow_extra_args(false)
      ->take_all();
  verb.add_option("-O", options.optimization,
                  "-O0: no fusion, simple kernels, to find faults with; -O2")
      ->check(CLI::IsMember(std::vector<unsigned>{0, 2}))
      ->capture_default_str();
  verb.add_option("--work", options.work,
                  "Keep every pruned layer in this folder, and use what is "
                  "there");
  addScaled(verb, "--max-memory", options.maxMemory, parseBytes,
            "Memory that pruning and packing may take at a time [what the "
            "largest input needs]",
            "BYTES");
  verb.add_flag("--strict", options.strict,
                "A linear left dense, a raised damping or a dequantized weight "
                "is an error");
  verb.add_flag("--dry-run", options.dryRun,
                "Say what would be done, and the bytes of the result");
  verb.add_flag("--timing", options.timing, "Print the time of every pass");
  verb.add_option("--depfile", options.depfile,
                  "Write the files that were read, as Make and Ninja want it");
  addCommonOptions(verb, options.common);
}

bool sdc::checkCompileOptions(const CompileOptions &options) {
  bool good = true;
  auto refuse = [&](const std::string &message, const std::string &hint = "") {
    usageError("compile: " + message, hint);
    good = false;
  };
  if (options.output.empty() && !options.dryRun)
    refuse("expected -o OUT");
  bool text = !options.compileTo.empty() || options.emit == "llvm" ||
              options.emit == "asm";
  if (options.output == "-" && !text)
    refuse("only text can be written to stdout", "-o FILE");
  if (options.emit == "object" && !options.output.empty() &&
      std::filesystem::path(options.output).extension() != ".o")
    refuse("--emit object writes NAME.o and NAME.h, got -o " + options.output);
  bool recorded =
      !options.calibration.empty() || !options.recording.prompts.empty();
  bool sparse = (!options.pattern.empty() && options.pattern != "dense") ||
                std::any_of(options.rules.begin(), options.rules.end(),
                            [](const PatternRule &rule) {
                              return rule.pattern != "dense";
                            });
  bool needsRecord = options.method != "magnitude" && !options.keepSparsity &&
                     !options.randomSeed;
  if (sparse && needsRecord && !recorded && options.compileFrom.empty())
    refuse("a sparse pattern needs a calibration",
           "--calibration FILE (from `sdc record`), or --prompts FILE to "
           "record now; --method magnitude does without");
  if (options.strict && options.pattern.empty() && !options.keepSparsity &&
      !recorded)
    refuse("--strict: without a calibration every linear stays dense",
           "--pattern dense, if that is what is meant");
  if (options.randomSeed && recorded)
    refuse("random weights have no use for a calibration",
           "they are pruned by magnitude");
  if (options.randomSeed && !options.method.empty() &&
      options.method != "magnitude")
    refuse("random weights are pruned by magnitude, not by " + options.method);
  return good;
}
