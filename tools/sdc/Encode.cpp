// Text to token ids.

#include "tools/sdc/Encode.h"

using namespace sdc;

static sdc_text_view view(const std::string &text) {
  return {text.data(), text.size()};
}

static std::string encode(const sdc_text *text, sdc_text_view input,
                          bool addSpecial, std::vector<int32_t> &ids) {
  sdc_text_encode_options options = {};
  options.size = sizeof(options);
  options.parse_special = true;
  options.add_special = addSpecial;
  sdc_text_error error = {};
  int32_t *raw = nullptr;
  size_t count = 0;
  if (sdc_text_encode(text, input, &options, &raw, &count, &error) !=
      SDC_TEXT_OK)
    return error.message;
  ids.assign(raw, raw + count);
  sdc_text_free(text, raw);
  return "";
}

std::string sdc::encodeRaw(const sdc_text *text, const std::string &input,
                           std::vector<int32_t> &ids) {
  return encode(text, view(input), /*addSpecial=*/true, ids);
}

std::string sdc::encodeChat(const sdc_text *text,
                            const std::vector<Message> &messages,
                            std::vector<int32_t> &ids) {
  std::vector<sdc_text_message> views;
  for (const Message &message : messages)
    views.push_back({view(message.role), view(message.content)});
  sdc_text_template_options options = {};
  options.size = sizeof(options);
  options.add_generation_prompt = true;
  options.now = -1;
  char *applied = nullptr;
  size_t size = 0;
  sdc_text_error error = {};
  if (sdc_text_apply_template(text, views.data(), views.size(), &options,
                              &applied, &size, &error) != SDC_TEXT_OK)
    return error.message;
  // The template writes bos itself, where the model wants one.
  std::string problem =
      encode(text, {applied, size}, /*addSpecial=*/false, ids);
  sdc_text_free(text, applied);
  return problem;
}
