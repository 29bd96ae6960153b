// The decoder machine, and decoding of a whole text with it.
#include "runtime/text/decode.h"

using namespace sdc;
using namespace sdc::text;

static constexpr char replacement[] = "\xEF\xBF\xBD";

void Decoder::reset() {
  atFirst = atBeginning = true;
  run.clear();
  strippedAtStart = heldAtStop = 0;
}

void Decoder::rebind(Scope &scope) {
  run.rebind(scope);
  token.rebind(scope);
  nextToken.rebind(scope);
}

bool Decoder::replaceAll(Span from, Span to) {
  nextToken.clear();
  Span whole = {token.data(), token.size()};
  size_t done = 0;
  for (size_t at = find(whole, from, 0); at != SIZE_MAX;
       at = find(whole, from, done)) {
    if (!nextToken.append(whole.data + done, at - done) ||
        !nextToken.append(to.data, to.size))
      return false;
    done = at + from.size;
  }
  if (!nextToken.append(whole.data + done, whole.size - done))
    return false;
  token.swap(nextToken);
  return true;
}

/// Takes strip characters off both ends of the token.
bool Decoder::stripToken(const fb::Decoder &decoder) {
  Span strip = spanOf(decoder.strip()), rest = {token.data(), token.size()};
  for (uint32_t i = 0; i < decoder.strip_start() && rest.startsWith(strip); ++i)
    rest = rest.from(strip.size);
  for (uint32_t i = 0; i < decoder.strip_stop() && rest.endsWith(strip); ++i)
    rest.size -= strip.size;
  nextToken.clear();
  if (!nextToken.append(rest.data, rest.size))
    return false;
  token.swap(nextToken);
  return true;
}

/// Text that is whole characters: what the stripping of the ends leaves.
bool Decoder::pushText(Span piece, Buffer<char> &out) {
  const fb::Decoder &decoder = *text.tokenizer->decoder();
  if (decoder.strip_tokens() ||
      (decoder.strip_start() == 0 && decoder.strip_stop() == 0))
    return out.append(piece.data, piece.size);
  Span strip = spanOf(decoder.strip());
  while (atBeginning && piece.size != 0) {
    if (strippedAtStart == decoder.strip_start() || !piece.startsWith(strip)) {
      atBeginning = false;
      break;
    }
    ++strippedAtStart;
    piece = piece.from(strip.size);
  }
  if (decoder.strip_stop() == 0)
    return out.append(piece.data, piece.size);
  while (piece.size != 0) {
    size_t size = characterSize(piece.data[0]);
    if (piece.startsWith(strip) && heldAtStop < decoder.strip_stop()) {
      ++heldAtStop;
    } else {
      // Held ones equal the one at hand, or go before it.
      bool same = piece.startsWith(strip);
      for (; !same && heldAtStop != 0; --heldAtStop)
        if (!out.append(strip.data, strip.size))
          return false;
      if (!out.append(piece.data, size))
        return false;
    }
    piece = piece.from(size);
  }
  return true;
}

/// A run of bytes is over: what is no character becomes U+FFFD.
bool Decoder::endRun(Buffer<char> &out) {
  if (run.empty())
    return true;
  Span bytes = {run.data(), run.size()};
  bool fallback = text.tokenizer->decoder()->form() == fb::ByteForm::Fallback;
  bool good = true;
  if (!fallback) {
    good = pushText({replacement, 3}, out);
  } else if (firstInvalid(bytes) == SIZE_MAX) {
    good = pushText(bytes, out);
  } else {
    // The whole run is lost, one U+FFFD for each byte.
    for (size_t i = 0; good && i < bytes.size; ++i)
      good = pushText({replacement, 3}, out);
  }
  run.clear();
  return good;
}

/// One byte of byte-level or fallback form.
bool Decoder::pushByte(char byte, Buffer<char> &out) {
  bool fallback = text.tokenizer->decoder()->form() == fb::ByteForm::Fallback;
  if (!run.push(byte))
    return false;
  if (fallback && wholeRuns)
    return true;
  while (!run.empty()) {
    int length = scanCharacter(run.data(), run.size());
    if (length == 0)
      return true;
    size_t used = length > 0 ? length : -length;
    Span piece = length > 0 ? Span{run.data(), used} : Span{replacement, 3};
    for (size_t i = 0; i < (length < 0 && fallback ? used : 1); ++i)
      if (!pushText(piece, out))
        return false;
    memmove(run.data(), run.data() + used, run.size() - used);
    run.truncate(run.size() - used);
  }
  return true;
}

/// The bytes of a byte-level token, whose characters may end in later ones.
bool Decoder::pushBytes(Buffer<char> &out) {
  size_t at = 0;
  while (at < token.size()) {
    // Whole characters in one go.
    size_t begin = at;
    while (run.empty() && at < token.size()) {
      int length = scanCharacter(token.data() + at, token.size() - at);
      if (length <= 0)
        break;
      at += length;
    }
    if (at != begin && !pushText({token.data() + begin, at - begin}, out))
      return false;
    if (at < token.size() && !pushByte(token[at++], out))
      return false;
  }
  return true;
}

static int hexDigit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

/// The byte of a token <0xNN>, or -1.
static int fallbackByte(Span token) {
  if (token.size != 6 || !token.startsWith(spanOf("<0x")) ||
      token.data[5] != '>')
    return -1;
  int high = hexDigit(token.data[3]), low = hexDigit(token.data[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

bool Decoder::push(int32_t id, Buffer<char> &out) {
  auto index = static_cast<uint32_t>(id);
  if (id < 0 || index >= text.tokenizer->flags()->size() ||
      !text.hasFlag(index, fb::TokenFlag::Present) ||
      (skipSpecial && text.hasFlag(index, fb::TokenFlag::Special)))
    return true;
  const fb::Decoder &decoder = *text.tokenizer->decoder();
  bool first = atFirst;
  atFirst = false;
  Span whole = text.token(index);
  if (text.hasFlag(index, fb::TokenFlag::Normalized))
    for (uint32_t i = 0; i < text.normalized.count; ++i)
      if (text.normalized.tokens[i].token->id() == index)
        whole = text.normalized.tokens[i].content;
  token.clear();
  if (!token.append(whole.data, whole.size))
    return false;

  if (decoder.mark()) {
    Span mark = spanOf(decoder.mark());
    // Only the mark that encoding put there leaves the first token.
    if (first && decoder.drop_in_first() && whole.startsWith(mark)) {
      token.clear();
      if (!token.append(whole.data + mark.size, whole.size - mark.size))
        return false;
    }
    if (!replaceAll(mark, spanOf(" ")))
      return false;
  }
  const auto *steps = decoder.replace();
  for (uint32_t i = 0, e = steps ? steps->size() : 0; i < e; ++i)
    if (!replaceAll(spanOf(steps->Get(i)->pattern()),
                    spanOf(steps->Get(i)->content())))
      return false;
  if (decoder.strip_tokens() && !stripToken(decoder))
    return false;
  if (decoder.spaced() && !first && !pushText(spanOf(" "), out))
    return false;

  switch (decoder.form()) {
  case fb::ByteForm::Text:
    return pushText({token.data(), token.size()}, out);
  case fb::ByteForm::Fallback: {
    int byte = fallbackByte({token.data(), token.size()});
    if (byte >= 0)
      return pushByte(static_cast<char>(byte), out);
    return endRun(out) && pushText({token.data(), token.size()}, out);
  }
  case fb::ByteForm::ByteLevel: {
    nextToken.clear();
    for (size_t at = 0; at < token.size();) {
      int byte = characterByte(decodeCharacter(token.data(), at));
      // A token with any other character is text as it stands.
      if (byte < 0)
        return pushBytes(out);
      if (!nextToken.push(static_cast<char>(byte)))
        return false;
    }
    token.swap(nextToken);
    return pushBytes(out);
  }
  }
  return true;
}

bool Decoder::finish(Buffer<char> &out) {
  // What strip_stop holds back at the end of the text is what it takes away.
  return endRun(out);
}

sdc_text_status sdc_text_decode(const sdc_text *text, const int32_t *ids,
                                size_t count, bool skip_special,
                                char **out_text, size_t *out_size,
                                sdc_text_error *out_error) {
  if (!text || (!ids && count != 0) || !out_text || !out_size)
    return SDC_TEXT_INVALID_ARGUMENT;
  Scope scope{text->memory, out_error};
  Decoder decoder(scope, *text, skip_special, /*wholeRuns=*/true);
  Buffer<char> out(scope);
  for (size_t i = 0; i < count; ++i)
    if (!decoder.push(ids[i], out))
      return scope.status;
  if (!decoder.finish(out) || !out.push('\0'))
    return scope.status;
  *out_size = out.size() - 1;
  *out_text = out.take();
  return SDC_TEXT_OK;
}
