// Truth, equality, order and dictionaries of template values.
#include "runtime/text/template/value.h"

using namespace sdc::text;

const char *sdc::text::kindName(Kind kind) {
  switch (kind) {
  case Kind::Undefined:
    return "undefined";
  case Kind::None:
    return "none";
  case Kind::Bool:
    return "boolean";
  case Kind::Int:
    return "integer";
  case Kind::Float:
    return "float";
  case Kind::String:
    return "string";
  case Kind::List:
    return "list";
  case Kind::Tuple:
    return "tuple";
  case Kind::Dict:
    return "mapping";
  case Kind::Namespace:
    return "namespace";
  case Kind::Macro:
    return "macro";
  case Kind::Loop:
    return "loop";
  case Kind::Function:
    return "function";
  }
  return "value";
}

bool sdc::text::isTrue(const Value &value) {
  switch (value.kind) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
    return value.boolean;
  case Kind::Int:
    return value.integer != 0;
  case Kind::Float:
    return value.number != 0;
  case Kind::String:
    return value.size != 0;
  case Kind::List:
  case Kind::Tuple:
    return value.list->count != 0;
  case Kind::Dict:
    return value.dict->count != 0;
  case Kind::Namespace:
  case Kind::Macro:
  case Kind::Loop:
  case Kind::Function:
    return true;
  }
  return false;
}

bool sdc::text::isEqual(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber()) {
    if (a.isInteger() && b.isInteger())
      return a.asInteger() == b.asInteger();
    return a.asNumber() == b.asNumber();
  }
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    return a.span() == b.span();
  case Kind::List:
  case Kind::Tuple:
    if (a.list->count != b.list->count)
      return false;
    for (size_t i = 0; i < a.list->count; ++i)
      if (!isEqual(a.list->items[i], b.list->items[i]))
        return false;
    return true;
  case Kind::Dict:
    if (a.dict->count != b.dict->count)
      return false;
    for (size_t i = 0; i < a.dict->count; ++i) {
      const Value *other = lookUp(*b.dict, a.dict->entries[i].key);
      if (!other || !isEqual(a.dict->entries[i].value, *other))
        return false;
    }
    return true;
  default:
    return a.dict == b.dict;
  }
}

bool sdc::text::compare(const Value &a, const Value &b, int &order) {
  if (a.isNumber() && b.isNumber()) {
    if (a.isInteger() && b.isInteger()) {
      int64_t x = a.asInteger(), y = b.asInteger();
      order = x < y ? -1 : x > y;
    } else {
      double x = a.asNumber(), y = b.asNumber();
      order = x < y ? -1 : x > y;
    }
    return true;
  }
  if (a.isString() && b.isString()) {
    size_t shared = a.size < b.size ? a.size : b.size;
    order = shared ? memcmp(a.chars, b.chars, shared) : 0;
    if (order == 0)
      order = a.size < b.size ? -1 : a.size > b.size;
    return true;
  }
  if (a.isSequence() && a.kind == b.kind) {
    for (size_t i = 0; i < a.list->count && i < b.list->count; ++i)
      if (!isEqual(a.list->items[i], b.list->items[i]))
        return compare(a.list->items[i], b.list->items[i], order);
    order = a.list->count < b.list->count ? -1 : a.list->count > b.list->count;
    return true;
  }
  return false;
}

Value *sdc::text::lookUp(const Dict &dict, const Value &key) {
  for (size_t i = 0; i < dict.count; ++i)
    if (isEqual(dict.entries[i].key, key))
      return &dict.entries[i].value;
  return nullptr;
}

bool sdc::text::insert(Arena &arena, Dict &dict, const Value &key,
                       const Value &value) {
  if (Value *there = lookUp(dict, key)) {
    *there = value;
    return true;
  }
  if (dict.count == dict.capacity) {
    size_t capacity = dict.capacity < 4 ? 4 : 2 * dict.capacity;
    auto *entries = arena.allocateArray<DictEntry>(capacity);
    if (!entries)
      return false;
    if (dict.count)
      memcpy(static_cast<void *>(entries), dict.entries,
             dict.count * sizeof(DictEntry));
    dict.entries = entries;
    dict.capacity = capacity;
  }
  dict.entries[dict.count++] = {key, value};
  return true;
}

size_t sdc::text::countCharacters(Span text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size; ++i)
    count += (static_cast<unsigned char>(text.data[i]) & 0xC0) != 0x80;
  return count;
}

size_t sdc::text::placeOfCharacter(Span text, size_t character) {
  size_t at = 0;
  for (; character != 0 && at < text.size; --character)
    at += characterSize(text.data[at]);
  return at;
}
