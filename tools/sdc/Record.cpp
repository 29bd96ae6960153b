// Builds the recording executable and records with it.

#include "tools/sdc/Record.h"
#include "compiler/Record/ModelLinears.h"
#include "tools/sdc/Compile.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/Prompts.h"
#include "tools/sdc/Recorder.h"
#define XXH_INLINE_ALL
#include "xxhash.h"

#include "sdc/sdc.h"
#include "sdc/text.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

using namespace sdc;

namespace {

using TextHandle = std::unique_ptr<sdc_text, void (*)(sdc_text *)>;

/// The options of the recording build: the model as it is.
CompileOptions buildOptions(const CompileOptions &options,
                            const std::string &output) {
  CompileOptions build = options;
  build.output = output;
  build.pattern = "dense";
  build.rules.clear();
  build.calibration.clear();
  build.keepSparsity = false;
  // The dense model is what writes: its own type of weights, and keys and
  // values that lose nothing.
  build.dtype = "f32";
  build.kvDtype = "f32";
  build.batch = options.recording.batch;
  build.emit = "sdx";
  build.compileFrom.clear();
  build.compileTo.clear();
  build.dumpPhasesTo.clear();
  build.depfile.clear();
  build.addPasses.clear();
  build.work.clear();
  build.dryRun = false;
  build.common.quiet = true;
  return build;
}

/// Bytes of the sums: 8 for each element of a triangle, for each class.
uint64_t sumBytes(const std::vector<CalibrationKey> &keys, unsigned classes) {
  uint64_t bytes = 0;
  for (const CalibrationKey &key : keys)
    bytes += (static_cast<uint64_t>(triangleSize(key.columns)) * 8 +
              static_cast<uint64_t>(key.columns) * 256 * 4) *
             classes;
  return bytes;
}

std::string hexDigest(const void *data, size_t size) {
  char text[24];
  std::snprintf(text, sizeof(text), "xxh3:%016llx",
                static_cast<unsigned long long>(XXH3_64bits(data, size)));
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

uint64_t physicalMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What a recording is made of.
struct Plan {
  CalibrationInfo info;
  int64_t context = 0;
};

/// Raises the model and describes its linears.
bool describeModel(Compilation &compilation, unsigned threads, Plan &plan) {
  if (!compilation.load() || !compilation.run(Phase::Record))
    return false;
  llvm::Expected<std::vector<RecordedLinear>> linears = describeLinears(
      compilation.module(), compilation.model().folder, std::max(1U, threads));
  if (!linears) {
    printError(llvm::toString(linears.takeError()));
    return false;
  }
  plan.info.linears = std::move(*linears);
  plan.info.keys = keysOf(plan.info.linears);
  plan.context = compilation.context();
  return true;
}

bool checkMemory(const CompileOptions &options, const Plan &plan) {
  uint64_t needed =
      sumBytes(plan.info.keys, options.recording.text.empty() ? 3 : 2);
  uint64_t limit = options.maxMemory ? options.maxMemory : physicalMemory();
  if (needed <= limit)
    return true;
  printError("the sums of all inputs take " + std::to_string(needed >> 20) +
                 " MiB, the limit is " + std::to_string(limit >> 20) + " MiB",
             "--max-memory raises it");
  return false;
}

/// A prompt leaves room for at least one token.
bool checkLengths(const std::vector<Prompt> &prompts,
                  const std::vector<std::vector<int32_t>> &ids,
                  int64_t context) {
  bool good = true;
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto length = static_cast<int64_t>(ids[i].size());
    if (length < context)
      continue;
    printError(prompts[i].place + ": the prompt has " + std::to_string(length) +
                   " tokens, the context is " + std::to_string(context),
               "a shorter prompt, or a larger --context");
    good = false;
  }
  return good;
}

RecordSettings settingsOf(const CompileOptions &options,
                          const std::string &text, int64_t context) {
  const RecordingOptions &recording = options.recording;
  bool teacherForced = !recording.text.empty();
  std::string prompts;
  readFile(teacherForced ? recording.text : recording.prompts, prompts);
  return {{"source", teacherForced ? "text" : "rollouts"},
          {"prompts", hexDigest(prompts.data(), prompts.size())},
          {"tokenizer", text},
          {"template", recording.raw || teacherForced ? "none" : "chat"},
          {"temperature", number(recording.temperature)},
          {"top_k", std::to_string(recording.topK)},
          {"top_p", number(recording.topP)},
          {"seed", std::to_string(recording.seed)},
          {"max_new", std::to_string(recording.maxNew)},
          {"context", std::to_string(context)},
          {"tokens", std::to_string(recording.tokens)}};
}

} // namespace

bool sdc::planRecording(const CompileOptions &options) {
  Compilation compilation(buildOptions(options, ""));
  compilation.setRecording();
  Plan plan;
  if (!describeModel(compilation, options.common.threads, plan) ||
      !checkMemory(options, plan))
    return false;
  uint64_t file = 0;
  for (const CalibrationKey &key : plan.info.keys)
    file += static_cast<uint64_t>(triangleSize(key.columns)) * 4 * 3;
  std::printf(
      "%zu linears with %zu distinct inputs; sums take %llu MiB of "
      "memory, the file at most %llu MiB; context %lld, batch %u\n",
      plan.info.linears.size(), plan.info.keys.size(),
      static_cast<unsigned long long>(sumBytes(plan.info.keys, 3) >> 20),
      static_cast<unsigned long long>(file >> 20),
      static_cast<long long>(plan.context), options.recording.batch);
  return true;
}

bool sdc::recordCalibration(const CompileOptions &options,
                            const std::string &output, bool resume) {
  const RecordingOptions &recording = options.recording;
  bool teacherForced = !recording.text.empty();
  if (!checkOutput(output, {lookAtModel(options.model).file, recording.prompts,
                            recording.text}))
    return false;
  std::string executable = output + ".recording.sdx.tmp";
  std::vector<Prompt> prompts;
  if (!teacherForced && !readPrompts(recording.prompts, prompts))
    return false;

  Compilation compilation(buildOptions(options, executable));
  compilation.setRecording();
  Plan plan;
  if (!describeModel(compilation, options.common.threads, plan) ||
      !checkOutput(output, compilation.files()) || !checkMemory(options, plan))
    return false;
  if (!options.common.quiet)
    std::fprintf(stderr, "sdc: building the recording executable\n");
  if (!compilation.run(Phase::Plan) || !compilation.emit(executable))
    return false;
  ModelHandle model = openModel(executable);
  // It stays mapped, and nothing is left of it whatever ends the process.
  ::unlink(executable.c_str());
  if (!model)
    return false;
  sdc_model *opened = model.get();

  size_t size = 0;
  const void *bytes = sdc_model_text(opened, &size);
  if (!bytes) {
    printError("no tokenizer.json beside the model",
               "--tokenizer DIR or FILE names one");
    return false;
  }
  sdc_text *rawText = nullptr;
  sdc_text_error textError = {};
  if (sdc_text_open(bytes, size, nullptr, &rawText, &textError) !=
      SDC_TEXT_OK) {
    printError(textError.message);
    return false;
  }
  TextHandle text(rawText, sdc_text_close);

  bool raw = recording.raw;
  if (!teacherForced && !raw && !sdc_text_has_template(rawText)) {
    printError("the model has no chat template",
               "a base model wants --raw; an instruct model its "
               "chat_template.jinja or tokenizer_config.json");
    return false;
  }
  std::vector<std::vector<int32_t>> ids;
  if (teacherForced ? !encodeText(rawText, recording.text,
                                  static_cast<size_t>(plan.context), ids)
                    : !encodePrompts(rawText, prompts, raw, ids))
    return false;

  if (!teacherForced && !checkLengths(prompts, ids, plan.context))
    return false;

  RecorderOptions recorderOptions;
  recorderOptions.budget = recording.tokens;
  recorderOptions.temperature = recording.temperature;
  recorderOptions.topK = recording.topK;
  recorderOptions.topP = recording.topP;
  recorderOptions.seed = recording.seed;
  recorderOptions.maxNew = recording.maxNew;
  recorderOptions.threads = options.common.threads;
  recorderOptions.teacherForced = teacherForced;
  recorderOptions.quiet = options.common.quiet;
  const int32_t *stops = nullptr;
  size_t stopCount = 0;
  sdc_text_stop_ids(rawText, &stops, &stopCount);
  recorderOptions.stopTokens.assign(stops, stops + stopCount);

  plan.info.sources.push_back(
      settingsOf(options, hexDigest(bytes, size), plan.context));
  Recorder recorder(opened, recorderOptions, std::move(ids),
                    std::move(plan.info));
  std::string partial = output + ".partial";
  if (resume) {
    std::string from = std::filesystem::exists(partial)  ? partial
                       : std::filesystem::exists(output) ? output
                                                         : "";
    if (!from.empty() && !recorder.load(from))
      return false;
  }
  return recorder.record(output);
}
