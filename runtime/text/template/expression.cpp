// Expressions of a chat template: names, operators, attributes, slices, calls.
#include "runtime/text/template/evaluator.h"

#include <math.h>

using namespace sdc;
using namespace sdc::text;

static Span kindSpan(const Value &value) {
  const char *name = kindName(value.kind);
  return {name, strlen(name)};
}

bool Evaluator::lookUpName(uint32_t name, Value &out) {
  for (const Frame *at = frame; at; at = at->parent)
    for (const Variable *variable = at->variables; variable;
         variable = variable->next)
      if (variable->name == name) {
        out = variable->value;
        return true;
      }
  // Templates ask whether a function is there before they call it.
  static constexpr Span functions[] = {
      text::spanOf("range"), text::spanOf("namespace"), text::spanOf("dict"),
      text::spanOf("raise_exception"), text::spanOf("strftime_now")};
  out = Value();
  for (Span function : functions)
    if (string(name) == function)
      out = Value::of(Kind::Function);
  return true;
}

bool Evaluator::evaluateItems(const fb::Node &node, Value &out) {
  uint32_t count = listSize(node.a());
  Value list;
  if (!newList(count, list,
               node.kind() == fb::NodeKind::List ? Kind::List : Kind::Tuple))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!evaluate(listItem(node.a(), i), list.list->items[i]))
      return false;
  out = list;
  return true;
}

bool Evaluator::evaluateDict(const fb::Node &node, Value &out) {
  Value dict;
  if (!newDict(dict))
    return false;
  for (uint32_t i = 0, e = listSize(node.a()); i + 1 < e; i += 2) {
    Value key, value;
    if (!evaluate(listItem(node.a(), i), key) ||
        !evaluate(listItem(node.a(), i + 1), value) ||
        !insert(arena, *dict.dict, key, value))
      return false;
  }
  out = dict;
  return true;
}

bool Evaluator::concatenate(const Value &a, const Value &b, Value &out) {
  Buffer<char> text(scope);
  return appendString(a, text) && appendString(b, text) && keep(text, out);
}

bool Evaluator::repeat(const Value &value, int64_t times, uint32_t line,
                       Value &out) {
  if (times < 0)
    times = 0;
  size_t unit = value.isString() ? value.size : value.list->count;
  if (unit != 0 && static_cast<uint64_t>(times) > Arena::limit / 32 / unit)
    return failAt(line, "the result of '*' is too long");
  if (value.isString()) {
    Buffer<char> text(scope);
    for (int64_t i = 0; i < times && unit != 0; ++i)
      if (!text.append(value.chars, value.size))
        return false;
    return keep(text, out);
  }
  Value list;
  if (!newList(unit * static_cast<size_t>(unit ? times : 0), list, value.kind))
    return false;
  for (size_t i = 0; i < list.list->count; ++i)
    list.list->items[i] = value.list->items[i % unit];
  out = list;
  return true;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static bool integerArithmetic(fb::Binary op, int64_t a, int64_t b,
                              int64_t &out) {
  switch (op) {
  case fb::Binary::Add:
    return !__builtin_add_overflow(a, b, &out);
  case fb::Binary::Sub:
    return !__builtin_sub_overflow(a, b, &out);
  case fb::Binary::Mul:
    return !__builtin_mul_overflow(a, b, &out);
  case fb::Binary::FloorDiv:
    if (a == INT64_MIN && b == -1)
      return false;
    out = floorDivide(a, b);
    return true;
  case fb::Binary::Mod:
    out = b == -1 ? 0 : a - floorDivide(a, b) * b;
    return true;
  case fb::Binary::Pow:
    out = 1;
    for (int64_t i = 0; i < b; ++i) {
      if (__builtin_mul_overflow(out, a, &out))
        return false;
      if (out == 0 || (out == 1 && a == 1))
        break;
      if (a == -1) {
        out = b % 2 == 0 ? 1 : -1;
        break;
      }
    }
    return true;
  default:
    return false;
  }
}

bool Evaluator::arithmetic(fb::Binary op, const Value &a, const Value &b,
                           uint32_t line, Value &out) {
  if (op == fb::Binary::Concat)
    return concatenate(a, b, out);
  if (op == fb::Binary::Add && a.isString() && b.isString())
    return concatenate(a, b, out);
  if (op == fb::Binary::Add && a.isSequence() && a.kind == b.kind) {
    Value list;
    if (!newList(a.list->count + b.list->count, list, a.kind))
      return false;
    for (size_t i = 0; i < list.list->count; ++i)
      list.list->items[i] = i < a.list->count
                                ? a.list->items[i]
                                : b.list->items[i - a.list->count];
    out = list;
    return true;
  }
  if (op == fb::Binary::Mul && (a.isString() || a.isSequence()) &&
      b.isInteger())
    return repeat(a, b.asInteger(), line, out);
  if (op == fb::Binary::Mul && (b.isString() || b.isSequence()) &&
      a.isInteger())
    return repeat(b, a.asInteger(), line, out);
  if (!a.isNumber() || !b.isNumber())
    return failAt(line, "no arithmetic with a value of type",
                  kindSpan(a.isNumber() ? b : a));
  bool divides = op == fb::Binary::Div || op == fb::Binary::FloorDiv ||
                 op == fb::Binary::Mod;
  if (divides && b.asNumber() == 0)
    return failAt(line, "division by zero");
  bool integral = a.isInteger() && b.isInteger() && op != fb::Binary::Div &&
                  !(op == fb::Binary::Pow && b.asInteger() < 0);
  if (integral) {
    int64_t result;
    if (!integerArithmetic(op, a.asInteger(), b.asInteger(), result))
      return failAt(line, "an integer of more than 64 bits");
    out = Value::of(result);
    return true;
  }
  double x = a.asNumber(), y = b.asNumber();
  switch (op) {
  case fb::Binary::Add:
    out = Value::of(x + y);
    break;
  case fb::Binary::Sub:
    out = Value::of(x - y);
    break;
  case fb::Binary::Mul:
    out = Value::of(x * y);
    break;
  case fb::Binary::Div:
    out = Value::of(x / y);
    break;
  case fb::Binary::FloorDiv:
    out = Value::of(floor(x / y));
    break;
  case fb::Binary::Mod: {
    double rest = fmod(x, y);
    out = Value::of(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
    break;
  }
  case fb::Binary::Pow:
    out = Value::of(pow(x, y));
    break;
  default:
    break;
  }
  return true;
}

bool Evaluator::evaluateBinary(const fb::Node &node, Value &out) {
  Value a, b;
  return evaluate(node.a(), a) && evaluate(node.b(), b) &&
         arithmetic(static_cast<fb::Binary>(node.op()), a, b, node.line(), out);
}

bool Evaluator::contains(const Value &container, const Value &item,
                         uint32_t line, bool &out) {
  if (container.isString()) {
    if (!item.isString())
      return failAt(line, "'in' a string wants a string, not a value of type",
                    kindSpan(item));
    out = find(container.span(), item.span(), 0) != SIZE_MAX;
    return true;
  }
  if (container.kind == Kind::Dict) {
    out = lookUp(*container.dict, item) != nullptr;
    return true;
  }
  List items;
  if (!iterate(container, line, items))
    return false;
  out = false;
  for (size_t i = 0; i < items.count && !out; ++i)
    out = isEqual(items.items[i], item);
  return true;
}

bool Evaluator::evaluateCompare(const fb::Node &node, Value &out) {
  Value left;
  if (!evaluate(node.a(), left))
    return false;
  bool holds = true;
  // a < b < c: each pair in turn, until one does not hold.
  for (uint32_t i = 0, e = listSize(node.b()); holds && i + 1 < e; i += 2) {
    Value right;
    if (!evaluate(listItem(node.b(), i + 1), right))
      return false;
    auto op = static_cast<fb::Compare>(listItem(node.b(), i));
    int order = 0;
    switch (op) {
    case fb::Compare::Eq:
      holds = isEqual(left, right);
      break;
    case fb::Compare::Ne:
      holds = !isEqual(left, right);
      break;
    case fb::Compare::In:
    case fb::Compare::NotIn:
      if (!contains(right, left, node.line(), holds))
        return false;
      holds ^= op == fb::Compare::NotIn;
      break;
    default:
      if (!compare(left, right, order))
        return failAt(node.line(), "no order between values of types",
                      kindSpan(left.isNumber() ? right : left));
      holds = op == fb::Compare::Lt   ? order < 0
              : op == fb::Compare::Le ? order <= 0
              : op == fb::Compare::Gt ? order > 0
                                      : order >= 0;
    }
    left = right;
  }
  out = Value::of(holds);
  return true;
}

bool Evaluator::getLoopAttribute(const Loop &loop, Span name, Value &out) {
  auto number = [](size_t n) { return Value::of(static_cast<int64_t>(n)); };
  size_t index = loop.index, count = loop.items.count;
  if (name == text::spanOf("index"))
    out = number(index + 1);
  else if (name == text::spanOf("index0"))
    out = number(index);
  else if (name == text::spanOf("first"))
    out = Value::of(index == 0);
  else if (name == text::spanOf("last"))
    out = Value::of(index + 1 == count);
  else if (name == text::spanOf("length"))
    out = number(count);
  else if (name == text::spanOf("revindex"))
    out = number(count - index);
  else if (name == text::spanOf("revindex0"))
    out = number(count - index - 1);
  else if (name == text::spanOf("depth"))
    out = number(loop.depth);
  else if (name == text::spanOf("depth0"))
    out = number(loop.depth - 1);
  else if (name == text::spanOf("previtem"))
    out = index == 0 ? Value() : loop.items.items[index - 1];
  else if (name == text::spanOf("nextitem"))
    out = index + 1 == count ? Value() : loop.items.items[index + 1];
  else
    out = Value();
  return true;
}

bool Evaluator::getAttribute(const Value &object, Span name, uint32_t line,
                             Value &out) {
  switch (object.kind) {
  case Kind::Undefined:
    return failAt(line, "an undefined value has no", name);
  case Kind::Dict:
  case Kind::Namespace: {
    const Value *value = lookUp(*object.dict, Value::of(name));
    out = value ? *value : Value();
    return true;
  }
  case Kind::Loop:
    return getLoopAttribute(*object.loop, name, out);
  default:
    out = Value();
    return true;
  }
}

bool Evaluator::evaluateItem(const fb::Node &node, Value &out) {
  Value object, key;
  if (!evaluate(node.a(), object) || !evaluate(node.b(), key))
    return false;
  if (object.kind == Kind::Dict) {
    const Value *value = lookUp(*object.dict, key);
    out = value ? *value : Value();
    return true;
  }
  if (key.isInteger() && (object.isSequence() || object.isString())) {
    auto size =
        static_cast<int64_t>(object.isString() ? countCharacters(object.span())
                                               : object.list->count);
    int64_t index = key.asInteger();
    index += index < 0 ? size : 0;
    out = Value();
    if (index < 0 || index >= size)
      return true;
    if (!object.isString()) {
      out = object.list->items[index];
      return true;
    }
    size_t at = placeOfCharacter(object.span(), static_cast<size_t>(index));
    out = Value::of(Span{object.chars + at, characterSize(object.chars[at])});
    return true;
  }
  if (key.isString())
    return getAttribute(object, key.span(), node.line(), out);
  if (object.kind == Kind::Undefined)
    return failAt(node.line(), "an undefined value has no items");
  out = Value();
  return true;
}

/// As Python's slice.indices: where to begin, how to go on, how often.
bool Evaluator::sliceBounds(const fb::Node &node, int64_t size, int64_t &start,
                            int64_t &step, int64_t &count) {
  bool given[3] = {};
  int64_t values[3] = {};
  const uint32_t parts[3] = {node.b(), node.c(), node.d()};
  for (int i = 0; i < 3; ++i) {
    Value value;
    if (parts[i] == text::none)
      continue;
    if (!evaluate(parts[i], value))
      return false;
    if (value.kind == Kind::None)
      continue;
    if (!value.isInteger())
      return failAt(node.line(), "a slice wants integers, not a value of type",
                    kindSpan(value));
    given[i] = true;
    values[i] = value.asInteger();
  }
  step = given[2] ? values[2] : 1;
  if (step == 0)
    return failAt(node.line(), "the step of a slice is zero");
  if (step < -size - 1)
    step = -size - 1;
  if (step > size + 1)
    step = size + 1;
  int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  auto clamp = [&](bool isGiven, int64_t value, int64_t otherwise) {
    if (!isGiven)
      return otherwise;
    if (value < 0)
      value = value < -size ? lowest : value + size;
    return value < lowest ? lowest : value > highest ? highest : value;
  };
  start = clamp(given[0], values[0], step < 0 ? highest : lowest);
  int64_t stop = clamp(given[1], values[1], step < 0 ? lowest : highest);
  int64_t distance = step < 0 ? start - stop : stop - start;
  int64_t stride = step < 0 ? -step : step;
  count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  return true;
}

bool Evaluator::evaluateSlice(const fb::Node &node, Value &out) {
  Value object;
  if (!evaluate(node.a(), object))
    return false;
  if (object.kind == Kind::Undefined)
    return failAt(node.line(), "an undefined value has no slices");
  if (!object.isString() && !object.isSequence())
    return failAt(node.line(), "no slices of a value of type",
                  kindSpan(object));
  List items;
  if (!iterate(object, node.line(), items))
    return false;
  int64_t start, step, count;
  if (!sliceBounds(node, static_cast<int64_t>(items.count), start, step, count))
    return false;
  Buffer<char> text(scope);
  Value list;
  if (!newList(object.isString() ? 0 : count, list, object.kind))
    return false;
  for (int64_t i = 0; i < count; ++i) {
    const Value &item = items.items[start + i * step];
    if (!object.isString())
      list.list->items[i] = item;
    else if (!text.append(item.chars, item.size))
      return false;
  }
  if (object.isString())
    return keep(text, out);
  out = list;
  return true;
}

bool Evaluator::arguments(uint32_t list, Value *out, size_t &count) {
  count = list == text::none ? 0 : listSize(list);
  for (size_t i = 0; i < mostArguments; ++i)
    out[i] = Value();
  for (size_t i = 0; i < count; ++i) {
    uint32_t item = listItem(list, static_cast<uint32_t>(i));
    if (item != text::none && !evaluate(item, out[i]))
      return false;
  }
  return true;
}

/// Calls a macro: positional arguments, named ones, then defaults.
bool Evaluator::evaluateCall(const fb::Node &node, Value &out) {
  Value callee;
  if (!evaluate(node.a(), callee))
    return false;
  if (callee.kind != Kind::Macro)
    return failAt(node.line(), "cannot call a value of type", kindSpan(callee));
  const fb::Node &macro = *callee.macro->node;
  uint32_t parameters = listSize(macro.b()), given = listSize(node.b());
  if (given > parameters)
    return failAt(node.line(), "too many arguments for macro",
                  string(macro.a()));
  // Arguments belong to the caller's scope, defaults to the macro's.
  Frame *caller = frame;
  auto *inner = arena.allocateArray<Frame>(1);
  if (!inner)
    return false;
  *inner = {callee.macro->frame, nullptr};
  auto bind = [&](uint32_t name, const Value &value) {
    frame = inner;
    bool good = setVariable(name, value);
    frame = caller;
    return good;
  };
  for (uint32_t i = 0; i < given; ++i) {
    Value value;
    if (!evaluate(listItem(node.b(), i), value) ||
        !bind(listItem(macro.b(), i), value))
      return false;
  }
  for (uint32_t i = 0, e = node.c() == text::none ? 0 : listSize(node.c());
       i + 1 < e; i += 2) {
    uint32_t name = listItem(node.c(), i), place = given;
    while (place < parameters && listItem(macro.b(), place) != name)
      ++place;
    if (place == parameters)
      return failAt(node.line(), "the macro has no free parameter",
                    string(name));
    Value value;
    if (!evaluate(listItem(node.c(), i + 1), value) || !bind(name, value))
      return false;
  }
  frame = inner;
  bool good = true;
  for (uint32_t i = given; good && i < parameters; ++i) {
    if (findHere(listItem(macro.b(), i)))
      continue;
    Value value;
    uint32_t otherwise = listItem(macro.c(), i);
    good = (otherwise == text::none || evaluate(otherwise, value)) &&
           setVariable(listItem(macro.b(), i), value);
  }
  Buffer<char> text(scope);
  good = good && execute(macro.d(), text) != Flow::Failed;
  frame = caller;
  return good && keep(text, out);
}

bool Evaluator::evaluate(uint32_t index, Value &out) {
  const fb::Node &node = this->node(index);
  if (++steps > mostSteps)
    return failAt(node.line(), "the template runs for too long");
  if (depth >= deepest)
    return failAt(node.line(), "nested too deeply");
  ++depth;
  bool good = true;
  Value inner;
  switch (node.kind()) {
  case fb::NodeKind::None:
    out = Value::none();
    break;
  case fb::NodeKind::Bool:
    out = Value::of(node.a() != 0);
    break;
  case fb::NodeKind::Int:
    out = Value::of(static_cast<int64_t>(uint64_t(node.b()) << 32 | node.a()));
    break;
  case fb::NodeKind::Float: {
    uint64_t bits = uint64_t(node.b()) << 32 | node.a();
    double number;
    memcpy(&number, &bits, sizeof(number));
    out = Value::of(number);
    break;
  }
  case fb::NodeKind::String:
    out = Value::of(string(node.a()));
    break;
  case fb::NodeKind::Name:
    good = lookUpName(node.a(), out);
    break;
  case fb::NodeKind::List:
  case fb::NodeKind::Tuple:
    good = evaluateItems(node, out);
    break;
  case fb::NodeKind::Dict:
    good = evaluateDict(node, out);
    break;
  case fb::NodeKind::Attr:
    good = evaluate(node.a(), inner) &&
           getAttribute(inner, string(node.b()), node.line(), out);
    break;
  case fb::NodeKind::Item:
    good = evaluateItem(node, out);
    break;
  case fb::NodeKind::Slice:
    good = evaluateSlice(node, out);
    break;
  case fb::NodeKind::Call:
    good = evaluateCall(node, out);
    break;
  case fb::NodeKind::Method:
    good = callMethod(node, out);
    break;
  case fb::NodeKind::Filter:
    good = callFilter(node, out);
    break;
  case fb::NodeKind::Test:
    good = callTest(node, out);
    break;
  case fb::NodeKind::Function:
    good = callFunction(node, out);
    break;
  case fb::NodeKind::Not:
    good = evaluate(node.a(), inner);
    out = Value::of(!isTrue(inner));
    break;
  case fb::NodeKind::Negate:
  case fb::NodeKind::Plus: {
    auto op =
        node.kind() == fb::NodeKind::Negate ? fb::Binary::Sub : fb::Binary::Add;
    good = evaluate(node.a(), inner) &&
           arithmetic(op, Value::of(int64_t(0)), inner, node.line(), out);
    // 0 - 0.0 has lost its sign.
    if (good && inner.kind == Kind::Float && op == fb::Binary::Sub)
      out = Value::of(-inner.number);
    break;
  }
  case fb::NodeKind::And:
    good = evaluate(node.a(), out) && (!isTrue(out) || evaluate(node.b(), out));
    break;
  case fb::NodeKind::Or:
    good = evaluate(node.a(), out) && (isTrue(out) || evaluate(node.b(), out));
    break;
  case fb::NodeKind::Binary:
    good = evaluateBinary(node, out);
    break;
  case fb::NodeKind::Compare:
    good = evaluateCompare(node, out);
    break;
  case fb::NodeKind::Choose:
    good = evaluate(node.a(), inner);
    if (!good)
      break;
    if (isTrue(inner))
      good = evaluate(node.b(), out);
    else if (node.c() != text::none)
      good = evaluate(node.c(), out);
    else
      out = Value();
    break;
  default:
    good = failAt(node.line(), "a statement stands for an expression");
  }
  --depth;
  return good;
}
