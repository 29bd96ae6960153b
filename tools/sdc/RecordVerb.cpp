// sdc record: the dense model writes text, and what its linears see is summed
// into a calibration file; or calibration files add up.

#include "compiler/Record/CalibrationChecks.h"
#include "tools/sdc/DeviceOption.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/Record.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <memory>

using namespace sdc;

namespace {

struct RecordOptions {
  CompileOptions compile;
  std::vector<std::string> inputs;
  std::string output;
  std::string maxMemory;
  std::string device = "cpu";
  bool merge = false;
  bool resume = false;
  bool dryRun = false;
};

int mergeFiles(const RecordOptions &options) {
  if (options.inputs.size() < 2)
    return usageError("record: --merge expects at least two files");
  if (!checkOutput(options.output, options.inputs))
    return 1;
  if (llvm::Error error = mergeCalibrations(
          options.inputs, options.output, options.compile.allowOtherWeights)) {
    printError(llvm::toString(std::move(error)));
    return 1;
  }
  return 0;
}

int record(RecordOptions options) {
  CompileOptions &compile = options.compile;
  RecordingOptions &recording = compile.recording;
  if (options.output.empty() && !options.dryRun)
    return usageError("record: expected -o CALIB");
  if (isCuda(options.device)) {
    printError("recording on a GPU is not there yet",
               "leave --device out to record on the CPU");
    return 1;
  }
  if (options.merge)
    return mergeFiles(options);
  if (options.inputs.size() != 1)
    return usageError("record: expected one model, got " +
                          std::to_string(options.inputs.size()),
                      "--merge adds calibration files up");
  compile.model = options.inputs.front();
  if (options.dryRun)
    return planRecording(compile) ? 0 : 1;
  if (recording.prompts.empty() == recording.text.empty())
    return usageError("record: expected either --prompts FILE or --text FILE");
  if (recording.tokens == 0)
    return usageError("record: --tokens 0 records nothing");
  return recordCalibration(compile, options.output, options.resume) ? 0 : 1;
}

} // namespace

VerbAction sdc::setupRecord(CLI::App &verb) {
  auto options = std::make_shared<RecordOptions>();
  CompileOptions &compile = options->compile;
  RecordingOptions &recording = compile.recording;
  verb.add_option("MODEL", options->inputs,
                  "An .onnx file, or a folder that holds model.onnx; with "
                  "--merge calibration files")
      ->required();
  verb.add_option("-o", options->output, "The calibration file to write");
  verb.add_option("--prompts", recording.prompts,
                  "Prompts: .txt, one user message a line, or .jsonl with "
                  "\"prompt\" or \"messages\"")
      ->check(CLI::ExistingFile);
  CLI::Option *text =
      verb.add_option(
              "--text", recording.text,
              "A text to read instead of writing one; its positions count "
              "as prompt positions")
          ->check(CLI::ExistingFile);
  addSamplingFlags(verb, recording);
  // A text is read, not written.
  for (const char *flag : {"--prompts", "--raw", "--temp", "--top-k", "--top-p",
                           "--seed", "--max-new"})
    text->excludes(verb.get_option(flag));
  verb.add_option("--tokenizer", compile.tokenizer,
                  "Folder or tokenizer.json [beside the model]")
      ->check(CLI::ExistingPath);
  verb.add_option("-b,--batch", recording.batch, "Sequences written at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb.add_option("-c,--context", compile.context,
                  "Positions of a sequence [the smaller of 4096 and the "
                  "model's own]")
      ->check(CLI::Range(2, 1 << 24));
  verb.add_option_function<std::string>(
          "--max-memory",
          [&compile](const std::string &text) {
            compile.maxMemory = *parseBytes(text);
          },
          "Memory that the sums may take [all]")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            return parseBytes(text) ? "" : "'" + text + "' is not a size";
          },
          "BYTES"));
  verb.add_option("--weights-dir", compile.weightsDir,
                  "Folder of external data, if it is not the model's")
      ->check(CLI::ExistingDirectory);
  verb.add_flag("--resume", options->resume,
                "Go on from the last checkpoint, or extend a finished file");
  CLI::Option *merge = verb.add_flag("--merge", options->merge,
                                     "Add calibration files of one model up");
  verb.add_flag("--allow-other-weights", compile.allowOtherWeights,
                "Merge files of different weights of one architecture")
      ->needs(merge);
  verb.add_flag("--dry-run", options->dryRun,
                "Say what would be recorded, and what it takes");
  addDeviceOption(verb, options->device);
  // Files that add up are not recorded.
  for (const char *flag :
       {"--prompts", "--text", "--raw", "--tokens", "--temp", "--top-k",
        "--top-p", "--seed", "--max-new", "--tokenizer", "--batch", "--context",
        "--max-memory", "--weights-dir", "--resume", "--dry-run", "--device"})
    merge->excludes(verb.get_option(flag));
  addCommonOptions(verb, compile.common);
  return [options] { return record(*options); };
}
