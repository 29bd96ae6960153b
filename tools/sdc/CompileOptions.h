// What the command line says about a compile; `record` shares a part of it.

#ifndef SDC_TOOLS_SDC_COMPILEOPTIONS_H
#define SDC_TOOLS_SDC_COMPILEOPTIONS_H

#include "tools/sdc/Verbs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sdc {

/// How the dense model writes its own calibration.
struct RecordingOptions {
  std::string prompts;
  std::string text;
  bool raw = false;
  uint64_t tokens = 1000000;
  float temperature = 0.7F;
  uint32_t topK = 20;
  float topP = 0.8F;
  uint64_t seed = 0;
  uint32_t batch = 16;
  uint32_t maxNew = 16000;
};

/// A rule for linears by name: a pattern, or empty for "stays dense".
struct PatternRule {
  std::string regex;
  std::string pattern;
};

struct CompileOptions {
  CommonOptions common;
  std::string model;
  std::string output;

  /// Empty: the default, which depends on whether there is a calibration.
  std::string pattern;
  /// In the order of the command line; later ones win.
  std::vector<PatternRule> rules;
  std::string calibration;
  std::string saveCalibration;
  RecordingOptions recording;
  std::string positions = "decode";
  /// Empty: SparseGPT, or magnitude for random weights.
  std::string method;
  double damp = 0.01;
  bool keepSparsity = false;
  bool allowOtherWeights = false;

  std::string target = "cpu";
  std::string dtype = "auto";
  std::string kvDtype = "auto";
  int64_t batch = 1;
  /// 0: the smaller of 4096 and the model's own.
  int64_t context = 0;
  int64_t prefillChunk = 64;
  bool allLogits = false;
  std::string tokenizer;
  std::string weightsDir;
  std::optional<uint64_t> randomSeed;

  std::string emit = "sdx";
  std::string compileFrom;
  std::string compileTo;
  std::string dumpPhasesTo;
  std::vector<std::string> passPlugins;
  /// PHASE and PIPELINE.
  std::vector<std::pair<std::string, std::string>> addPasses;
  unsigned optimization = 2;
  std::string work;
  uint64_t maxMemory = 0;
  bool strict = false;
  bool dryRun = false;
  bool timing = false;
  std::string depfile;
};

/// Adds all flags of `sdc compile`.
void addCompileOptions(CLI::App &verb, CompileOptions &options);

/// Adds the flags that say how the dense model writes; `withBatch` also -b and
/// -c, which mean something else in a compile.
void addSamplingFlags(CLI::App &verb, RecordingOptions &options);

/// Checks that every flag of the command line acts; prints those that don't and
/// gives false.
bool checkFlagsAct(const CLI::App &verb, const CompileOptions &options);

/// Checks what flags mean together; prints all that is wrong and gives false.
bool checkCompileOptions(const CompileOptions &options);

/// "4G" and the like as bytes; nothing if it is not a size.
std::optional<uint64_t> parseBytes(const std::string &text);
/// "1M", "16384": a count with k, M, G as powers of ten.
std::optional<uint64_t> parseCount(const std::string &text);

} // namespace sdc

#endif // SDC_TOOLS_SDC_COMPILEOPTIONS_H
