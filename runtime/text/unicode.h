// UTF-8, and the few properties of characters that text handling needs.
#ifndef SDC_RUNTIME_TEXT_UNICODE_H
#define SDC_RUNTIME_TEXT_UNICODE_H

#include "runtime/text/memory.h"

namespace sdc::text {

/// Borrowed bytes.
struct Span {
  const char *data;
  size_t size;

  bool startsWith(Span prefix) const {
    return size >= prefix.size &&
           (prefix.size == 0 || memcmp(data, prefix.data, prefix.size) == 0);
  }
  bool endsWith(Span suffix) const {
    return size >= suffix.size &&
           (suffix.size == 0 ||
            memcmp(data + size - suffix.size, suffix.data, suffix.size) == 0);
  }
  bool operator==(Span other) const {
    return size == other.size && startsWith(other);
  }
  Span from(size_t begin) const { return {data + begin, size - begin}; }
  Span first(size_t n) const { return {data, n}; }
};

/// A Span of a string literal.
template <size_t N> constexpr Span spanOf(const char (&text)[N]) {
  return {text, N - 1};
}

/// The first place of `needle` at or after `from`, or SIZE_MAX.
size_t find(Span text, Span needle, size_t from);

/// Bytes of the character that `lead` begins, in valid UTF-8.
inline size_t characterSize(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The character at `at`, in valid UTF-8; moves `at` behind it.
uint32_t decodeCharacter(const char *data, size_t &at);

/// Where the character that ends before `at` begins, in valid UTF-8.
size_t characterBefore(const char *data, size_t at);

/// Writes a character and returns its bytes, at most 4.
size_t encodeCharacter(uint32_t character, char *out);

/// Reads one character of any bytes: its length, 0 when the bytes are only
/// the beginning of one, or minus the length of the ill-formed part that
/// U+FFFD stands for.
int scanCharacter(const char *data, size_t size);

/// The first byte that belongs to no character; SIZE_MAX when there is none.
size_t firstInvalid(Span text);

/// White_Space of Unicode.
bool isSpace(uint32_t character);

/// The printable character that byte-level BPE writes for a byte.
uint32_t byteCharacter(unsigned char byte);
/// Its inverse; -1 for other characters.
int characterByte(uint32_t character);

enum class Form { Nfc, Nfd, Nfkc, Nfkd };

/// Appends the normal form of `text`.
bool appendNormalized(Scope &scope, Span text, Form form, Buffer<char> &out);

/// Appends `text` with each character in lower (or upper) case.
bool appendLower(Span text, Buffer<char> &out);
bool appendUpper(Span text, Buffer<char> &out);

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_UNICODE_H
