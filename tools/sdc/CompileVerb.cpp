// sdc compile: a model becomes an executable.

#include "tools/sdc/Compile.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/PrintJson.h"
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

/// Outputs that can't be written are known before long work starts.
static bool checkOutputs(const CompileOptions &options,
                         const std::vector<std::string> &inputs) {
  bool good = true;
  for (const std::string *output :
       {&options.output, &options.depfile, &options.saveCalibration})
    good &= checkOutput(*output, inputs);
  if (options.emit == "onnx" && options.compileTo.empty())
    good &= checkOutput(options.output + ".data", inputs);
  if (options.emit == "object" && options.compileTo.empty())
    good &= checkOutput(
        std::filesystem::path(options.output).replace_extension(".h"), inputs);
  return good;
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

/// The files that the command line names.
static std::vector<std::string> namedInputs(const CompileOptions &options) {
  std::vector<std::string> inputs = {lookAtModel(options.model).file,
                                     options.calibration,
                                     options.recording.prompts};
  inputs.insert(inputs.end(), options.passPlugins.begin(),
                options.passPlugins.end());
  return inputs;
}

static int compile(const CLI::App &verb, CompileOptions options) {
  if (!checkCompileOptions(options) || !checkFlagsAct(verb, options))
    return 2;
  if (!checkOutputs(options, namedInputs(options)))
    return 1;

  // The dense model first writes its own calibration.
  std::string temporary;
  std::unique_ptr<std::string, void (*)(std::string *)> remove(
      nullptr, [](std::string *name) {
        for (const char *ending : {"", ".partial"})
          ::unlink((*name + ending).c_str());
      });
  if (!options.recording.prompts.empty() && !options.dryRun) {
    std::string saved = options.saveCalibration;
    if (saved.empty())
      saved = temporary = options.output + ".calibration.tmp";
    // What was not asked for does not stay.
    if (saved == temporary)
      remove.reset(&temporary);
    if (!recordCalibration(options, saved, /*resume=*/false))
      return 1;
    options.calibration = saved;
  }

  Compilation compilation(options);
  if (!compilation.load() || !checkOutputs(options, compilation.files()))
    return 1;
  FileStates states(compilation.files());
  if (std::optional<Phase> stop = parsePhase(options.compileTo);
      stop && *stop != Phase::Emit) {
    if (!compilation.run(*stop) || !compilation.writeText(options.output))
      return 1;
  } else {
    if (!compilation.run(options.emit == "onnx" ? Phase::Prune : Phase::Plan) ||
        !compilation.emit(options.output))
      return 1;
    if (options.common.json)
      printJson(report(options, compilation));
    else if (!options.common.quiet)
      printSummary(options, compilation);
  }
  if (std::string changed = states.findChanged(); !changed.empty()) {
    printError(changed + ": changed while it was compiled");
    ::unlink(options.output.c_str());
    return 1;
  }
  if (!options.depfile.empty() &&
      !compilation.writeDepfile(options.depfile, options.output)) {
    // Without it a build would not know when to make the output again.
    ::unlink(options.output.c_str());
    return 1;
  }
  return 0;
}

VerbAction sdc::setupCompile(CLI::App &verb) {
  auto options = std::make_shared<CompileOptions>();
  addCompileOptions(verb, *options);
  return [options, &verb] { return compile(verb, *options); };
}
