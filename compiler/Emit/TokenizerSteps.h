// The pipeline around the BPE model of a tokenizer.json: normalizer,
// pre-tokenizer, decoder and post-processor become the few primitive steps
// of runtime/schema/text.fbs.
#ifndef SDC_COMPILER_EMIT_TOKENIZERSTEPS_H
#define SDC_COMPILER_EMIT_TOKENIZERSTEPS_H

#include "schema/text_generated.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace sdc {

/// Fills `normalize`. Known: NFC, NFD, NFKC, NFKD, Lowercase, Strip,
/// StripAccents, Replace, Prepend, ByteLevel, Sequence.
llvm::Error lowerNormalizer(const llvm::json::Value &json,
                            fb::TokenizerT &tokenizer);

/// Fills `pre_tokenize`. Known: Split, ByteLevel, Metaspace, Digits,
/// Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer,
/// CharDelimiterSplit, Sequence.
llvm::Error lowerPreTokenizer(const llvm::json::Value &json,
                              fb::TokenizerT &tokenizer);

/// Fills `decoder`. Known: ByteLevel, Metaspace, Replace (plain text),
/// ByteFallback, Fuse, Strip, Sequence, in an order that decoding token by
/// token can keep.
llvm::Error lowerDecoder(const llvm::json::Value &json,
                         fb::TokenizerT &tokenizer);

/// Fills `prefix` and `suffix`. Known: TemplateProcessing, ByteLevel,
/// RobertaProcessing, BertProcessing, Sequence.
llvm::Error lowerPostProcessor(const llvm::json::Value &json,
                               fb::TokenizerT &tokenizer);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TOKENIZERSTEPS_H
