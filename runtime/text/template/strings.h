// Work on strings that filters and methods of the template language share.
#ifndef SDC_RUNTIME_TEXT_TEMPLATE_STRINGS_H
#define SDC_RUNTIME_TEXT_TEMPLATE_STRINGS_H

#include "runtime/text/unicode.h"

namespace sdc::text {

/// What Python's str.isspace says; U+001C to U+001F are spaces there.
bool isPythonSpace(uint32_t character);

/// Strips characters of `set` (null: white space) off the chosen ends.
Span strip(Span text, const Span *set, bool left, bool right);

/// Appends `text` with the first `most` places of `from` replaced; all of
/// them when `most` is negative.
bool appendReplaced(Span text, Span from, Span to, int64_t most,
                    Buffer<char> &out);

/// Appends `text` with the beginning of each word (of the first one only when
/// `capitalize`) in upper case and the rest in lower case.
bool appendTitle(Span text, bool capitalize, Buffer<char> &out);

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_TEMPLATE_STRINGS_H
