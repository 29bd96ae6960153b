// Writes pairs of surrogate escapes as UTF-8 before LLVM parses the text.
#include "compiler/Emit/JsonText.h"

#include "compiler/Emit/CodePointSet.h"

using namespace llvm;
using namespace sdc;

/// The number of an escape \uNNNN at the front, or nothing.
static bool readEscape(StringRef text, uint32_t &unit) {
  return text.size() >= 6 && text.starts_with("\\u") &&
         !text.substr(2, 4).getAsInteger(16, unit);
}

Expected<json::Value> sdc::parseJson(StringRef text) {
  std::string joined;
  joined.reserve(text.size());
  for (StringRef rest = text; !rest.empty();) {
    size_t plain = std::min(rest.find('\\'), rest.size());
    joined += rest.take_front(plain);
    rest = rest.drop_front(plain);
    uint32_t high, low;
    if (readEscape(rest, high) && high >= 0xD800 && high < 0xDC00 &&
        readEscape(rest.drop_front(6), low) && low >= 0xDC00 && low < 0xE000) {
      appendUtf8(joined, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
      rest = rest.drop_front(12);
      continue;
    }
    // Any other escape, whole, so that its second backslash begins none.
    size_t size = std::min<size_t>(2, rest.size());
    joined += rest.take_front(size);
    rest = rest.drop_front(size);
  }
  return json::parse(joined);
}
