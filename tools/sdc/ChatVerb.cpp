// sdc chat: a conversation at the terminal. The KV memory of what has been said
// is kept from turn to turn.

#include "tools/sdc/Engine.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace sdc;

namespace {

struct ChatOptions {
  CommonOptions common;
  GenerationOptions generation;
  std::string model;
};

constexpr const char *kHelp = "/help   this text\n"
                              "/reset  forget the conversation\n"
                              "/stats  tokens, speed and memory\n"
                              "/exit   leave (also end of input)\n";

/// Speed and size so far.
struct Statistics {
  size_t turns = 0;
  size_t promptTokens = 0;
  size_t written = 0;
  double prefillSeconds = 0;
  double decodeSeconds = 0;

  void add(const WriteResult &result) {
    ++turns;
    promptTokens += result.promptTokens;
    written += result.tokens.size();
    prefillSeconds += result.prefillSeconds;
    decodeSeconds += result.decodeSeconds;
  }
};

void printStatistics(Engine &engine, const Statistics &statistics) {
  sdc_session_options options = {};
  options.struct_size = sizeof(options);
  sdc_model_info info = {};
  info.struct_size = sizeof(info);
  sdc_model_query(engine.model(), &info);
  options.device = info.device;
  options.slots = sdc_session_slots(engine.session());
  options.context = sdc_session_context(engine.session());
  options.threads = sdc_session_threads(engine.session());
  sdc_memory memory = {};
  memory.struct_size = sizeof(memory);
  sdc_error error = {};
  bool known =
      sdc_session_memory(engine.model(), &options, &memory, &error) == SDC_OK;
  auto rate = [](size_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  };
  std::fprintf(
      stderr,
      "%zu turns; read %zu tokens at %.1f tok/s, wrote %zu at %.1f "
      "tok/s; context %u of %u; session %.1f MiB, weights %.1f MiB\n",
      statistics.turns, statistics.promptTokens,
      rate(statistics.promptTokens, statistics.prefillSeconds),
      statistics.written, rate(statistics.written, statistics.decodeSeconds),
      sdc_slot_length(engine.session(), 0),
      sdc_session_context(engine.session()),
      known ? static_cast<double>(memory.total + memory.device) / 1048576 : 0.0,
      known ? static_cast<double>(memory.weights) / 1048576 : 0.0);
}

int chat(const ChatOptions &options) {
  std::unique_ptr<Engine> engine =
      Engine::open(options.model, options.common, options.generation);
  if (!engine)
    return 1;
  bool raw = options.generation.raw;
  if (!raw && !engine->hasTemplate()) {
    printError(options.model + ": the executable has no chat template",
               "--raw lets the model go on after your text");
    return 1;
  }
  bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal && !options.common.quiet)
    std::fprintf(stderr, "/help lists the commands\n");

  std::vector<Message> messages;
  std::string rawText;
  Statistics statistics;
  std::string line;
  while (true) {
    if (terminal)
      std::fprintf(stderr, "> ");
    if (!std::getline(std::cin, line) || line == "/exit")
      break;
    if (line.empty())
      continue;
    if (line == "/help") {
      std::fputs(kHelp, stderr);
      continue;
    }
    if (line == "/reset") {
      messages.clear();
      rawText.clear();
      continue;
    }
    if (line == "/stats") {
      printStatistics(*engine, statistics);
      continue;
    }
    if (line.front() == '/' && line.find(' ') == std::string::npos) {
      std::fprintf(stderr, "unknown command '%s'; /help lists them\n",
                   line.c_str());
      continue;
    }

    messages.push_back({"user", line});
    rawText += line;
    std::vector<int32_t> ids;
    WriteResult result;
    bool done = (raw ? engine->encodeRaw(rawText, ids)
                     : engine->encodeChat(messages, ids)) &&
                engine->write(ids, printPiece, result);
    if (!printPiece("\n"))
      return 1;
    if (!done) {
      // The turn did not happen.
      messages.pop_back();
      rawText.resize(rawText.size() - line.size());
      if (!terminal)
        return 1;
      continue;
    }
    messages.push_back({"assistant", result.text});
    rawText += result.text;
    statistics.add(result);
    if (result.reason != "end of text" && !options.common.quiet)
      std::fprintf(stderr, "[%s]\n", result.reason.c_str());
  }
  return 0;
}

} // namespace

VerbAction sdc::setupChat(CLI::App &verb) {
  auto options = std::make_shared<ChatOptions>();
  verb.add_option("MODEL", options->model, "The executable, an .sdx file")
      ->required();
  addGenerationOptions(verb, options->generation);
  addCommonOptions(verb, options->common);
  return [options] { return chat(*options); };
}
