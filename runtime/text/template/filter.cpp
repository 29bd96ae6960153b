// The filters of the template language.
#include "runtime/text/template/evaluator.h"
#include "runtime/text/template/strings.h"

#include <math.h>
#include <stdlib.h>

using namespace sdc;
using namespace sdc::text;

bool Evaluator::callFilter(const fb::Node &node, Value &out) {
  Value value, args[mostArguments];
  size_t count;
  return evaluate(node.a(), value) && arguments(node.b(), args, count) &&
         applyFilter(static_cast<fb::Filter>(node.op()), value, args, node,
                     out);
}

/// attribute='a.b.0': a path of names and numbers.
bool Evaluator::getPath(const Value &object, const Value &path, uint32_t line,
                        Value &out) {
  out = object;
  if (path.isInteger()) {
    int64_t i = path.asInteger();
    if (!object.isSequence() || i < 0 ||
        static_cast<size_t>(i) >= object.list->count)
      out = Value();
    else
      out = object.list->items[i];
    return true;
  }
  if (!path.isString())
    return failAt(line, "an attribute wants a name");
  Span rest = path.span();
  while (true) {
    size_t dot = find(rest, text::spanOf("."), 0);
    Span name = rest.first(dot == SIZE_MAX ? rest.size : dot);
    Value next;
    if (!getAttribute(out, name, line, next))
      return false;
    out = next;
    if (dot == SIZE_MAX)
      return true;
    rest = rest.from(dot + 1);
  }
}

bool Evaluator::filterMap(const List &items, const Value *args,
                          const fb::Node &node, Value &out) {
  Value list;
  if (!newList(items.count, list))
    return false;
  for (size_t i = 0; i < items.count; ++i) {
    Value &item = list.list->items[i];
    if (node.d() != text::none) {
      if (!applyFilter(static_cast<fb::Filter>(node.d()), items.items[i], args,
                       node, item))
        return false;
      continue;
    }
    if (!getPath(items.items[i], args[0], node.line(), item))
      return false;
    if (item.kind == Kind::Undefined)
      item = args[1];
  }
  out = list;
  return true;
}

bool Evaluator::filterSelect(fb::Filter filter, const List &items,
                             const Value *args, const fb::Node &node,
                             Value &out) {
  bool byAttribute =
      filter == fb::Filter::Selectattr || filter == fb::Filter::Rejectattr;
  bool wanted =
      filter == fb::Filter::Select || filter == fb::Filter::Selectattr;
  Value list;
  if (!newList(items.count, list))
    return false;
  size_t count = 0;
  for (size_t i = 0; i < items.count; ++i) {
    Value subject = items.items[i];
    if (byAttribute && !getPath(items.items[i], args[0], node.line(), subject))
      return false;
    bool holds = isTrue(subject);
    if (node.d() != text::none &&
        !applyTest(static_cast<fb::Test>(node.d()), subject,
                   args + (byAttribute ? 1 : 0), node.line(), holds))
      return false;
    if (holds == wanted)
      list.list->items[count++] = items.items[i];
  }
  list.list->count = count;
  out = list;
  return true;
}

/// What sorting and comparing look at.
static bool sortKey(Value &key, bool caseSensitive, Buffer<char> &lower) {
  if (caseSensitive || !key.isString())
    return true;
  lower.clear();
  if (!appendLower(key.span(), lower))
    return false;
  key = Value::of(Span{lower.data(), lower.size()});
  return true;
}

/// A stable sort by insertion: lists of a template are short.
bool Evaluator::sortItems(List &items, bool reverse, bool caseSensitive,
                          const Value &attribute, uint32_t line) {
  Value copy, keys;
  if (!newList(items.count, copy) || !newList(items.count, keys))
    return false;
  Buffer<char> lower(scope);
  for (size_t i = 0; i < items.count; ++i) {
    Value key = items.items[i];
    if (attribute.kind != Kind::Undefined &&
        !getPath(items.items[i], attribute, line, key))
      return false;
    if (!sortKey(key, caseSensitive, lower))
      return false;
    if (key.isString() && !keep(key.span(), key))
      return false;
    size_t place = i;
    while (place > 0) {
      int order;
      if (++steps > mostSteps)
        return failAt(line, "the template runs for too long");
      if (!compare(key, keys.list->items[place - 1], order))
        return failAt(line, "no order between the values to sort");
      if (reverse ? order <= 0 : order >= 0)
        break;
      keys.list->items[place] = keys.list->items[place - 1];
      copy.list->items[place] = copy.list->items[place - 1];
      --place;
    }
    keys.list->items[place] = key;
    copy.list->items[place] = items.items[i];
  }
  items = *copy.list;
  return true;
}

bool Evaluator::filterNumber(fb::Filter filter, const Value &value,
                             const Value *args, uint32_t line, Value &out) {
  switch (filter) {
  case fb::Filter::Abs:
    if (!value.isNumber())
      return failAt(line, "abs wants a number");
    out = value.isInteger()
              ? Value::of(value.asInteger() < 0 ? -value.asInteger()
                                                : value.asInteger())
              : Value::of(fabs(value.number));
    return true;
  case fb::Filter::Round: {
    if (!value.isNumber())
      return failAt(line, "round wants a number");
    int64_t precision = args[0].isInteger() ? args[0].asInteger() : 0;
    if (precision < -300 || precision > 300)
      return failAt(line, "round wants a smaller precision");
    Span method = args[1].isString() ? args[1].span() : text::spanOf("common");
    double scale = pow(10, static_cast<double>(precision));
    double scaled = value.asNumber() * scale;
    if (method == text::spanOf("ceil"))
      scaled = ceil(scaled);
    else if (method == text::spanOf("floor"))
      scaled = floor(scaled);
    else
      scaled = nearbyint(scaled); // halves to even
    out = Value::of(scaled / scale);
    return true;
  }
  case fb::Filter::Int:
  case fb::Filter::Float: {
    bool toInt = filter == fb::Filter::Int;
    if (value.isNumber()) {
      out = toInt ? (value.isInteger()
                         ? Value::of(value.asInteger())
                         : Value::of(static_cast<int64_t>(value.number)))
                  : Value::of(value.asNumber());
      return true;
    }
    out = args[0].kind != Kind::Undefined ? args[0]
          : toInt                         ? Value::of(int64_t(0))
                                          : Value::of(0.0);
    if (!value.isString())
      return true;
    Span digits = strip(value.span(), nullptr, true, true);
    Value kept;
    if (!keep(digits, kept))
      return false;
    Buffer<char> terminated(scope);
    if (!terminated.append(digits.data, digits.size) || !terminated.push('\0'))
      return false;
    char *end;
    double number = strtod(terminated.data(), &end);
    if (digits.size == 0 || *end != '\0')
      return true;
    out = Value::of(number);
    if (!toInt)
      return true;
    long long integer = strtoll(terminated.data(), &end, 10);
    out = Value::of(*end == '\0' ? static_cast<int64_t>(integer)
                                 : static_cast<int64_t>(number));
    return true;
  }
  default:
    return failAt(line, "no such filter");
  }
}

bool Evaluator::filterString(fb::Filter filter, const Value &value,
                             const Value *args, uint32_t line, Value &out) {
  Span text;
  if (!stringOf(value, text))
    return false;
  auto method = [&](fb::Method which) {
    return callStringMethod(which, text, args, line, out);
  };
  switch (filter) {
  case fb::Filter::String:
  case fb::Filter::Safe:
    out = Value::of(text);
    return true;
  case fb::Filter::Upper:
    return method(fb::Method::Upper);
  case fb::Filter::Lower:
    return method(fb::Method::Lower);
  case fb::Filter::Capitalize:
    return method(fb::Method::Capitalize);
  case fb::Filter::Trim:
    return method(fb::Method::Strip);
  case fb::Filter::Replace: {
    // Jinja takes what is no string by its text.
    Value strings[3] = {args[0], args[1], args[2]};
    for (int i = 0; i < 2; ++i) {
      Span part;
      if (!stringOf(args[i], part))
        return false;
      strings[i] = Value::of(part);
    }
    return callStringMethod(fb::Method::Replace, text, strings, line, out);
  }
  case fb::Filter::Title: {
    // Words begin after white space and -([{<, as Jinja has it.
    Buffer<char> result(scope);
    bool begins = true;
    for (size_t at = 0; at < text.size;) {
      size_t begin = at;
      uint32_t c = decodeCharacter(text.data, at);
      Span character = {text.data + begin, at - begin};
      if (begins ? !appendUpper(character, result)
                 : !appendLower(character, result))
        return false;
      begins = isSpace(c) || (c < 0x80 && c != 0 && strchr("-([{<", int(c)));
    }
    return keep(result, out);
  }
  case fb::Filter::Wordcount: {
    int64_t count = 0;
    bool inWord = false;
    for (size_t at = 0; at < text.size;) {
      bool isWord = !isSpace(decodeCharacter(text.data, at));
      count += isWord && !inWord;
      inWord = isWord;
    }
    out = Value::of(count);
    return true;
  }
  case fb::Filter::Indent: {
    int64_t width = args[0].isInteger() ? args[0].asInteger() : 4;
    if (width < 0 || width > 1000)
      return failAt(line, "indent wants a width of 0 to 1000");
    Buffer<char> result(scope), margin(scope);
    for (int64_t i = 0; !args[0].isString() && i < width; ++i)
      if (!margin.push(' '))
        return false;
    if (args[0].isString() && !margin.append(args[0].chars, args[0].size))
      return false;
    bool first = isTrue(args[1]), blank = isTrue(args[2]);
    for (size_t at = 0, number = 0; at <= text.size; ++number) {
      size_t end = find(text, text::spanOf("\n"), at);
      bool last = end == SIZE_MAX;
      end = last ? text.size : end;
      bool wanted = number == 0 ? first : blank || end != at;
      if ((wanted && !result.append(margin.data(), margin.size())) ||
          !result.append(text.data + at, end - at) ||
          (!last && !result.push('\n')))
        return false;
      at = end + 1;
    }
    return keep(result, out);
  }
  default:
    return failAt(line, "no such filter");
  }
}

bool Evaluator::filterList(fb::Filter filter, const Value &value,
                           const Value *args, const fb::Node &node,
                           Value &out) {
  uint32_t line = node.line();
  List items;
  if (!iterate(value, line, items))
    return false;
  auto give = [&](size_t count) {
    if (!newList(count, out))
      return false;
    for (size_t i = 0; i < count; ++i)
      out.list->items[i] = items.items[i];
    return true;
  };
  switch (filter) {
  case fb::Filter::List:
    return give(items.count);
  case fb::Filter::First:
    out = items.count ? items.items[0] : Value();
    return true;
  case fb::Filter::Last:
    out = items.count ? items.items[items.count - 1] : Value();
    return true;
  case fb::Filter::Reverse:
    if (!give(items.count))
      return false;
    for (size_t i = 0; i < items.count; ++i)
      out.list->items[i] = items.items[items.count - 1 - i];
    if (value.isString()) {
      Value nothing[mostArguments];
      nothing[0] = out;
      return callStringMethod(fb::Method::Join, {nullptr, 0}, nothing, line,
                              out);
    }
    return true;
  case fb::Filter::Join: {
    Buffer<char> text(scope);
    for (size_t i = 0; i < items.count; ++i) {
      Value item = items.items[i];
      if (args[1].kind != Kind::Undefined &&
          !getPath(items.items[i], args[1], line, item))
        return false;
      if ((i != 0 && !appendString(args[0], text)) || !appendString(item, text))
        return false;
    }
    return keep(text, out);
  }
  case fb::Filter::Map:
    return filterMap(items, args, node, out);
  case fb::Filter::Select:
  case fb::Filter::Selectattr:
  case fb::Filter::Reject:
  case fb::Filter::Rejectattr:
    return filterSelect(filter, items, args, node, out);
  case fb::Filter::Sort:
    return sortItems(items, isTrue(args[0]), isTrue(args[1]), args[2], line) &&
           give(items.count);
  case fb::Filter::Min:
  case fb::Filter::Max: {
    if (!sortItems(items, filter == fb::Filter::Max, isTrue(args[0]), args[1],
                   line))
      return false;
    out = items.count ? items.items[0] : Value();
    return true;
  }
  case fb::Filter::Sum: {
    out = args[1].kind == Kind::Undefined ? Value::of(int64_t(0)) : args[1];
    for (size_t i = 0; i < items.count; ++i) {
      Value item = items.items[i], sum;
      if (args[0].kind != Kind::Undefined && args[0].kind != Kind::None &&
          !getPath(items.items[i], args[0], line, item))
        return false;
      if (!arithmetic(fb::Binary::Add, out, item, line, sum))
        return false;
      out = sum;
    }
    return true;
  }
  case fb::Filter::Unique: {
    Value kept, keys;
    if (!newList(items.count, kept) || !newList(items.count, keys))
      return false;
    size_t count = 0;
    Buffer<char> lower(scope);
    for (size_t i = 0; i < items.count; ++i) {
      Value key = items.items[i];
      if ((args[1].kind != Kind::Undefined &&
           !getPath(items.items[i], args[1], line, key)) ||
          !sortKey(key, isTrue(args[0]), lower) ||
          (key.isString() && !keep(key.span(), key)))
        return false;
      bool seen = false;
      for (size_t j = 0; j < count && !seen; ++j)
        seen = isEqual(keys.list->items[j], key);
      if (seen)
        continue;
      keys.list->items[count] = key;
      kept.list->items[count++] = items.items[i];
    }
    kept.list->count = count;
    out = kept;
    return true;
  }
  default:
    return failAt(line, "no such filter");
  }
}

bool Evaluator::applyFilter(fb::Filter filter, const Value &value,
                            const Value *args, const fb::Node &node,
                            Value &out) {
  uint32_t line = node.line();
  const char *kind = kindName(value.kind);
  switch (filter) {
  case fb::Filter::Default: {
    bool missing =
        value.kind == Kind::Undefined || (isTrue(args[1]) && !isTrue(value));
    out = !missing                          ? value
          : args[0].kind == Kind::Undefined ? Value::of(text::spanOf(""))
                                            : args[0];
    return true;
  }
  case fb::Filter::Length:
    if (value.isString())
      out = Value::of(static_cast<int64_t>(countCharacters(value.span())));
    else if (value.isSequence())
      out = Value::of(static_cast<int64_t>(value.list->count));
    else if (value.kind == Kind::Dict)
      out = Value::of(static_cast<int64_t>(value.dict->count));
    else if (value.kind == Kind::Undefined)
      out = Value::of(int64_t(0));
    else
      return failAt(line, "no length of a value of type", {kind, strlen(kind)});
    return true;
  case fb::Filter::Items:
  case fb::Filter::Dictsort: {
    if (value.kind == Kind::Undefined && filter == fb::Filter::Items)
      return newList(0, out);
    if (value.kind != Kind::Dict)
      return failAt(line, "items and dictsort want a mapping, not a",
                    {kind, strlen(kind)});
    if (!callDictMethod(fb::Method::Items, value, args, line, out))
      return false;
    if (filter == fb::Filter::Items)
      return true;
    bool byValue =
        args[1].isString() && args[1].span() == text::spanOf("value");
    return sortItems(*out.list, isTrue(args[2]), isTrue(args[0]),
                     Value::of(static_cast<int64_t>(byValue)), line);
  }
  case fb::Filter::Tojson: {
    // Arguments: ensure_ascii, indent, separators, sort_keys.
    JsonStyle style;
    style.ensureAscii = isTrue(args[0]);
    if (args[1].isInteger())
      style.indent = args[1].asInteger();
    if (style.indent > 100)
      return failAt(line, "tojson wants an indent of at most 100");
    if (args[2].isSequence() && args[2].list->count == 2 &&
        args[2].list->items[0].isString() &&
        args[2].list->items[1].isString()) {
      style.itemSeparator = args[2].list->items[0].span();
      style.keySeparator = args[2].list->items[1].span();
    }
    style.sortKeys = isTrue(args[3]);
    Buffer<char> text(scope);
    if (!appendJson(value, style, 0, arena, text))
      return failAt(line, "no JSON for a value of type", {kind, strlen(kind)});
    return keep(text, out);
  }
  case fb::Filter::Abs:
  case fb::Filter::Round:
  case fb::Filter::Int:
  case fb::Filter::Float:
    return filterNumber(filter, value, args, line, out);
  case fb::Filter::String:
  case fb::Filter::Safe:
  case fb::Filter::Upper:
  case fb::Filter::Lower:
  case fb::Filter::Capitalize:
  case fb::Filter::Trim:
  case fb::Filter::Replace:
  case fb::Filter::Title:
  case fb::Filter::Wordcount:
  case fb::Filter::Indent:
    return filterString(filter, value, args, line, out);
  default:
    return filterList(filter, value, args, node, out);
  }
}
