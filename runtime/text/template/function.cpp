// Functions of the template language.
#include "runtime/text/template/evaluator.h"

#include <time.h>

using namespace sdc;
using namespace sdc::text;

bool Evaluator::callRange(const Value *args, uint32_t line, Value &out) {
  int64_t bounds[3] = {0, 0, 1};
  int given = 0;
  for (int i = 0; i < 3 && args[i].kind != Kind::Undefined; ++i, ++given) {
    if (!args[i].isInteger())
      return failAt(line, "range wants integers");
    bounds[i] = args[i].asInteger();
  }
  if (given == 1) {
    bounds[1] = bounds[0];
    bounds[0] = 0;
  }
  if (given == 0 || bounds[2] == 0)
    return failAt(line, "range without a bound, or with step 0");
  double span = static_cast<double>(bounds[1]) - static_cast<double>(bounds[0]);
  // As the sandbox of Jinja.
  if (span / static_cast<double>(bounds[2]) > 100000)
    return failAt(line, "range of more than 100000 numbers");
  size_t count = 0;
  for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];
       i += bounds[2])
    ++count;
  if (!newList(count, out))
    return false;
  for (size_t i = 0; i < count; ++i)
    out.list->items[i] =
        Value::of(bounds[0] + static_cast<int64_t>(i) * bounds[2]);
  return true;
}

bool Evaluator::callStrftime(const Value &format, uint32_t line, Value &out) {
  if (!format.isString())
    return failAt(line, "strftime_now wants a format");
  time_t seconds = now < 0 ? time(nullptr) : static_cast<time_t>(now);
  struct tm parts;
  if (!localtime_r(&seconds, &parts))
    return failAt(line, "no local time");
  // strftime wants a terminated format and gives 0 for an empty result.
  Buffer<char> pattern(scope), text(scope);
  if (!pattern.append(format.chars, format.size) || !pattern.append(" ", 2) ||
      !text.resize(256 + 32 * format.size))
    return false;
  size_t size = strftime(text.data(), text.size(), pattern.data(), &parts);
  if (size == 0)
    return failAt(line, "strftime_now cannot use the format", format.span());
  return keep(Span{text.data(), size - 1}, out);
}

bool Evaluator::callFunction(const fb::Node &node, Value &out) {
  auto function = static_cast<fb::Function>(node.op());
  Value args[mostArguments];
  size_t count;
  // The arguments of cycle are any number, and only one is needed.
  if (function == fb::Function::LoopCycle ||
      function == fb::Function::LoopChanged) {
    Value loop, list;
    if (!lookUpName(node.a(), loop))
      return false;
    if (loop.kind != Kind::Loop)
      return failAt(node.line(), "outside a loop there is no 'loop'");
    uint32_t given = listSize(node.b());
    if (function == fb::Function::LoopCycle) {
      if (given == 0)
        return failAt(node.line(), "cycle wants something to go through");
      auto turn = static_cast<uint32_t>(loop.loop->index % given);
      return evaluate(listItem(node.b(), turn), out);
    }
    if (!newList(given, list, Kind::Tuple))
      return false;
    for (uint32_t i = 0; i < given; ++i)
      if (!evaluate(listItem(node.b(), i), list.list->items[i]))
        return false;
    bool changed = !loop.loop->changed || !isEqual(*loop.loop->changed, list);
    if (changed && !loop.loop->changed &&
        !(loop.loop->changed = arena.allocateArray<Value>(1)))
      return false;
    if (changed)
      *loop.loop->changed = list;
    out = Value::of(changed);
    return true;
  }
  if (!arguments(node.b(), args, count))
    return false;
  switch (function) {
  case fb::Function::Range:
    return callRange(args, node.line(), out);
  case fb::Function::Namespace:
  case fb::Function::Dict: {
    bool isNamespace = function == fb::Function::Namespace;
    if (!newDict(out, isNamespace ? Kind::Namespace : Kind::Dict))
      return false;
    if (count != 0 && args[0].kind == Kind::Dict)
      for (size_t i = 0; i < args[0].dict->count; ++i)
        if (!insert(arena, *out.dict, args[0].dict->entries[i].key,
                    args[0].dict->entries[i].value))
          return false;
    for (uint32_t i = 0, e = node.c() == text::none ? 0 : listSize(node.c());
         i + 1 < e; i += 2) {
      Value value;
      if (!evaluate(listItem(node.c(), i + 1), value) ||
          !put(out, string(listItem(node.c(), i)), value))
        return false;
    }
    return true;
  }
  case fb::Function::RaiseException: {
    Span message;
    if (!stringOf(args[0], message))
      return false;
    return scope.fail(SDC_TEXT_TEMPLATE_ERROR,
                      "the chat template refuses: %.*s",
                      static_cast<int>(message.size > 200 ? 200 : message.size),
                      message.data);
  }
  case fb::Function::StrftimeNow:
    return callStrftime(args[0], node.line(), out);
  default:
    return false;
  }
}
