// Values as text: str, repr and json.dumps of Python.
#include "runtime/text/template/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

using namespace sdc::text;

static bool appendInteger(int64_t value, Buffer<char> &out) {
  char text[24];
  int size =
      snprintf(text, sizeof(text), "%lld", static_cast<long long>(value));
  return out.append(text, static_cast<size_t>(size));
}

/// The shortest digits that read back as the same number, as Python has it.
static bool appendFloat(double value, bool json, Buffer<char> &out) {
  if (isnan(value))
    return json ? out.append("NaN", 3) : out.append("nan", 3);
  if (isinf(value)) {
    if (value < 0 && !out.push('-'))
      return false;
    return json ? out.append("Infinity", 8) : out.append("inf", 3);
  }
  char text[40];
  for (int precision = 0; precision < 17; ++precision) {
    snprintf(text, sizeof(text), "%.*e", precision, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  // text is [-]d[.ddd]e±xx; Python writes positional from 1e-4 to 1e16.
  const char *at = text;
  if (*at == '-') {
    if (!out.push('-'))
      return false;
    ++at;
  }
  char digits[24];
  int count = 0;
  for (; *at != 'e'; ++at)
    if (*at != '.')
      digits[count++] = *at;
  int exponent = atoi(at + 1);
  while (count > 1 && digits[count - 1] == '0')
    --count;
  if (exponent < -4 || exponent >= 16) {
    char tail[12];
    int size = snprintf(tail, sizeof(tail), "e%c%02d", exponent < 0 ? '-' : '+',
                        abs(exponent));
    return out.push(digits[0]) &&
           (count == 1 ||
            (out.push('.') && out.append(digits + 1, count - 1))) &&
           out.append(tail, static_cast<size_t>(size));
  }
  if (exponent < 0) {
    if (!out.append("0.", 2))
      return false;
    for (int i = -1; i > exponent; --i)
      if (!out.push('0'))
        return false;
    return out.append(digits, count);
  }
  for (int i = 0; i <= exponent; ++i)
    if (!out.push(i < count ? digits[i] : '0'))
      return false;
  if (!out.push('.'))
    return false;
  if (count <= exponent + 1)
    return out.push('0');
  return out.append(digits + exponent + 1, count - exponent - 1);
}

static bool appendHex(char letter, int width, uint32_t c, Buffer<char> &out) {
  char text[16];
  int size = snprintf(text, sizeof(text), "\\%c%0*x", letter, width, c);
  return out.append(text, static_cast<size_t>(size));
}

static bool isPrintable(uint32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_ZS:
    return c == ' ';
  default:
    return true;
  }
}

static bool appendStringRepr(Span text, Buffer<char> &out) {
  bool single = memchr(text.data, '\'', text.size) != nullptr;
  bool twice = memchr(text.data, '"', text.size) != nullptr;
  char quote = single && !twice ? '"' : '\'';
  if (!out.push(quote))
    return false;
  for (size_t at = 0; at < text.size;) {
    size_t begin = at;
    uint32_t c = decodeCharacter(text.data, at);
    bool good;
    if (c == static_cast<unsigned char>(quote) || c == '\\')
      good = out.push('\\') && out.push(static_cast<char>(c));
    else if (c == '\n')
      good = out.append("\\n", 2);
    else if (c == '\r')
      good = out.append("\\r", 2);
    else if (c == '\t')
      good = out.append("\\t", 2);
    else if (isPrintable(c))
      good = out.append(text.data + begin, at - begin);
    else
      good = c < 0x100     ? appendHex('x', 2, c, out)
             : c < 0x10000 ? appendHex('u', 4, c, out)
                           : appendHex('U', 8, c, out);
    if (!good)
      return false;
  }
  return out.push(quote);
}

static bool appendDictRepr(const Dict &dict, Buffer<char> &out) {
  if (!out.push('{'))
    return false;
  for (size_t i = 0; i < dict.count; ++i)
    if ((i != 0 && !out.append(", ", 2)) ||
        !appendRepr(dict.entries[i].key, out) || !out.append(": ", 2) ||
        !appendRepr(dict.entries[i].value, out))
      return false;
  return out.push('}');
}

bool sdc::text::appendRepr(const Value &value, Buffer<char> &out) {
  switch (value.kind) {
  case Kind::Undefined:
    return out.append("Undefined", 9);
  case Kind::None:
    return out.append("None", 4);
  case Kind::Bool:
    return value.boolean ? out.append("True", 4) : out.append("False", 5);
  case Kind::Int:
    return appendInteger(value.integer, out);
  case Kind::Float:
    return appendFloat(value.number, false, out);
  case Kind::String:
    return appendStringRepr(value.span(), out);
  case Kind::List:
  case Kind::Tuple: {
    bool list = value.kind == Kind::List;
    if (!out.push(list ? '[' : '('))
      return false;
    for (size_t i = 0; i < value.list->count; ++i)
      if ((i != 0 && !out.append(", ", 2)) ||
          !appendRepr(value.list->items[i], out))
        return false;
    if (!list && value.list->count == 1 && !out.push(','))
      return false;
    return out.push(list ? ']' : ')');
  }
  case Kind::Dict:
    return appendDictRepr(*value.dict, out);
  case Kind::Namespace:
    return out.append("<Namespace ", 11) && appendDictRepr(*value.dict, out) &&
           out.push('>');
  case Kind::Macro:
  case Kind::Loop:
  case Kind::Function:
    return out.push('<') &&
           out.append(kindName(value.kind), strlen(kindName(value.kind))) &&
           out.push('>');
  }
  return true;
}

bool sdc::text::appendString(const Value &value, Buffer<char> &out) {
  if (value.kind == Kind::Undefined)
    return true;
  if (value.isString())
    return out.append(value.chars, value.size);
  return appendRepr(value, out);
}

static bool appendJsonString(Span text, bool ascii, Buffer<char> &out) {
  if (!out.push('"'))
    return false;
  for (size_t at = 0; at < text.size;) {
    size_t begin = at;
    uint32_t c = decodeCharacter(text.data, at);
    bool good;
    if (c == '"' || c == '\\')
      good = out.push('\\') && out.push(static_cast<char>(c));
    else if (c == '\n')
      good = out.append("\\n", 2);
    else if (c == '\r')
      good = out.append("\\r", 2);
    else if (c == '\t')
      good = out.append("\\t", 2);
    else if (c == '\b')
      good = out.append("\\b", 2);
    else if (c == '\f')
      good = out.append("\\f", 2);
    else if (c < 0x20 || (ascii && c >= 0x7F && c < 0x10000))
      good = c == 0x7F ? out.push('\x7F') : appendHex('u', 4, c, out);
    else if (ascii && c >= 0x10000)
      good = appendHex('u', 4, 0xD800 + ((c - 0x10000) >> 10), out) &&
             appendHex('u', 4, 0xDC00 + ((c - 0x10000) & 0x3FF), out);
    else
      good = out.append(text.data + begin, at - begin);
    if (!good)
      return false;
  }
  return out.push('"');
}

static bool appendBreak(const JsonStyle &style, size_t depth,
                        Buffer<char> &out) {
  if (style.indent < 0)
    return true;
  if (!out.push('\n'))
    return false;
  for (size_t i = 0; i < depth * static_cast<size_t>(style.indent); ++i)
    if (!out.push(' '))
      return false;
  return true;
}

static bool appendItemSeparator(const JsonStyle &style, Buffer<char> &out) {
  if (style.itemSeparator.data)
    return out.append(style.itemSeparator.data, style.itemSeparator.size);
  return style.indent < 0 ? out.append(", ", 2) : out.push(',');
}

static bool appendJsonKey(const Value &key, const JsonStyle &style,
                          Buffer<char> &out) {
  switch (key.kind) {
  case Kind::String:
    return appendJsonString(key.span(), style.ensureAscii, out);
  case Kind::None:
    return out.append("\"null\"", 6);
  case Kind::Bool:
    return key.boolean ? out.append("\"true\"", 6) : out.append("\"false\"", 7);
  case Kind::Int:
    return out.push('"') && appendInteger(key.integer, out) && out.push('"');
  case Kind::Float:
    return out.push('"') && appendFloat(key.number, true, out) && out.push('"');
  default:
    return false;
  }
}

static bool appendJsonDict(const Dict &dict, const JsonStyle &style,
                           size_t depth, Arena &arena, Buffer<char> &out) {
  if (dict.count == 0)
    return out.append("{}", 2);
  auto *order = arena.allocateArray<size_t>(dict.count);
  if (!order)
    return false;
  for (size_t i = 0; i < dict.count; ++i) {
    size_t place = i;
    int relation = 0;
    for (; style.sortKeys && place > 0 &&
           compare(dict.entries[i].key, dict.entries[order[place - 1]].key,
                   relation) &&
           relation < 0;
         --place)
      order[place] = order[place - 1];
    order[place] = i;
  }
  if (!out.push('{'))
    return false;
  for (size_t i = 0; i < dict.count; ++i) {
    const DictEntry &entry = dict.entries[order[i]];
    Span separator =
        style.keySeparator.data ? style.keySeparator : spanOf(": ");
    if ((i != 0 && !appendItemSeparator(style, out)) ||
        !appendBreak(style, depth + 1, out) ||
        !appendJsonKey(entry.key, style, out) ||
        !out.append(separator.data, separator.size) ||
        !appendJson(entry.value, style, depth + 1, arena, out))
      return false;
  }
  return appendBreak(style, depth, out) && out.push('}');
}

bool sdc::text::appendJson(const Value &value, const JsonStyle &style,
                           size_t depth, Arena &arena, Buffer<char> &out) {
  if (depth > 200)
    return false;
  switch (value.kind) {
  case Kind::None:
    return out.append("null", 4);
  case Kind::Bool:
    return value.boolean ? out.append("true", 4) : out.append("false", 5);
  case Kind::Int:
    return appendInteger(value.integer, out);
  case Kind::Float:
    return appendFloat(value.number, true, out);
  case Kind::String:
    return appendJsonString(value.span(), style.ensureAscii, out);
  case Kind::List:
  case Kind::Tuple:
    if (value.list->count == 0)
      return out.append("[]", 2);
    if (!out.push('['))
      return false;
    for (size_t i = 0; i < value.list->count; ++i)
      if ((i != 0 && !appendItemSeparator(style, out)) ||
          !appendBreak(style, depth + 1, out) ||
          !appendJson(value.list->items[i], style, depth + 1, arena, out))
        return false;
    return appendBreak(style, depth, out) && out.push(']');
  case Kind::Dict:
    return appendJsonDict(*value.dict, style, depth, arena, out);
  default:
    return false;
  }
}
