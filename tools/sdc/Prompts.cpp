// Reads files of prompts and turns them into token ids.

#include "tools/sdc/Prompts.h"
#include "tools/sdc/Encode.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/Verbs.h"

#include <nlohmann/json.hpp>
#include <sstream>

using namespace sdc;
using Json = nlohmann::json;

/// Empty if `json` is a prompt, which is put into `messages`.
static std::string parseLine(const Json &json, std::vector<Message> &messages) {
  if (!json.is_object())
    return "expected {\"prompt\"} or {\"messages\"}";
  if (auto it = json.find("prompt"); it != json.end()) {
    if (!it->is_string())
      return "\"prompt\" is not a string";
    messages.push_back({"user", it->get<std::string>()});
    return "";
  }
  auto it = json.find("messages");
  if (it == json.end() || !it->is_array() || it->empty())
    return "expected \"prompt\" or a list \"messages\"";
  for (const Json &message : *it) {
    if (!message.is_object() || !message.contains("role") ||
        !message["role"].is_string() || !message.contains("content") ||
        !message["content"].is_string())
      return "expected a string \"role\" and a string \"content\" in each "
             "message";
    messages.push_back({message["role"].get<std::string>(),
                        message["content"].get<std::string>()});
  }
  return "";
}

bool sdc::readPrompts(const std::string &path, std::vector<Prompt> &prompts) {
  std::string content;
  if (!readFile(path, content))
    return false;
  std::istringstream stream(content);
  bool json = path.size() >= 6 && path.substr(path.size() - 6) == ".jsonl";
  bool good = true;
  std::string line;
  for (size_t number = 1; std::getline(stream, line); ++number) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos)
      continue;
    Prompt prompt;
    prompt.place = path + ":" + std::to_string(number);
    if (!json) {
      prompt.messages.push_back({"user", line});
    } else {
      Json value = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      std::string problem = value.is_discarded()
                                ? "not JSON in UTF-8"
                                : parseLine(value, prompt.messages);
      if (!problem.empty()) {
        printError(prompt.place + ": " + problem);
        good = false;
        continue;
      }
    }
    prompts.push_back(std::move(prompt));
  }
  if (good && prompts.empty()) {
    printError(path + ": holds no prompts",
               "one user message a line, or .jsonl");
    return false;
  }
  return good;
}

bool sdc::encodePrompts(const sdc_text *text,
                        const std::vector<Prompt> &prompts, bool raw,
                        std::vector<std::vector<int32_t>> &ids) {
  bool good = true;
  for (const Prompt &prompt : prompts) {
    std::string problem;
    std::vector<int32_t> encoded;
    if (raw) {
      std::string joined;
      for (const Message &message : prompt.messages)
        joined += message.content;
      problem = encodeRaw(text, joined, encoded);
    } else {
      problem = encodeChat(text, prompt.messages, encoded);
    }
    if (problem.empty() && encoded.empty())
      problem = "gives no tokens";
    if (!problem.empty()) {
      printError(prompt.place + ": " + problem);
      good = false;
    }
    ids.push_back(std::move(encoded));
  }
  return good;
}

bool sdc::encodeText(const sdc_text *text, const std::string &path,
                     size_t length, std::vector<std::vector<int32_t>> &ids) {
  std::string content;
  if (!readFile(path, content))
    return false;
  std::vector<int32_t> all;
  std::string problem = encodeRaw(text, content, all);
  if (problem.empty() && all.empty())
    problem = "gives no tokens";
  if (!problem.empty()) {
    printError(path + ": " + problem);
    return false;
  }
  for (size_t begin = 0; begin < all.size(); begin += length)
    ids.emplace_back(all.begin() + begin,
                     all.begin() + std::min(begin + length, all.size()));
  return true;
}
