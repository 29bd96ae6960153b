// Methods of strings, lists and mappings in the template language.
#include "runtime/text/template/evaluator.h"
#include "runtime/text/template/strings.h"

#include <utf8proc.h>

using namespace sdc;
using namespace sdc::text;

bool Evaluator::splitString(fb::Method method, Span text, const Value *args,
                            uint32_t line, Value &out) {
  Buffer<Value> parts(scope);
  bool lines = method == fb::Method::Splitlines;
  bool bySpace = !lines && !args[0].isString();
  int64_t most = !lines && args[1].isInteger() ? args[1].asInteger() : -1;
  if (!lines && args[0].isString() && args[0].size == 0)
    return failAt(line, "split by an empty string");
  auto push = [&](size_t begin, size_t end) {
    return parts.push(Value::of(Span{text.data + begin, end - begin}));
  };
  if (lines) {
    bool keepEnds = isTrue(args[0]);
    for (size_t at = 0; at < text.size;) {
      size_t end = at;
      while (end < text.size && text.data[end] != '\n' &&
             text.data[end] != '\r')
        ++end;
      size_t next = end;
      if (next < text.size)
        next += text.data[next] == '\r' && next + 1 < text.size &&
                        text.data[next + 1] == '\n'
                    ? 2
                    : 1;
      if (!push(at, keepEnds ? next : end))
        return false;
      at = next;
    }
  } else if (method == fb::Method::Rsplit) {
    // From the back; turned round below.
    size_t end = text.size;
    while (true) {
      Span rest = text.first(end);
      if (bySpace) {
        end = strip(rest, nullptr, false, true).size;
        if (end == 0)
          break;
      }
      size_t begin = SIZE_MAX, gap = 0;
      if (most != 0) {
        for (size_t at = end; at > 0 && begin == SIZE_MAX;) {
          size_t before = characterBefore(text.data, at), place = before;
          if (bySpace && isPythonSpace(decodeCharacter(text.data, place)))
            begin = at, gap = at - before;
          if (!bySpace && text.first(at).endsWith(args[0].span()))
            begin = at, gap = args[0].size;
          at = before;
        }
      }
      if (begin == SIZE_MAX) {
        if (!push(bySpace
                      ? end - strip(text.first(end), nullptr, true, false).size
                      : 0,
                  end))
          return false;
        break;
      }
      if (!push(begin, end))
        return false;
      end = begin - gap;
      --most;
    }
    for (size_t i = 0, j = parts.size(); i + 1 < j--; ++i) {
      Value value = parts[i];
      parts[i] = parts[j];
      parts[j] = value;
    }
  } else {
    size_t at = 0;
    while (true) {
      if (bySpace) {
        at = text.size - strip(text.from(at), nullptr, true, false).size;
        if (at == text.size)
          break;
      }
      size_t end = SIZE_MAX, gap = 0;
      if (most != 0 && !bySpace) {
        end = find(text, args[0].span(), at);
        gap = args[0].size;
      } else if (most != 0) {
        for (size_t i = at; i < text.size && end == SIZE_MAX;) {
          size_t place = i;
          if (isPythonSpace(decodeCharacter(text.data, place)))
            end = i, gap = place - i;
          i = place;
        }
      }
      if (end == SIZE_MAX) {
        if (!push(at, bySpace
                          ? at + strip(text.from(at), nullptr, false, true).size
                          : text.size))
          return false;
        break;
      }
      if (!push(at, end))
        return false;
      at = end + gap;
      --most;
    }
  }
  if (!newList(parts.size(), out))
    return false;
  for (size_t i = 0; i < parts.size(); ++i)
    out.list->items[i] = parts[i];
  return true;
}

/// Whether `text` is not empty and all its characters are of a kind.
static bool isAll(Span text, bool (*test)(uint32_t)) {
  for (size_t at = 0; at < text.size;)
    if (!test(decodeCharacter(text.data, at)))
      return false;
  return text.size != 0;
}

static utf8proc_category_t categoryOf(uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}
static bool isLetter(uint32_t c) {
  return categoryOf(c) >= UTF8PROC_CATEGORY_LU &&
         categoryOf(c) <= UTF8PROC_CATEGORY_LO;
}
static bool isDigit(uint32_t c) {
  return categoryOf(c) == UTF8PROC_CATEGORY_ND;
}
static bool isLetterOrNumber(uint32_t c) {
  return isLetter(c) || (categoryOf(c) >= UTF8PROC_CATEGORY_ND &&
                         categoryOf(c) <= UTF8PROC_CATEGORY_NO);
}

/// Whether `text` has cased characters and all are of one case.
static bool isCase(Span text, utf8proc_category_t wanted) {
  bool any = false;
  for (size_t at = 0; at < text.size;) {
    utf8proc_category_t category = categoryOf(decodeCharacter(text.data, at));
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT) {
      if (category != wanted)
        return false;
      any = true;
    }
  }
  return any;
}

/// startswith and endswith take a string or a tuple of them.
static bool isAnyOf(const Value &options, Span text, bool atStart, bool &out) {
  List one = {const_cast<Value *>(&options), 1};
  const List &list = options.isSequence() ? *options.list : one;
  out = false;
  for (size_t i = 0; i < list.count; ++i) {
    if (!list.items[i].isString())
      return false;
    Span option = list.items[i].span();
    out |= atStart ? text.startsWith(option) : text.endsWith(option);
  }
  return true;
}

bool Evaluator::callStringMethod(fb::Method method, Span text,
                                 const Value *args, uint32_t line, Value &out) {
  Buffer<char> result(scope);
  Span set = args[0].span();
  bool good = true;
  switch (method) {
  case fb::Method::Startswith:
  case fb::Method::Endswith: {
    bool found;
    if (!isAnyOf(args[0], text, method == fb::Method::Startswith, found))
      return failAt(line, "startswith and endswith want strings");
    out = Value::of(found);
    return true;
  }
  case fb::Method::Strip:
  case fb::Method::Lstrip:
  case fb::Method::Rstrip:
    out = Value::of(strip(text, args[0].isString() ? &set : nullptr,
                          method != fb::Method::Rstrip,
                          method != fb::Method::Lstrip));
    return true;
  case fb::Method::Split:
  case fb::Method::Rsplit:
  case fb::Method::Splitlines:
    return splitString(method, text, args, line, out);
  case fb::Method::Replace:
    if (!args[0].isString() || !args[1].isString())
      return failAt(line, "replace wants two strings");
    good =
        appendReplaced(text, args[0].span(), args[1].span(),
                       args[2].isInteger() ? args[2].asInteger() : -1, result);
    break;
  case fb::Method::Upper:
    good = appendUpper(text, result);
    break;
  case fb::Method::Lower:
    good = appendLower(text, result);
    break;
  case fb::Method::Title:
  case fb::Method::Capitalize:
    good = appendTitle(text, method == fb::Method::Capitalize, result);
    break;
  case fb::Method::Find:
  case fb::Method::Rfind:
  case fb::Method::Index:
  case fb::Method::Count: {
    if (!args[0].isString())
      return failAt(line, "a search in a string wants a string");
    size_t place = SIZE_MAX;
    int64_t count = 0;
    for (size_t at = find(text, set, 0); at != SIZE_MAX;
         at = find(text, set, at + (set.size ? set.size : 1))) {
      ++count;
      if (place == SIZE_MAX || method == fb::Method::Rfind)
        place = at;
    }
    if (method == fb::Method::Count)
      out = Value::of(set.size ? count : int64_t(countCharacters(text)) + 1);
    else if (place == SIZE_MAX && method == fb::Method::Index)
      return failAt(line, "there is no", set);
    else
      out = Value::of(place == SIZE_MAX
                          ? int64_t(-1)
                          : int64_t(countCharacters(text.first(place))));
    return true;
  }
  case fb::Method::Join: {
    List items;
    if (!iterate(args[0], line, items))
      return false;
    for (size_t i = 0; i < items.count; ++i) {
      if (!items.items[i].isString())
        return failAt(line, "join wants strings");
      if ((i != 0 && !result.append(text.data, text.size)) ||
          !result.append(items.items[i].chars, items.items[i].size))
        return false;
    }
    break;
  }
  case fb::Method::Isdigit:
    out = Value::of(isAll(text, isDigit));
    return true;
  case fb::Method::Isalpha:
    out = Value::of(isAll(text, isLetter));
    return true;
  case fb::Method::Isalnum:
    out = Value::of(isAll(text, isLetterOrNumber));
    return true;
  case fb::Method::Isspace:
    out = Value::of(isAll(text, isPythonSpace));
    return true;
  case fb::Method::Isupper:
    out = Value::of(isCase(text, UTF8PROC_CATEGORY_LU));
    return true;
  case fb::Method::Islower:
    out = Value::of(isCase(text, UTF8PROC_CATEGORY_LL));
    return true;
  case fb::Method::Removeprefix:
  case fb::Method::Removesuffix: {
    bool atStart = method == fb::Method::Removeprefix;
    if (!args[0].isString())
      return failAt(line, "removeprefix and removesuffix want a string");
    if (atStart && text.startsWith(set))
      text = text.from(set.size);
    else if (!atStart && text.endsWith(set))
      text.size -= set.size;
    out = Value::of(text);
    return true;
  }
  default:
    return failAt(line, "a string has no such method");
  }
  return good && keep(result, out);
}

bool Evaluator::callDictMethod(fb::Method method, const Value &dict,
                               const Value *args, uint32_t line, Value &out) {
  if (method == fb::Method::Get) {
    const Value *there = lookUp(*dict.dict, args[0]);
    out = there                             ? *there
          : args[1].kind == Kind::Undefined ? Value::none()
                                            : args[1];
    return true;
  }
  if (method != fb::Method::Items && method != fb::Method::Keys &&
      method != fb::Method::Values)
    return failAt(line, "a mapping has no such method");
  Value list;
  if (!newList(dict.dict->count, list))
    return false;
  for (size_t i = 0; i < dict.dict->count; ++i) {
    const DictEntry &entry = dict.dict->entries[i];
    Value &item = list.list->items[i];
    if (method == fb::Method::Keys) {
      item = entry.key;
    } else if (method == fb::Method::Values) {
      item = entry.value;
    } else {
      if (!newList(2, item, Kind::Tuple))
        return false;
      item.list->items[0] = entry.key;
      item.list->items[1] = entry.value;
    }
  }
  out = list;
  return true;
}

bool Evaluator::callMethod(const fb::Node &node, Value &out) {
  Value object, args[mostArguments];
  size_t count;
  if (!evaluate(node.a(), object) || !arguments(node.b(), args, count))
    return false;
  auto method = static_cast<fb::Method>(node.op());
  if (object.isString())
    return callStringMethod(method, object.span(), args, node.line(), out);
  if (object.kind == Kind::Dict)
    return callDictMethod(method, object, args, node.line(), out);
  if (object.isSequence() &&
      (method == fb::Method::Count || method == fb::Method::Index)) {
    int64_t found = 0;
    for (size_t i = 0; i < object.list->count; ++i)
      if (isEqual(object.list->items[i], args[0])) {
        if (method == fb::Method::Index) {
          out = Value::of(static_cast<int64_t>(i));
          return true;
        }
        ++found;
      }
    if (method == fb::Method::Index)
      return failAt(node.line(), "the value is not in the list");
    out = Value::of(found);
    return true;
  }
  const char *name = kindName(object.kind);
  return failAt(node.line(), "no such method of a value of type",
                {name, strlen(name)});
}
