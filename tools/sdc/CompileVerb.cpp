// sdc compile: a model becomes an executable.

#include "tools/sdc/Compile.h"
#include "tools/sdc/Record.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace sdc;
using Json = nlohmann::ordered_json;

/// Checks phase names, which the options cannot know.
static bool checkPhases(const CompileOptions &options) {
  bool good = true;
  auto check = [&](const std::string &flag, const std::string &name) {
    if (name.empty() || parsePhase(name))
      return;
    usageError("compile: " + flag + ": unknown phase '" + name + "'",
               "one of " + phaseNames());
    good = false;
  };
  check("--compile-from", options.compileFrom);
  check("--compile-to", options.compileTo);
  for (const auto &[phase, passes] : options.addPasses)
    check("--add-passes", phase);
  return good;
}

/// Output that can't be written is known before long work starts.
static bool checkOutput(const std::string &output) {
  if (output.empty() || output == "-")
    return true;
  std::filesystem::path path(output);
  std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    printError(output + ": is a folder, expected a file name");
    return false;
  }
  if (!std::filesystem::is_directory(folder, ignored)) {
    printError(output + ": no such folder " + folder.string());
    return false;
  }
  if (access(folder.c_str(), W_OK) != 0) {
    printError(output + ": the folder " + folder.string() +
               " cannot be written to");
    return false;
  }
  return true;
}

static Json report(const CompileOptions &options, Compilation &compilation) {
  Json json = {{"output", options.output},
               {"bytes", compilation.plannedBytes()},
               {"context", compilation.context()},
               {"linears", Json::array()}};
  for (const PruneEntry &entry : compilation.pruned())
    json["linears"].push_back({{"name", entry.name},
                               {"rows", entry.rows},
                               {"columns", entry.columns},
                               {"pattern", entry.pattern.str()},
                               {"method", entry.method},
                               {"damping", entry.damping},
                               {"loss", entry.loss},
                               {"relative_loss", entry.relativeLoss},
                               {"notes", entry.notes},
                               {"reused", entry.reused}});
  return json;
}

static void printSummary(const CompileOptions &options,
                         Compilation &compilation) {
  size_t sparse = 0;
  for (const PruneEntry &entry : compilation.pruned())
    sparse += !entry.pattern.isDense();
  std::fprintf(stderr, "sdc: %s%s: %.1f MiB, %zu of %zu linears sparse\n",
               options.dryRun ? "would write " : "",
               options.output.empty() ? "the executable"
                                      : options.output.c_str(),
               static_cast<double>(compilation.plannedBytes()) / 1048576,
               sparse, compilation.pruned().size());
  if (!options.common.verbose && !options.dryRun)
    return;
  for (const PruneEntry &entry : compilation.pruned()) {
    std::fprintf(stderr, "  %-24s %6lld x %-6lld %s\n", entry.name.c_str(),
                 static_cast<long long>(entry.rows),
                 static_cast<long long>(entry.columns),
                 entry.pattern.str().c_str());
    for (const std::string &note : entry.notes)
      std::fprintf(stderr, "      %s\n", note.c_str());
  }
}

static int compile(CompileOptions options) {
  if (!checkCompileOptions(options) || !checkPhases(options))
    return 2;
  if (!checkOutput(options.output))
    return 1;

  // The dense model first writes its own calibration.
  std::string temporary;
  if (!options.recording.prompts.empty() && !options.dryRun) {
    std::string saved = options.saveCalibration;
    if (saved.empty())
      saved = temporary = options.output + ".calibration.tmp";
    if (!recordCalibration(options, saved, /*resume=*/false))
      return 1;
    options.calibration = saved;
  }
  std::unique_ptr<std::string, void (*)(std::string *)> remove(
      &temporary, [](std::string *name) {
        if (!name->empty())
          ::unlink(name->c_str());
      });

  Compilation compilation(options);
  if (!compilation.load())
    return 1;
  if (std::optional<Phase> stop = parsePhase(options.compileTo);
      stop && *stop != Phase::Emit) {
    if (!compilation.run(*stop) || !compilation.writeText(options.output))
      return 1;
  } else {
    if (!compilation.run(options.emit == "onnx" ? Phase::Prune : Phase::Plan) ||
        !compilation.emit(options.output))
      return 1;
    if (options.common.json)
      std::printf("%s\n", report(options, compilation).dump(2).c_str());
    else if (!options.common.quiet)
      printSummary(options, compilation);
  }
  if (!options.depfile.empty() &&
      !compilation.writeDepfile(options.depfile, options.output))
    return 1;
  return 0;
}

VerbAction sdc::setupCompile(CLI::App &verb) {
  auto options = std::make_shared<CompileOptions>();
  addCompileOptions(verb, *options);
  return [options] { return compile(*options); };
}
