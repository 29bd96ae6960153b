// Model, tokenizer and session of the verbs that write text.

#include "tools/sdc/Engine.h"
#include "tools/sdc/DeviceOption.h"
#include "tools/sdc/Numbers.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/TextSource.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>

using namespace sdc;

static sdc_text_view view(const std::string &text) {
  return {text.data(), text.size()};
}

/// The session that an interrupt cancels. A second interrupt ends the process.
static sdc_session *volatile interruptible = nullptr;

static void onInterrupt(int signal) {
  std::signal(signal, SIG_DFL);
  if (sdc_session *session = interruptible)
    sdc_session_cancel(session);
}

void sdc::addGenerationOptions(CLI::App &verb, GenerationOptions &options) {
  verb.add_flag("--raw", options.raw,
                "Take the prompt as it is: no chat template, special tokens "
                "are parsed");
  verb.add_option("-n", options.maxNew,
                  "Tokens to write; -1: until end of text or context")
      ->check(CLI::Range(int64_t(-1), int64_t(INT32_MAX)))
      ->capture_default_str();
  verb.add_option("--temp", options.temperature, "Temperature; 0 is greedy")
      ->check(realNumber(0, 100))
      ->capture_default_str();
  verb.add_option("--top-k", options.topK, "Keep the k likeliest; 0: all")
      ->capture_default_str();
  verb.add_option("--top-p", options.topP,
                  "Keep the likeliest whose sum reaches p; 1: all")
      ->check(realNumber(0, 1))
      ->capture_default_str();
  verb.add_option("--min-p", options.minP,
                  "Drop what is less likely than p times the likeliest")
      ->check(realNumber(0, 1))
      ->capture_default_str();
  verb.add_option("--repeat-penalty", options.repeatPenalty,
                  "Divide the logits of tokens already there; 1: off")
      ->check(realNumber(0.01, 100))
      ->capture_default_str();
  verb.add_option("-s", options.seed, "Seed of the random numbers")
      ->check(wholeNumber())
      ->capture_default_str();
  verb.add_option("--stop", options.stops,
                  "Stop before this text; may be given several times")
      ->allow_extra_args(false)
      ->take_all();
  verb.add_flag("--ignore-eos", options.ignoreEos,
                "Go on after an end-of-text token");
  verb.add_flag("--special", options.special, "Print special tokens");
  verb.add_option("--tokenizer", options.tokenizer,
                  "Folder or tokenizer.json to use instead of the executable's")
      ->check(CLI::ExistingPath);
  addDeviceOption(verb, options.device);
}

std::unique_ptr<Engine> Engine::open(const std::string &path,
                                     const CommonOptions &common,
                                     const GenerationOptions &options) {
  std::unique_ptr<Engine> engine(new Engine);
  engine->options = options;
  sdc_error error = {};
  sdc_open_options openOptions = {};
  openOptions.struct_size = sizeof(openOptions);
  openOptions.log = [](void *user, sdc_log_level level, const char *message) {
    if (level == SDC_LOG_WARNING || *static_cast<const bool *>(user))
      std::fprintf(stderr, "sdc: %s\n", message);
  };
  bool verbose = common.verbose;
  openOptions.log_user = &verbose;
  engine->modelHandle = openModel(path, &openOptions).release();
  if (!engine->modelHandle)
    return nullptr;
  sdc_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof(sessionOptions);
  sessionOptions.threads = common.threads;
  sessionOptions.slots = 1;
  chooseDevice(options.device, sessionOptions);
  if (sdc_session_create(engine->modelHandle, &sessionOptions,
                         &engine->sessionHandle, &error) != SDC_OK) {
    printError(path + ": " + error.message);
    return nullptr;
  }
  if (!engine->openText(path))
    return nullptr;
  return engine;
}

Engine::~Engine() {
  interruptible = nullptr;
  sdc_text_close(text);
  sdc_session_destroy(sessionHandle);
  sdc_model_close(modelHandle);
}

bool Engine::openText(const std::string &path) {
  size_t size = 0;
  const void *bytes = sdc_model_text(modelHandle, &size);
  if (!options.tokenizer.empty()) {
    sdc_model_info info = {};
    info.struct_size = sizeof(info);
    sdc_model_query(modelHandle, &info);
    if (!loadTextTable(options.tokenizer, info.vocabulary, ownText, size))
      return false;
    bytes = ownText.data();
  }
  if (!bytes) {
    printError(path + ": the executable has no tokenizer",
               "compile it beside its tokenizer.json, or name one with "
               "--tokenizer");
    return false;
  }
  sdc_text_error error = {};
  if (sdc_text_open(bytes, size, nullptr, &text, &error) != SDC_TEXT_OK) {
    printError(path + ": " + error.message);
    return false;
  }
  return true;
}

bool Engine::hasTemplate() const { return sdc_text_has_template(text); }

/// Prints what is wrong with a prompt, if something is.
bool Engine::reportPrompt(const std::string &problem, const std::string &hint) {
  if (problem.empty())
    return true;
  printError((place.empty() ? "" : place + ": ") + problem, hint);
  return false;
}

bool Engine::encodeRaw(const std::string &input, std::vector<int32_t> &ids) {
  return reportPrompt(sdc::encodeRaw(text, input, ids));
}

bool Engine::encodeChat(const std::vector<Message> &messages,
                        std::vector<int32_t> &ids) {
  return reportPrompt(sdc::encodeChat(text, messages, ids));
}

namespace {

/// What the token callback works on.
struct Stream {
  sdc_text_stream *stream = nullptr;
  const std::function<bool(const std::string &)> *show = nullptr;
  WriteResult *result = nullptr;
  bool stopped = false;
  std::string failure;

  bool take(sdc_text_view piece) {
    if (piece.size == 0)
      return true;
    std::string shown(piece.data, piece.size);
    result->text += shown;
    return (*show)(shown);
  }
};

bool onToken(void *user, int32_t token) {
  Stream &stream = *static_cast<Stream *>(user);
  stream.result->tokens.push_back(token);
  sdc_text_view piece = {};
  sdc_text_error error = {};
  if (sdc_text_stream_push(stream.stream, token, &piece, &stream.stopped,
                           &error) != SDC_TEXT_OK) {
    stream.failure = error.message;
    return false;
  }
  return stream.take(piece) && !stream.stopped;
}

const char *reasonText(const sdc_generate_result &result, bool stopString) {
  switch (result.reason) {
  case SDC_STOP_TOKEN:
    return "end of text";
  case SDC_STOP_LENGTH:
    return "length";
  case SDC_STOP_CONTEXT:
    return "context full";
  case SDC_STOP_CALLBACK:
    return stopString ? "stop string" : "output closed";
  case SDC_STOP_CANCELLED:
    return "cancelled";
  }
  return "unknown";
}

} // namespace

bool Engine::write(const std::vector<int32_t> &prompt,
                   const std::function<bool(const std::string &)> &show,
                   WriteResult &result) {
  sdc_error error = {};
  uint32_t context = sdc_session_context(sessionHandle);
  if (prompt.empty())
    return reportPrompt("the prompt is empty");
  if (prompt.size() > context)
    return reportPrompt("the prompt has " + std::to_string(prompt.size()) +
                            " tokens, the context is " +
                            std::to_string(context),
                        "a shorter prompt, or compile with a larger --context");

  // What the slot holds already need not be fed again, but for the last token,
  // whose logits are wanted.
  uint32_t held = sdc_slot_length(sessionHandle, 0);
  const int32_t *tokens = sdc_slot_tokens(sessionHandle, 0);
  size_t common = 0;
  while (common < held && common + 1 < prompt.size() &&
         tokens[common] == prompt[common])
    ++common;
  if (sdc_slot_rewind(sessionHandle, 0, static_cast<uint32_t>(common),
                      &error) != SDC_OK) {
    printError(error.message);
    return false;
  }

  std::vector<sdc_text_view> stops;
  for (const std::string &stop : options.stops)
    stops.push_back(view(stop));
  sdc_text_stream_options streamOptions = {};
  streamOptions.size = sizeof(streamOptions);
  streamOptions.skip_special = !options.special;
  streamOptions.stops = stops.data();
  streamOptions.stop_count = stops.size();
  Stream stream;
  stream.show = &show;
  stream.result = &result;
  sdc_text_error textError = {};
  if (sdc_text_stream_create(text, &streamOptions, &stream.stream,
                             &textError) != SDC_TEXT_OK) {
    printError(textError.message);
    return false;
  }

  sdc_generate_options generate = {};
  generate.struct_size = sizeof(generate);
  generate.sampling.struct_size = sizeof(generate.sampling);
  generate.sampling.temperature = options.temperature;
  generate.sampling.top_k = options.topK;
  generate.sampling.top_p = options.topP;
  generate.sampling.min_p = options.minP;
  generate.sampling.repeat_penalty = options.repeatPenalty;
  generate.sampling.seed = options.seed;
  generate.max_new =
      options.maxNew < 0 ? 0 : static_cast<uint32_t>(options.maxNew);
  if (!options.ignoreEos)
    sdc_text_stop_ids(text, &generate.stop_tokens, &generate.stop_token_count);
  generate.on_token = onToken;
  generate.on_token_user = &stream;

  sdc_generate_result generated = {};
  generated.struct_size = sizeof(generated);
  interruptible = sessionHandle;
  auto previous = std::signal(SIGINT, onInterrupt);
  sdc_status status =
      options.maxNew == 0
          ? SDC_OK
          : sdc_generate(sessionHandle, 0, prompt.data() + common,
                         prompt.size() - common, &generate, &generated, &error);
  std::signal(SIGINT, previous);
  interruptible = nullptr;
  if (status == SDC_OK && stream.failure.empty() && !stream.stopped) {
    sdc_text_view piece = {};
    if (sdc_text_stream_finish(stream.stream, &piece, &stream.stopped,
                               &textError) == SDC_TEXT_OK)
      stream.take(piece);
    else
      stream.failure = textError.message;
  }
  sdc_text_stream_destroy(stream.stream);
  if (status != SDC_OK || !stream.failure.empty()) {
    printError(status != SDC_OK ? std::string(error.message) : stream.failure);
    return false;
  }
  result.reason = options.maxNew == 0
                      ? "length"
                      : reasonText(generated, /*stopString=*/stream.stopped);
  result.prefillSeconds = generated.prefill_seconds;
  result.decodeSeconds = generated.decode_seconds;
  result.promptTokens = prompt.size() - common;
  return true;
}
