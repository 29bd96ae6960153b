// Collects what lies beside a model and writes the text segment.
#include "compiler/Emit/TextTable.h"

#include "compiler/Emit/ChatTemplate.h"
#include "compiler/Emit/JsonText.h"
#include "compiler/Emit/TokenizerTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace sdc;

namespace {

class Collector {
public:
  explicit Collector(const TextTableOptions &options) : options(options) {}

  Expected<std::optional<TextTable>> run();

private:
  /// The text of a file, or nothing when it is not there.
  std::optional<std::string> readFile(StringRef folder, StringRef file);
  std::optional<json::Value> readJson(StringRef folder, StringRef file);
  void readSpecialTokens();
  void readTemplate();
  void readStops();
  bool readStopsOf(const json::Value *value, StringRef file);
  void problem(const Twine &what) { problems.push_back(what.str()); }

  const TextTableOptions &options;
  std::string folder;
  TextTable table;
  fb::TextT text;
  std::vector<std::string> problems;
  std::optional<json::Value> config;
};

} // namespace

static const json::Value *member(const std::optional<json::Value> &root,
                                 StringRef key) {
  const json::Object *object = root ? root->getAsObject() : nullptr;
  return object ? object->get(key) : nullptr;
}

std::optional<std::string> Collector::readFile(StringRef where,
                                               StringRef file) {
  SmallString<128> path(where);
  sys::path::append(path, file);
  if (!sys::fs::exists(path))
    return std::nullopt;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer) {
    problem(path + ": error: cannot read: " + buffer.getError().message());
    return std::nullopt;
  }
  table.inputs.push_back(std::string(path));
  return (*buffer)->getBuffer().str();
}

std::optional<json::Value> Collector::readJson(StringRef where,
                                               StringRef file) {
  std::optional<std::string> contents = readFile(where, file);
  if (!contents)
    return std::nullopt;
  Expected<json::Value> root = parseJson(*contents);
  if (root)
    return std::move(*root);
  problem(table.inputs.back() +
          ": error: not JSON: " + toString(root.takeError()));
  return std::nullopt;
}

/// The tokens that templates know by name: a string, or an added token.
void Collector::readSpecialTokens() {
  config = readJson(folder, "tokenizer_config.json");
  std::optional<json::Value> map = readJson(folder, "special_tokens_map.json");
  const std::pair<StringRef, std::string *> tokens[] = {
      {"bos_token", &text.bos_token},
      {"eos_token", &text.eos_token},
      {"pad_token", &text.pad_token},
      {"unk_token", &text.unk_token}};
  for (const auto &[key, token] : tokens)
    for (const auto *source : {&config, &map}) {
      const json::Value *value = member(*source, key);
      if (!value || !token->empty())
        continue;
      if (const json::Object *added = value->getAsObject())
        *token = added->getString("content").value_or("").str();
      else
        *token = value->getAsString().value_or("").str();
    }
}

void Collector::readTemplate() {
  std::string name = "chat_template.jinja";
  std::optional<std::string> source = readFile(folder, name);
  const json::Value *value = member(config, "chat_template");
  if (!source && value) {
    name = "tokenizer_config.json: chat_template";
    if (std::optional<StringRef> single = value->getAsString())
      source = single->str();
    // Several by name: the default one is for chats.
    else if (const json::Array *several = value->getAsArray())
      for (const json::Value &entry : *several) {
        const json::Object *object = entry.getAsObject();
        if (object && object->getString("name") == StringRef("default"))
          source = object->getString("template").value_or("").str();
      }
    if (!source && value->kind() != json::Value::Null)
      problem(name + ": error: neither a template nor one named 'default'");
  }
  if (!source) {
    table.warnings.push_back("no chat template beside the tokenizer: prompts "
                             "are taken as they are");
    return;
  }
  auto tree = compileChatTemplate(*source, name);
  if (!tree) {
    problem(toString(tree.takeError()));
    return;
  }
  text.chat_template = std::move(*tree);
  table.hasTemplate = true;
}

/// One id or a list of them; false when there is none.
bool Collector::readStopsOf(const json::Value *value, StringRef file) {
  if (!value || value->kind() == json::Value::Null)
    return false;
  json::Array one;
  const json::Array *ids = value->getAsArray();
  if (!ids) {
    one.push_back(*value);
    ids = &one;
  }
  for (const json::Value &entry : *ids) {
    std::optional<int64_t> id = entry.getAsInteger();
    if (!id || *id < 0 || *id > INT32_MAX ||
        (options.embeddingRows != 0 &&
         static_cast<uint64_t>(*id) >= options.embeddingRows))
      problem(file + ": error: an eos_token_id that is no id of the model");
    else if (!llvm::is_contained(text.stop_ids, static_cast<uint32_t>(*id)))
      text.stop_ids.push_back(static_cast<uint32_t>(*id));
  }
  return !ids->empty();
}

void Collector::readStops() {
  std::vector<std::string> folders = {options.modelFolder};
  if (folder != options.modelFolder)
    folders.push_back(folder);
  for (StringRef file :
       {"generation_config.json", "genai_config.json", "config.json"})
    for (const std::string &where : folders) {
      std::optional<json::Value> root = readJson(where, file);
      const json::Value *value = member(root, "eos_token_id");
      if (const json::Value *model = member(root, "model"))
        if (file == "genai_config.json" && model->getAsObject())
          value = model->getAsObject()->get("eos_token_id");
      if (readStopsOf(value, file))
        return;
    }
  if (!text.eos_token.empty())
    if (std::optional<uint32_t> id =
            findToken(*text.tokenizer, text.eos_token)) {
      text.stop_ids.push_back(*id);
      table.warnings.push_back("no eos_token_id in generation_config.json, "
                               "genai_config.json or config.json: texts end "
                               "at '" +
                               text.eos_token + "' only");
      return;
    }
  table.warnings.push_back("no eos_token_id beside the model: texts end only "
                           "at the end of the context");
}

Expected<std::optional<TextTable>> Collector::run() {
  std::string file = "tokenizer.json";
  folder = options.tokenizer.empty() ? options.modelFolder : options.tokenizer;
  if (!options.tokenizer.empty() && !sys::fs::is_directory(folder)) {
    file = sys::path::filename(options.tokenizer).str();
    folder = sys::path::parent_path(options.tokenizer).str();
  }
  std::optional<std::string> contents = readFile(folder, file);
  if (!contents && problems.empty()) {
    if (options.tokenizer.empty())
      return std::nullopt;
    return createStringError(options.tokenizer +
                             ": error: no tokenizer.json: expected that file, "
                             "or a folder that holds it");
  }
  if (contents) {
    auto tokenizer =
        readTokenizer(*contents, table.inputs.back(), options.embeddingRows);
    if (tokenizer)
      text.tokenizer = std::move(*tokenizer);
    else
      problem(toString(tokenizer.takeError()));
  }
  readSpecialTokens();
  readTemplate();
  if (text.tokenizer)
    readStops();
  if (!problems.empty())
    return createStringError(join(problems, "\n"));

  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Text::Pack(builder, &text), fb::TextIdentifier());
  table.bytes.assign(builder.GetBufferPointer(),
                     builder.GetBufferPointer() + builder.GetSize());
  return std::move(table);
}

Expected<std::optional<TextTable>>
sdc::buildTextTable(const TextTableOptions &options) {
  return Collector(options).run();
}
