// Prompts in files, as `sdc record` and the one-step `sdc compile --prompts`
// take them.
//
//   .txt     one user message a line; empty lines are skipped
//   .jsonl   {"prompt": TEXT} or {"messages": [{"role", "content"}, ...]} a line

#ifndef SDC_TOOLS_SDC_PROMPTS_H
#define SDC_TOOLS_SDC_PROMPTS_H

#include "sdc/text.h"
#include "tools/sdc/Engine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

struct Prompt {
  /// Where it is from: "prompts.txt:7".
  std::string place;
  std::vector<Message> messages;
};

/// Reads a file of prompts. Prints every line that is wrong and gives false.
bool readPrompts(const std::string &path, std::vector<Prompt> &prompts);

/// Token ids of each prompt: through the chat template, or, if `raw`, the texts
/// of its messages as they are, special tokens parsed. Prints what is wrong.
bool encodePrompts(const sdc_text *text, const std::vector<Prompt> &prompts,
                   bool raw, std::vector<std::vector<int32_t>> &ids);

/// Token ids of a text, cut into sequences of at most `length` tokens.
bool encodeText(const sdc_text *text, const std::string &path, size_t length,
                std::vector<std::vector<int32_t>> &ids);

} // namespace sdc

#endif // SDC_TOOLS_SDC_PROMPTS_H
