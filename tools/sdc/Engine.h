// An executable that is open and ready to write text: model, tokenizer and one
// session, with the options that `run` and `chat` share. Failures are printed
// where they happen; functions then give null or false.

#ifndef SDC_TOOLS_SDC_ENGINE_H
#define SDC_TOOLS_SDC_ENGINE_H

#include "sdc/sdc.h"
#include "sdc/text.h"
#include "tools/sdc/Encode.h"
#include "tools/sdc/Verbs.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// How text is written, as `run` and `chat` take it.
struct GenerationOptions {
  bool raw = false;
  /// Tokens to write; -1: until end of text or context.
  int64_t maxNew = -1;
  float temperature = 0;
  uint32_t topK = 0;
  float topP = 1;
  float minP = 0;
  float repeatPenalty = 1;
  uint64_t seed = 0;
  std::vector<std::string> stops;
  bool ignoreEos = false;
  bool special = false;
  /// Folder or file to take the tokenizer from instead of the executable's.
  std::string tokenizer;
  std::string device = "cpu";
};
void addGenerationOptions(CLI::App &verb, GenerationOptions &options);

/// What one call of Engine::write did.
struct WriteResult {
  std::string text;
  std::vector<int32_t> tokens;
  /// "end of text", "stop string", "length", "context full", "cancelled".
  std::string reason;
  double prefillSeconds = 0;
  double decodeSeconds = 0;
  size_t promptTokens = 0;
};

class Engine {
public:
  static std::unique_ptr<Engine> open(const std::string &path,
                                      const CommonOptions &common,
                                      const GenerationOptions &options);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  sdc_model *model() { return modelHandle; }
  sdc_session *session() { return sessionHandle; }
  bool hasTemplate() const;

  /// Where prompts come from, in front of messages about them.
  std::string place;

  /// Token ids of plain text; special tokens are parsed, and bos is added.
  bool encodeRaw(const std::string &text, std::vector<int32_t> &ids);
  /// Token ids of a conversation, ready for the assistant's answer.
  bool encodeChat(const std::vector<Message> &messages,
                  std::vector<int32_t> &ids);

  /// Writes after `prompt` in slot 0, which keeps the longest prefix that it
  /// already holds. `show` takes pieces of whole characters as they come; false
  /// ends the writing.
  bool write(const std::vector<int32_t> &prompt,
             const std::function<bool(const std::string &)> &show,
             WriteResult &result);

private:
  Engine() = default;
  bool reportPrompt(const std::string &problem, const std::string &hint = "");
  bool openText(const std::string &path);

  GenerationOptions options;
  sdc_model *modelHandle = nullptr;
  sdc_session *sessionHandle = nullptr;
  sdc_text *text = nullptr;
  /// Bytes of a tokenizer that is not the executable's.
  std::vector<uint64_t> ownText;
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_ENGINE_H
