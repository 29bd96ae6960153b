// Work on strings as Python's str does it.
#include "runtime/text/template/strings.h"

#include <utf8proc.h>

using namespace sdc::text;

static bool isInSet(Span character, Span set) {
  for (size_t at = 0; at < set.size;) {
    size_t size = characterSize(set.data[at]);
    if (character == Span{set.data + at, size})
      return true;
    at += size;
  }
  return false;
}

bool sdc::text::isPythonSpace(uint32_t c) {
  return isSpace(c) || (c >= 0x1C && c <= 0x1F);
}

Span sdc::text::strip(Span text, const Span *set, bool left, bool right) {
  auto leaves = [&](size_t begin, size_t end) {
    size_t at = begin;
    return set ? isInSet({text.data + begin, end - begin}, *set)
               : isPythonSpace(decodeCharacter(text.data, at));
  };
  while (left && text.size != 0) {
    size_t size = characterSize(text.data[0]);
    if (!leaves(0, size))
      break;
    text = text.from(size);
  }
  while (right && text.size != 0) {
    size_t before = characterBefore(text.data, text.size);
    if (!leaves(before, text.size))
      break;
    text.size = before;
  }
  return text;
}

bool sdc::text::appendReplaced(Span text, Span from, Span to, int64_t most,
                               Buffer<char> &out) {
  size_t done = 0;
  for (size_t at = 0; most != 0; --most) {
    // An empty pattern stands between all characters.
    at = find(text, from, at);
    if (at == SIZE_MAX)
      break;
    if (!out.append(text.data + done, at - done) ||
        !out.append(to.data, to.size))
      return false;
    done = at + from.size;
    at = done;
    if (from.size == 0) {
      if (at >= text.size) {
        done = at;
        break;
      }
      at += characterSize(text.data[at]);
    }
  }
  return out.append(text.data + done, text.size - done);
}

bool sdc::text::appendTitle(Span text, bool capitalize, Buffer<char> &out) {
  bool inWord = false;
  for (size_t at = 0; at < text.size;) {
    size_t begin = at;
    uint32_t c = decodeCharacter(text.data, at);
    Span character = {text.data + begin, at - begin};
    if (inWord ? !appendLower(character, out) : !appendUpper(character, out))
      return false;
    auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    inWord = capitalize || (category >= UTF8PROC_CATEGORY_LU &&
                            category <= UTF8PROC_CATEGORY_LT);
  }
  return true;
}
