// Text to token ids, as all verbs that read prompts do it. An empty string is
// success, else what is wrong.

#ifndef SDC_TOOLS_SDC_ENCODE_H
#define SDC_TOOLS_SDC_ENCODE_H

#include "sdc/text.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

struct Message {
  std::string role;
  std::string content;
};

/// Plain text: special tokens are parsed, and what the tokenizer puts around a
/// text (bos) is added.
std::string encodeRaw(const sdc_text *text, const std::string &input,
                      std::vector<int32_t> &ids);

/// A conversation through the chat template, ready for the answer.
std::string encodeChat(const sdc_text *text,
                       const std::vector<Message> &messages,
                       std::vector<int32_t> &ids);

} // namespace sdc

#endif // SDC_TOOLS_SDC_ENCODE_H
