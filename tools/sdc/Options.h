// What the command line says, one struct for each verb.

#ifndef SDC_TOOLS_SDC_OPTIONS_H
#define SDC_TOOLS_SDC_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace sdc {

struct CompileOptions {
  std::string model;
  std::string output;
  std::string compileTo = "import";
  int64_t batch = 1;
  int64_t prefillChunk = 64;
  std::string weightsDir;
  std::optional<uint64_t> randomSeed;
};

/// Adds the verb and its options to `app`; parsing fills `options`.
CLI::App *addCompileOptions(CLI::App &app, CompileOptions &options);

} // namespace sdc

#endif // SDC_TOOLS_SDC_OPTIONS_H
