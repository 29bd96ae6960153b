// sdc run: writes text with an executable, or runs a plain graph on tensors
// from files.

#include "tools/sdc/Engine.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/PlainGraph.h"
#include "tools/sdc/PrintJson.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace sdc;

namespace {

struct RunOptions {
  CommonOptions common;
  GenerationOptions generation;
  std::string model;
  std::string prompt;
  std::string file;
  std::vector<std::string> inputs;
  std::string output;
};

bool readPrompt(const RunOptions &options, std::string &prompt) {
  if (options.file.empty()) {
    prompt = options.prompt;
    return true;
  }
  return readFile(options.file, prompt);
}

double rate(size_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

int runText(const RunOptions &options) {
  std::string prompt;
  if (!readPrompt(options, prompt))
    return 1;
  std::unique_ptr<Engine> engine =
      Engine::open(options.model, options.common, options.generation);
  if (!engine)
    return 1;
  engine->place = options.file.empty()  ? "-p"
                  : options.file == "-" ? "stdin"
                                        : options.file;
  bool raw = options.generation.raw;
  if (!raw && !engine->hasTemplate()) {
    if (!options.common.quiet)
      printWarning("the executable has no chat template: the prompt is taken "
                   "as it is");
    raw = true;
  }
  std::vector<int32_t> ids;
  if (raw ? !engine->encodeRaw(prompt, ids)
          : !engine->encodeChat({{"user", prompt}}, ids))
    return 1;

  bool stream = !options.common.json;
  WriteResult result;
  bool done = engine->write(
      ids,
      [&](const std::string &piece) { return !stream || printPiece(piece); },
      result);
  if (!done)
    return 1;
  size_t written = result.tokens.size();
  // The first token comes out of the prompt's own pass.
  double decodeRate = rate(written > 0 ? written - 1 : 0, result.decodeSeconds);
  if (options.common.json) {
    nlohmann::ordered_json report = {
        {"text", result.text},
        {"tokens", result.tokens},
        {"reason", result.reason},
        {"prompt_tokens", result.promptTokens},
        {"prompt_tokens_per_second",
         rate(result.promptTokens, result.prefillSeconds)},
        {"tokens_per_second", decodeRate}};
    printJson(report);
  } else {
    std::printf("\n");
    if (!options.common.quiet)
      std::fprintf(stderr,
                   "[%s; prompt %zu tokens, %.1f tok/s; wrote %zu tokens, "
                   "%.1f tok/s]\n",
                   result.reason.c_str(), result.promptTokens,
                   rate(result.promptTokens, result.prefillSeconds), written,
                   decodeRate);
  }
  return 0;
}

int run(const RunOptions &options) {
  if (!options.inputs.empty() || !options.output.empty()) {
    if (options.output.empty())
      return usageError("run: --input needs --output DIR");
    return runPlainGraph(options.model, options.inputs, options.output,
                         options.generation.device, options.common);
  }
  if (options.prompt.empty() && options.file.empty())
    return usageError("run: expected a prompt",
                      "-p TEXT, -f FILE, or -f - for stdin; `sdc chat` talks");
  return runText(options);
}

} // namespace

VerbAction sdc::setupRun(CLI::App &verb) {
  auto options = std::make_shared<RunOptions>();
  verb.add_option("MODEL", options->model, "The executable, an .sdx file")
      ->required();
  CLI::Option *prompt = verb.add_option("-p", options->prompt, "The prompt");
  verb.add_option("-f", options->file, "File that holds the prompt; - is stdin")
      ->excludes(prompt);
  addGenerationOptions(verb, options->generation);
  addCommonOptions(verb, options->common);
  verb.add_option("--input", options->inputs,
                  "NAME=FILE.npy or NAME=FILE.pb: a tensor for a plain graph")
      ->allow_extra_args(false)
      ->take_all();
  CLI::Option *output =
      verb.add_option("--output", options->output,
                      "Folder for the tensors that a plain graph gives");
  // A plain graph writes no text.
  for (const char *flag :
       {"-p", "-f", "--raw", "-n", "--temp", "--top-k", "--top-p", "--min-p",
        "--repeat-penalty", "-s", "--stop", "--ignore-eos", "--special",
        "--tokenizer", "--json"})
    output->excludes(verb.get_option(flag));
  return [options] { return run(*options); };
}
