// What sdc_text is inside: the verified tables, and what opening adds to them.
#ifndef SDC_RUNTIME_TEXT_MODEL_H
#define SDC_RUNTIME_TEXT_MODEL_H

#include "runtime/text/pattern.h"
#include "schema/text_generated.h"

/// The opaque struct of the C interface.
struct sdc_text {
  sdc::text::Allocator memory;
  const sdc::fb::Text *file = nullptr;
  const sdc::fb::Tokenizer *tokenizer = nullptr;

  /// Those of the steps, normalize first, then pre_tokenize.
  sdc::text::Pattern *patterns = nullptr;
  uint32_t patternCount = 0;

  /// An added token as it is looked for.
  struct Added {
    sdc::text::Span content;
    const sdc::fb::AddedToken *token;
  };
  /// Sorted by content, and where each first byte begins.
  struct AddedIndex {
    Added *tokens = nullptr;
    uint32_t count = 0;
    uint32_t byFirstByte[257] = {};
  };
  AddedIndex raw;
  AddedIndex normalized;
  /// The contents of `normalized` in their normalised form.
  char *normalizedContents = nullptr;

  /// Ids of the characters below U+0400 as initial symbols of BPE.
  static constexpr uint32_t directCharacters = 0x400;
  uint32_t characterIds[directCharacters] = {};

  sdc::text::Span token(uint32_t id) const {
    uint32_t begin = tokenizer->offsets()->Get(id);
    return {reinterpret_cast<const char *>(tokenizer->bytes()->data()) + begin,
            tokenizer->offsets()->Get(id + 1) - begin};
  }
  bool hasFlag(uint32_t id, sdc::fb::TokenFlag flag) const {
    return tokenizer->flags()->Get(id) & static_cast<uint8_t>(flag);
  }
};

namespace sdc::text {

/// No id, no node, no slot.
constexpr uint32_t none = 0xFFFFFFFF;

inline Span spanOf(const flatbuffers::String *string) {
  return string ? Span{string->c_str(), string->size()} : Span{nullptr, 0};
}
inline Span spanOf(sdc_text_view view) { return {view.data, view.size}; }

/// Checks every index of a table that the generated verifier has passed.
bool verifyTokenizer(Scope &scope, const fb::Tokenizer &tokenizer);
bool verifyTemplate(Scope &scope, const fb::ChatTemplate &tree);

/// The id of a token of the BPE model, or `none`.
uint32_t findToken(const sdc_text &text, Span token);

/// Text on its way through the steps: pieces are ranges of `bytes`.
struct Piece {
  size_t begin;
  size_t end;
  /// It begins the whole text.
  bool first;
};
struct Stage {
  explicit Stage(Scope &scope)
      : bytes(scope), pieces(scope), nextBytes(scope), nextPieces(scope),
        matches(scope) {}
  Buffer<char> bytes;
  Buffer<Piece> pieces;
  // Scratch.
  Buffer<char> nextBytes;
  Buffer<Piece> nextPieces;
  Buffer<Match> matches;

  /// Makes `text` the only piece.
  bool start(Span text, bool first);
  Span span(const Piece &piece) const {
    return {bytes.data() + piece.begin, piece.end - piece.begin};
  }
};

/// Runs the normalising or the pre-tokenising steps over a stage.
bool normalize(Scope &scope, const sdc_text &text, Stage &stage);
bool preTokenize(Scope &scope, const sdc_text &text, Stage &stage);

/// Memory that BPE reuses from word to word.
struct BpeScratch {
  explicit BpeScratch(Scope &scope) : symbols(scope), heap(scope) {}
  struct Symbol {
    uint32_t id;
    uint32_t previous;
    uint32_t next;
  };
  Buffer<Symbol> symbols;
  Buffer<uint64_t> heap;
};

/// Appends the ids of one word.
bool encodeWord(Scope &scope, const sdc_text &text, Span word,
                BpeScratch &scratch, Buffer<int32_t> &ids);

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_MODEL_H
