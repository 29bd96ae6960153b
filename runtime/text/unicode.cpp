// UTF-8 by hand; normal forms and case by utf8proc.
#include "runtime/text/unicode.h"

#include <utf8proc.h>

using namespace sdc::text;

size_t sdc::text::find(Span text, Span needle, size_t from) {
  if (needle.size == 0)
    return from <= text.size ? from : SIZE_MAX;
  while (from <= text.size && text.size - from >= needle.size) {
    const void *hit = memchr(text.data + from, needle.data[0],
                             text.size - from - needle.size + 1);
    if (!hit)
      return SIZE_MAX;
    from = static_cast<const char *>(hit) - text.data;
    if (memcmp(text.data + from, needle.data, needle.size) == 0)
      return from;
    ++from;
  }
  return SIZE_MAX;
}

uint32_t sdc::text::decodeCharacter(const char *data, size_t &at) {
  auto byte = [&](size_t i) -> uint32_t {
    return static_cast<unsigned char>(data[i]);
  };
  uint32_t lead = byte(at);
  if (lead < 0x80) {
    at += 1;
    return lead;
  }
  if (lead < 0xE0) {
    at += 2;
    return (lead & 0x1F) << 6 | (byte(at - 1) & 0x3F);
  }
  if (lead < 0xF0) {
    at += 3;
    return (lead & 0x0F) << 12 | (byte(at - 2) & 0x3F) << 6 |
           (byte(at - 1) & 0x3F);
  }
  at += 4;
  return (lead & 0x07) << 18 | (byte(at - 3) & 0x3F) << 12 |
         (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
}

size_t sdc::text::characterBefore(const char *data, size_t at) {
  --at;
  while ((static_cast<unsigned char>(data[at]) & 0xC0) == 0x80)
    --at;
  return at;
}

size_t sdc::text::encodeCharacter(uint32_t c, char *out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    out[0] = static_cast<char>(0xC0 | c >> 6);
    out[1] = static_cast<char>(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = static_cast<char>(0xE0 | c >> 12);
    out[1] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | c >> 18);
  out[1] = static_cast<char>(0x80 | (c >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (c & 0x3F));
  return 4;
}

int sdc::text::scanCharacter(const char *data, size_t size) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(data[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead < 0xC2 || lead > 0xF4)
    return -1;
  int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte has a range of its own: no overlong forms, no surrogates,
  // nothing above U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < length; ++i) {
    if (static_cast<size_t>(i) == size)
      return 0;
    if (byte(i) < low || byte(i) > high)
      return -i;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

size_t sdc::text::firstInvalid(Span text) {
  size_t at = 0;
  while (at < text.size) {
    // Eight bytes of ASCII at a time.
    while (text.size - at >= 8) {
      uint64_t word;
      memcpy(&word, text.data + at, 8);
      if (word & 0x8080808080808080ull)
        break;
      at += 8;
    }
    if (at == text.size)
      break;
    int length = scanCharacter(text.data + at, text.size - at);
    if (length <= 0)
      return at;
    at += length;
  }
  return SIZE_MAX;
}

bool sdc::text::isSpace(uint32_t c) {
  if (c < 0x80)
    return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

uint32_t sdc::text::byteCharacter(unsigned char byte) {
  // The printable characters of Latin-1 stand for themselves, the other 68
  // bytes get U+0100 and on, in their order.
  if (byte <= 0x20)
    return 0x100 + byte;
  if (byte < 0x7F)
    return byte;
  if (byte <= 0xA0)
    return 0x121 + (byte - 0x7F);
  return byte == 0xAD ? 0x143 : byte;
}

int sdc::text::characterByte(uint32_t c) {
  if ((c > 0x20 && c < 0x7F) || (c > 0xA0 && c <= 0xFF && c != 0xAD))
    return static_cast<int>(c);
  if (c >= 0x100 && c <= 0x120)
    return static_cast<int>(c - 0x100);
  if (c >= 0x121 && c <= 0x142)
    return static_cast<int>(c - 0x121 + 0x7F);
  return c == 0x143 ? 0xAD : -1;
}

bool sdc::text::appendNormalized(Scope &scope, Span text, Form form,
                                 Buffer<char> &out) {
  size_t ascii = 0;
  while (ascii < text.size && static_cast<signed char>(text.data[ascii]) >= 0)
    ++ascii;
  if (ascii == text.size)
    return out.append(text.data, text.size);

  int options = UTF8PROC_STABLE;
  bool compose = form == Form::Nfc || form == Form::Nfkc;
  options |= compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == Form::Nfkc || form == Form::Nfkd)
    options |= UTF8PROC_COMPAT;
  auto *bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data);
  auto option = static_cast<utf8proc_option_t>(options);
  // One character decomposes into 18 at most; ask first, then write.
  utf8proc_ssize_t need = utf8proc_decompose(
      bytes, static_cast<utf8proc_ssize_t>(text.size), nullptr, 0, option);
  Buffer<utf8proc_int32_t> characters(scope);
  if (need < 0)
    return scope.fail(SDC_TEXT_TOO_LONG, "the text is too long to normalise");
  if (!characters.resize(static_cast<size_t>(need) + 1))
    return false;
  utf8proc_ssize_t count =
      utf8proc_decompose(bytes, static_cast<utf8proc_ssize_t>(text.size),
                         characters.data(), need, option);
  if (count >= 0)
    count = utf8proc_normalize_utf32(characters.data(), count, option);
  if (count < 0)
    return scope.fail(SDC_TEXT_TOO_LONG, "the text is too long to normalise");
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    char utf8[4];
    if (!out.append(utf8, encodeCharacter(characters[i], utf8)))
      return false;
  }
  return true;
}

bool sdc::text::appendLower(Span text, Buffer<char> &out) {
  for (size_t at = 0; at < text.size;) {
    uint32_t c = decodeCharacter(text.data, at);
    char utf8[4];
    // The one character whose lower case is two.
    bool dotted = c == 0x130;
    uint32_t lower = dotted ? 'i' : static_cast<uint32_t>(utf8proc_tolower(c));
    if (!out.append(utf8, encodeCharacter(lower, utf8)) ||
        (dotted && !out.append("\xCC\x87", 2)))
      return false;
  }
  return true;
}

bool sdc::text::appendUpper(Span text, Buffer<char> &out) {
  for (size_t at = 0; at < text.size;) {
    uint32_t c = decodeCharacter(text.data, at);
    char utf8[4];
    bool sharp = c == 0xDF;
    uint32_t upper = sharp ? 'S' : static_cast<uint32_t>(utf8proc_toupper(c));
    if (!out.append(utf8, encodeCharacter(upper, utf8)) ||
        (sharp && !out.append("S", 1)))
      return false;
  }
  return true;
}
