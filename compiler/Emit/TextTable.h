// The text segment of an executable: everything about text that is found
// beside a model, as the one FlatBuffer of runtime/schema/text.fbs.
#ifndef SDC_COMPILER_EMIT_TEXTTABLE_H
#define SDC_COMPILER_EMIT_TEXTTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

struct TextTableOptions {
  /// The folder of the model.
  std::string modelFolder;
  /// A tokenizer.json, or the folder that holds it and its neighbours; empty:
  /// the folder of the model.
  std::string tokenizer;
  /// Rows of the embedding, that no id may reach; 0 when not known.
  uint64_t embeddingRows = 0;
};

struct TextTable {
  /// The segment: the bytes of one FlatBuffer.
  std::vector<uint8_t> bytes;
  /// The files that it was made from, for dependencies.
  std::vector<std::string> inputs;
  /// What the user should know, one line each.
  std::vector<std::string> warnings;
  bool hasTemplate = false;
};

/// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json,
/// chat_template.jinja, and for the ids that end a text the first of
/// generation_config.json, genai_config.json and config.json that names an
/// eos. Nothing is no error: a model without a tokenizer.json has no text,
/// unless `tokenizer` asks for it. All problems come at once, one a line.
llvm::Expected<std::optional<TextTable>>
buildTextTable(const TextTableOptions &options);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TEXTTABLE_H
