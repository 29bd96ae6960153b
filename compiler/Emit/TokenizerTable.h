// A tokenizer.json of Hugging Face as the table that the runtime searches.
#ifndef SDC_COMPILER_EMIT_TOKENIZERTABLE_H
#define SDC_COMPILER_EMIT_TOKENIZERTABLE_H

#include "schema/text_generated.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>

namespace sdc {

/// Reads the text of a tokenizer.json; `name` goes before messages. BPE only,
/// whatever the class that tokenizer_config.json names: the pipeline of the
/// file itself is what counts. Ids of `embeddingRows` and more are an error
/// (0: no limit). All problems are reported at once.
llvm::Expected<std::unique_ptr<fb::TokenizerT>>
readTokenizer(llvm::StringRef text, llvm::StringRef name,
              uint64_t embeddingRows);

/// The id of a token, model or added.
std::optional<uint32_t> findToken(const fb::TokenizerT &tokenizer,
                                  llvm::StringRef token);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TOKENIZERTABLE_H
