// Text to ids: added tokens are cut out, what is left is normalised, cut at
// the added tokens that are looked for in normalised text, split into words
// and encoded word by word.
#include "runtime/text/model.h"

using namespace sdc;
using namespace sdc::text;

namespace {

struct Encoder {
  Scope &scope;
  const sdc_text &text;
  bool parseSpecial;
  Stage stage;
  BpeScratch scratch;
  Buffer<int32_t> ids;

  Encoder(Scope &scope, const sdc_text &text, bool parseSpecial)
      : scope(scope), text(text), parseSpecial(parseSpecial), stage(scope),
        scratch(scope), ids(scope) {}

  bool encodeRaw(Span part, bool first);
  bool encodeNormalized(Span part, bool first);
  template <typename Rest>
  bool cutAdded(const sdc_text::AddedIndex &index, Span input, Rest rest);
};

} // namespace

/// The longest added token that `input` has at `at`.
static const sdc_text::Added *longestAt(const sdc_text::AddedIndex &index,
                                        Span input, size_t at) {
  auto first = static_cast<unsigned char>(input.data[at]);
  uint32_t low = index.byFirstByte[first], high = index.byFirstByte[first + 1];
  const sdc_text::Added *longest = nullptr;
  // tokens[low, high) agree with the input on `depth` bytes.
  for (size_t depth = 1; low < high; ++depth) {
    const sdc_text::Added *token = &index.tokens[low];
    if (token->content.size == depth) {
      longest = token;
      ++low;
    }
    if (at + depth == input.size)
      break;
    auto wanted = static_cast<unsigned char>(input.data[at + depth]);
    auto bound = [&](unsigned limit) {
      uint32_t from = low, to = high;
      while (from < to) {
        uint32_t middle = (from + to) / 2;
        auto byte = static_cast<unsigned char>(
            index.tokens[middle].content.data[depth]);
        if (byte < limit)
          from = middle + 1;
        else
          to = middle;
      }
      return from;
    };
    uint32_t newLow = bound(wanted);
    high = bound(wanted + 1u);
    low = newLow;
  }
  return longest;
}

static bool isWordCharacter(const sdc_text &text, uint32_t c) {
  const auto *ranges = text.tokenizer->word_ranges();
  uint32_t low = 0, high = ranges ? ranges->size() / 2 : 0;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (c > ranges->Get(2 * middle + 1))
      low = middle + 1;
    else if (c < ranges->Get(2 * middle))
      high = middle;
    else
      return true;
  }
  return false;
}

/// Pushes the ids of added tokens and hands what lies between to `rest`.
template <typename Rest>
bool Encoder::cutAdded(const sdc_text::AddedIndex &index, Span input,
                       Rest rest) {
  size_t done = 0;
  for (size_t at = 0; index.count != 0 && at < input.size;) {
    const sdc_text::Added *added = longestAt(index, input, at);
    if (!added) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + added->content.size;
    at = end;
    const fb::AddedToken &token = *added->token;
    if (token.special() && !parseSpecial)
      continue;
    if (token.single_word()) {
      size_t place = begin == 0 ? 0 : characterBefore(input.data, begin);
      if (begin != 0 &&
          isWordCharacter(text, decodeCharacter(input.data, place)))
        continue;
      place = end;
      if (end != input.size &&
          isWordCharacter(text, decodeCharacter(input.data, place)))
        continue;
    }
    if (token.lstrip())
      while (begin > done) {
        size_t before = characterBefore(input.data, begin), place = before;
        if (!isSpace(decodeCharacter(input.data, place)))
          break;
        begin = before;
      }
    if (token.rstrip())
      while (end < input.size) {
        size_t place = end;
        if (!isSpace(decodeCharacter(input.data, place)))
          break;
        end = place;
      }
    if (done < begin && !rest(Span{input.data + done, begin - done}, done == 0))
      return false;
    if (!ids.push(static_cast<int32_t>(token.id())))
      return false;
    done = end;
  }
  return done >= input.size || rest(input.from(done), done == 0);
}

/// `part` is normalised and holds no added token.
bool Encoder::encodeNormalized(Span part, bool first) {
  if (!stage.start(part, first) || !preTokenize(scope, text, stage))
    return false;
  for (const Piece &piece : stage.pieces)
    if (!encodeWord(scope, text, stage.span(piece), scratch, ids))
      return false;
  return true;
}

bool Encoder::encodeRaw(Span part, bool first) {
  const auto *steps = text.tokenizer->normalize();
  if ((!steps || steps->size() == 0) && text.normalized.count == 0)
    return encodeNormalized(part, first);
  if (!stage.start(part, first) || !normalize(scope, text, stage))
    return false;
  if (stage.pieces.empty())
    return true;
  // Normalising leaves one piece: no step of it splits.
  Piece piece = stage.pieces[0];
  Span normal = stage.span(piece);
  if (text.normalized.count == 0) {
    stage.pieces[0] = piece;
    if (!preTokenize(scope, text, stage))
      return false;
    for (const Piece &word : stage.pieces)
      if (!encodeWord(scope, text, stage.span(word), scratch, ids))
        return false;
    return true;
  }
  // The stage is needed again for every part.
  Buffer<char> copy(scope);
  if (!copy.append(normal.data, normal.size))
    return false;
  return cutAdded(text.normalized, {copy.data(), copy.size()},
                  [&](Span rest, bool atBegin) {
                    return encodeNormalized(rest, piece.first && atBegin);
                  });
}

sdc_text_status sdc_text_encode(const sdc_text *text, sdc_text_view input,
                                const sdc_text_encode_options *options,
                                int32_t **out_ids, size_t *out_count,
                                sdc_text_error *out_error) {
  if (!text || !out_ids || !out_count || (!input.data && input.size != 0))
    return SDC_TEXT_INVALID_ARGUMENT;
  Scope scope{text->memory, out_error};
  if (options && options->size < sizeof(sdc_text_encode_options)) {
    scope.fail(SDC_TEXT_INVALID_ARGUMENT, "options of %zu bytes, expected %zu",
               options->size, sizeof(sdc_text_encode_options));
    return scope.status;
  }
  Span whole = spanOf(input);
  size_t invalid = firstInvalid(whole);
  if (invalid != SIZE_MAX) {
    scope.fail(SDC_TEXT_INVALID_UTF8, "byte %zu of the text is not UTF-8",
               invalid);
    return scope.status;
  }

  Encoder encoder(scope, *text, options && options->parse_special);
  bool around = options && options->add_special;
  auto push = [&](const flatbuffers::Vector<uint32_t> *extra) {
    for (uint32_t i = 0, e = around && extra ? extra->size() : 0; i < e; ++i)
      if (!encoder.ids.push(static_cast<int32_t>(extra->Get(i))))
        return false;
    return true;
  };
  bool good = push(text->tokenizer->prefix()) &&
              encoder.cutAdded(text->raw, whole,
                               [&](Span part, bool first) {
                                 return encoder.encodeRaw(part, first);
                               }) &&
              push(text->tokenizer->suffix()) &&
              encoder.ids.reserve(encoder.ids.size() + 1);
  if (!good)
    return scope.status;
  *out_count = encoder.ids.size();
  *out_ids = encoder.ids.take();
  return SDC_TEXT_OK;
}
