// The values of a chat template, with the meaning that Python gives them.
// They live in the arena of one call.
#ifndef SDC_RUNTIME_TEXT_TEMPLATE_VALUE_H
#define SDC_RUNTIME_TEXT_TEMPLATE_VALUE_H

#include "runtime/text/model.h"

namespace sdc::text {

struct Value;
struct Frame;

enum class Kind : uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  Dict,
  Namespace,
  Macro,
  Loop,
  Function, // one of the built-in ones, named but not called
};

struct List {
  Value *items;
  size_t count;
};

struct DictEntry;
struct Dict {
  DictEntry *entries;
  size_t count;
  size_t capacity;
};

struct Macro {
  const fb::Node *node;
  Frame *frame;
};

struct Loop {
  List items;
  size_t index;
  size_t depth;
  Value *changed; // what loop.changed saw last; null before
};

struct Value {
  Kind kind = Kind::Undefined;
  union {
    bool boolean;
    int64_t integer;
    double number;
    const char *chars;
    List *list;
    Dict *dict;
    Macro *macro;
    Loop *loop;
  };
  size_t size = 0; // of a String

  Value() : integer(0) {}
  static Value none() { return of(Kind::None); }
  static Value of(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }
  static Value of(bool b) {
    Value value = of(Kind::Bool);
    value.boolean = b;
    return value;
  }
  static Value of(int64_t i) {
    Value value = of(Kind::Int);
    value.integer = i;
    return value;
  }
  static Value of(double d) {
    Value value = of(Kind::Float);
    value.number = d;
    return value;
  }
  static Value of(Span text) {
    Value value = of(Kind::String);
    value.chars = text.data;
    value.size = text.size;
    return value;
  }

  Span span() const { return {chars, size}; }
  bool isString() const { return kind == Kind::String; }
  bool isSequence() const { return kind == Kind::List || kind == Kind::Tuple; }
  bool isInteger() const { return kind == Kind::Int || kind == Kind::Bool; }
  bool isNumber() const { return isInteger() || kind == Kind::Float; }
  int64_t asInteger() const { return kind == Kind::Bool ? boolean : integer; }
  double asNumber() const {
    return kind == Kind::Float ? number : static_cast<double>(asInteger());
  }
};

struct DictEntry {
  Value key;
  Value value;
};

/// The type's name in messages.
const char *kindName(Kind kind);

bool isTrue(const Value &value);
bool isEqual(const Value &a, const Value &b);
/// Negative, zero or positive in `order`; false when there is no order.
bool compare(const Value &a, const Value &b, int &order);

/// The entry of a key, or null.
Value *lookUp(const Dict &dict, const Value &key);
bool insert(Arena &arena, Dict &dict, const Value &key, const Value &value);

/// Characters of valid UTF-8.
size_t countCharacters(Span text);
/// Byte place of a character.
size_t placeOfCharacter(Span text, size_t character);

/// Appends str(value), and repr(value).
bool appendString(const Value &value, Buffer<char> &out);
bool appendRepr(const Value &value, Buffer<char> &out);

/// As json.dumps with ensure_ascii off; indent < 0: on one line.
struct JsonStyle {
  int64_t indent = -1;
  bool ensureAscii = false;
  bool sortKeys = false;
  Span itemSeparator = {nullptr, 0}; // null: Python's default
  Span keySeparator = {nullptr, 0};
};
/// False with the scope untouched when a value has no JSON.
bool appendJson(const Value &value, const JsonStyle &style, size_t depth,
                Arena &arena, Buffer<char> &out);

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_TEMPLATE_VALUE_H
