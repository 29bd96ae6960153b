// Statements of a chat template, scopes, and loops.
#include "runtime/text/template/evaluator.h"

using namespace sdc;
using namespace sdc::text;

Evaluator::Evaluator(Scope &scope, const fb::ChatTemplate &tree, int64_t now)
    : scope(scope), tree(tree), arena(scope), now(now) {
  for (uint32_t i = 0; i < tree.strings()->size(); ++i)
    if (string(i) == text::spanOf("loop"))
      loopName = i;
}

bool Evaluator::failAt(uint32_t line, const char *what) {
  return scope.fail(SDC_TEXT_TEMPLATE_ERROR, "chat template, line %u: %s", line,
                    what);
}

bool Evaluator::failAt(uint32_t line, const char *what, Span name) {
  return scope.fail(
      SDC_TEXT_TEMPLATE_ERROR, "chat template, line %u: %s '%.*s'", line, what,
      static_cast<int>(name.size > 80 ? 80 : name.size), name.data);
}

bool Evaluator::run(Buffer<char> &out) {
  return execute(tree.root(), out) != Flow::Failed;
}

bool Evaluator::define(Span name, const Value &value) {
  for (uint32_t i = 0; i < tree.strings()->size(); ++i)
    if (string(i) == name)
      return setVariable(i, value);
  return true;
}

bool Evaluator::newList(size_t count, Value &out, Kind kind) {
  auto *list = arena.allocateArray<List>(1);
  Value *items = arena.allocateArray<Value>(count);
  if (!list || !items)
    return false;
  for (size_t i = 0; i < count; ++i)
    items[i] = Value();
  *list = {items, count};
  out = Value::of(kind);
  out.list = list;
  return true;
}

bool Evaluator::newDict(Value &out, Kind kind) {
  auto *dict = arena.allocateArray<Dict>(1);
  if (!dict)
    return false;
  *dict = {nullptr, 0, 0};
  out = Value::of(kind);
  out.dict = dict;
  return true;
}

bool Evaluator::put(Value &dict, Span key, const Value &value) {
  return insert(arena, *dict.dict, Value::of(key), value);
}

bool Evaluator::keep(Span text, Value &out) {
  char *copy = arena.allocateArray<char>(text.size + 1);
  if (!copy)
    return false;
  if (text.size)
    memcpy(copy, text.data, text.size);
  out = Value::of(Span{copy, text.size});
  return true;
}

bool Evaluator::keep(const Buffer<char> &text, Value &out) {
  return keep(Span{text.data(), text.size()}, out);
}

bool Evaluator::stringOf(const Value &value, Span &out) {
  if (value.isString()) {
    out = value.span();
    return true;
  }
  Buffer<char> buffer(scope);
  Value kept;
  if (!appendString(value, buffer) || !keep(buffer, kept))
    return false;
  out = kept.span();
  return true;
}

Variable *Evaluator::findHere(uint32_t name) {
  for (Variable *variable = frame->variables; variable;
       variable = variable->next)
    if (variable->name == name)
      return variable;
  return nullptr;
}

bool Evaluator::setVariable(uint32_t name, const Value &value) {
  if (Variable *there = findHere(name)) {
    there->value = value;
    return true;
  }
  auto *variable = arena.allocateArray<Variable>(1);
  if (!variable)
    return false;
  variable->name = name;
  variable->value = value;
  variable->next = frame->variables;
  frame->variables = variable;
  return true;
}

bool Evaluator::iterate(const Value &value, uint32_t line, List &out) {
  switch (value.kind) {
  case Kind::List:
  case Kind::Tuple:
    out = *value.list;
    return true;
  case Kind::Undefined:
    out = {nullptr, 0};
    return true;
  case Kind::Dict: {
    Value keys;
    if (!newList(value.dict->count, keys))
      return false;
    for (size_t i = 0; i < value.dict->count; ++i)
      keys.list->items[i] = value.dict->entries[i].key;
    out = *keys.list;
    return true;
  }
  case Kind::String: {
    Value characters;
    if (!newList(countCharacters(value.span()), characters))
      return false;
    size_t at = 0;
    for (size_t i = 0; i < characters.list->count; ++i) {
      size_t size = characterSize(value.chars[at]);
      characters.list->items[i] = Value::of(Span{value.chars + at, size});
      at += size;
    }
    out = *characters.list;
    return true;
  }
  default:
    return failAt(line, "cannot iterate over a value of type",
                  {kindName(value.kind), strlen(kindName(value.kind))});
  }
}

bool Evaluator::bindTargets(uint32_t targets, const Value &value,
                            uint32_t line) {
  uint32_t count = listSize(targets);
  if (count == 1)
    return setVariable(listItem(targets, 0), value);
  List parts;
  if (!iterate(value, line, parts))
    return false;
  if (parts.count != count)
    return scope.fail(SDC_TEXT_TEMPLATE_ERROR,
                      "chat template, line %u: %zu values for %u names", line,
                      parts.count, count);
  for (uint32_t i = 0; i < count; ++i)
    if (!setVariable(listItem(targets, i), parts.items[i]))
      return false;
  return true;
}

/// Leaves the items for which the loop's own `if` holds.
bool Evaluator::filterItems(const fb::Node &node, List &items) {
  Value kept;
  if (!newList(items.count, kept))
    return false;
  size_t count = 0;
  for (size_t i = 0; i < items.count; ++i) {
    Frame round = {frame, nullptr};
    frame = &round;
    Value condition;
    bool good = bindTargets(node.a(), items.items[i], node.line()) &&
                evaluate(node.c(), condition);
    frame = round.parent;
    if (!good)
      return false;
    if (isTrue(condition))
      kept.list->items[count++] = items.items[i];
  }
  items = {kept.list->items, count};
  return true;
}

Evaluator::Flow Evaluator::executeFor(const fb::Node &node, Buffer<char> &out) {
  Value sequence;
  List items;
  if (!evaluate(node.b(), sequence) || !iterate(sequence, node.line(), items))
    return Flow::Failed;
  if (node.c() != text::none && !filterItems(node, items))
    return Flow::Failed;
  uint32_t body = listItem(node.d(), 0), otherwise = listItem(node.d(), 1);
  auto *loop = arena.allocateArray<Loop>(1);
  if (!loop)
    return Flow::Failed;
  *loop = {items, 0, ++loopDepth, nullptr};
  Value self = Value::of(Kind::Loop);
  self.loop = loop;
  Flow flow = Flow::Next;
  // To Jinja a loop has run when one round of it came to its end.
  bool hasRun = false;
  for (size_t i = 0; i < items.count; ++i) {
    loop->index = i;
    // Every round begins with the names of outside. A macro made in it may
    // outlive it, so its frame is of the arena.
    auto *round = arena.allocateArray<Frame>(1);
    if (!round) {
      flow = Flow::Failed;
      break;
    }
    *round = {frame, nullptr};
    frame = round;
    bool good = (loopName == text::none || setVariable(loopName, self)) &&
                bindTargets(node.a(), items.items[i], node.line());
    flow = good ? execute(body, out) : Flow::Failed;
    frame = round->parent;
    hasRun |= flow == Flow::Next;
    if (flow == Flow::Failed || flow == Flow::Break)
      break;
  }
  --loopDepth;
  if (flow == Flow::Failed)
    return flow;
  return hasRun || otherwise == text::none ? Flow::Next
                                           : execute(otherwise, out);
}

bool Evaluator::setAttribute(const fb::Node &node) {
  Value object, value;
  if (!evaluate(node.c(), value) || !lookUpName(node.a(), object))
    return false;
  if (object.kind != Kind::Namespace)
    return failAt(node.line(), "can only set attributes of a namespace, not of",
                  string(node.a()));
  return insert(arena, *object.dict, Value::of(string(node.b())), value);
}

Evaluator::Flow Evaluator::executeList(uint32_t list, Buffer<char> &out) {
  for (uint32_t i = 0, e = listSize(list); i < e; ++i) {
    Flow flow = execute(listItem(list, i), out);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Evaluator::Flow Evaluator::execute(uint32_t index, Buffer<char> &out) {
  const fb::Node &node = this->node(index);
  auto flowOf = [](bool good) { return good ? Flow::Next : Flow::Failed; };
  if (++steps > mostSteps)
    return flowOf(failAt(node.line(), "the template runs for too long"));
  if (out.size() > Arena::limit)
    return flowOf(failAt(node.line(), "the template writes too much"));
  if (depth >= deepest)
    return flowOf(failAt(node.line(), "nested too deeply"));
  ++depth;
  Flow flow = Flow::Next;
  switch (node.kind()) {
  case fb::NodeKind::Text: {
    Span literal = string(node.a());
    flow = flowOf(out.append(literal.data, literal.size));
    break;
  }
  case fb::NodeKind::Print: {
    Value value;
    flow = flowOf(evaluate(node.a(), value) && appendString(value, out));
    break;
  }
  case fb::NodeKind::If: {
    Value condition;
    if (!evaluate(node.a(), condition))
      flow = Flow::Failed;
    else
      flow = executeList(isTrue(condition) ? node.b() : node.c(), out);
    break;
  }
  case fb::NodeKind::For:
    flow = executeFor(node, out);
    break;
  case fb::NodeKind::Set: {
    Value value;
    flow = flowOf(evaluate(node.b(), value) &&
                  bindTargets(node.a(), value, node.line()));
    break;
  }
  case fb::NodeKind::SetAttr:
    flow = flowOf(setAttribute(node));
    break;
  case fb::NodeKind::SetBlock: {
    Buffer<char> text(scope);
    auto *inner = arena.allocateArray<Frame>(1);
    if (!inner) {
      flow = Flow::Failed;
      break;
    }
    *inner = {frame, nullptr};
    frame = inner;
    flow = execute(node.b(), text);
    frame = inner->parent;
    Value value;
    if (flow == Flow::Next)
      flow = flowOf(keep(text, value) && setVariable(node.a(), value));
    break;
  }
  case fb::NodeKind::Macro: {
    auto *macro = arena.allocateArray<Macro>(1);
    if (!macro) {
      flow = Flow::Failed;
      break;
    }
    *macro = {&node, frame};
    Value value = Value::of(Kind::Macro);
    value.macro = macro;
    flow = flowOf(setVariable(node.a(), value));
    break;
  }
  case fb::NodeKind::Block:
    flow = executeList(node.a(), out);
    break;
  case fb::NodeKind::Break:
    flow = Flow::Break;
    break;
  case fb::NodeKind::Continue:
    flow = Flow::Continue;
    break;
  default:
    flow = flowOf(failAt(node.line(), "an expression stands for a statement"));
    break;
  }
  --depth;
  return flow;
}

sdc_text_status sdc_text_apply_template(
    const sdc_text *text, const sdc_text_message *messages,
    size_t message_count, const sdc_text_template_options *options,
    char **out_text, size_t *out_size, sdc_text_error *out_error) {
  if (!text || (!messages && message_count != 0) || !out_text || !out_size)
    return SDC_TEXT_INVALID_ARGUMENT;
  Scope scope{text->memory, out_error};
  auto invalid = [&](const char *what, size_t i) {
    scope.fail(SDC_TEXT_INVALID_UTF8, "%s %zu is not UTF-8", what, i);
    return scope.status;
  };
  if (options && options->size < sizeof(*options)) {
    scope.fail(SDC_TEXT_INVALID_ARGUMENT, "options of %zu bytes, expected %zu",
               options->size, sizeof(*options));
    return scope.status;
  }
  const fb::ChatTemplate *tree = text->file->chat_template();
  if (!tree) {
    scope.fail(SDC_TEXT_NO_TEMPLATE, "the model has no chat template");
    return scope.status;
  }

  Evaluator evaluator(scope, *tree, options ? options->now : -1);
  Value list;
  bool good = evaluator.newList(message_count, list);
  for (size_t i = 0; good && i < message_count; ++i) {
    Span role = spanOf(messages[i].role), content = spanOf(messages[i].content);
    if (firstInvalid(role) != SIZE_MAX || firstInvalid(content) != SIZE_MAX)
      return invalid("message", i);
    Value &message = list.list->items[i];
    good = evaluator.newDict(message) &&
           evaluator.put(message, spanOf("role"), Value::of(role)) &&
           evaluator.put(message, spanOf("content"), Value::of(content));
  }
  good =
      good && evaluator.define(spanOf("messages"), list) &&
      evaluator.define(spanOf("add_generation_prompt"),
                       Value::of(options && options->add_generation_prompt)) &&
      evaluator.define(spanOf("tools"), Value::none()) &&
      evaluator.define(spanOf("documents"), Value::none());
  const struct {
    Span name;
    const flatbuffers::String *token;
  } tokens[] = {{spanOf("bos_token"), text->file->bos_token()},
                {spanOf("eos_token"), text->file->eos_token()},
                {spanOf("pad_token"), text->file->pad_token()},
                {spanOf("unk_token"), text->file->unk_token()}};
  for (const auto &token : tokens)
    if (token.token)
      good =
          good && evaluator.define(token.name, Value::of(spanOf(token.token)));
  for (size_t i = 0; good && options && i < options->variable_count; ++i) {
    const sdc_text_variable &variable = options->variables[i];
    Value value;
    switch (variable.kind) {
    case SDC_TEXT_VARIABLE_STRING:
      if (firstInvalid(spanOf(variable.string)) != SIZE_MAX)
        return invalid("variable", i);
      value = Value::of(spanOf(variable.string));
      break;
    case SDC_TEXT_VARIABLE_BOOL:
      value = Value::of(variable.integer != 0);
      break;
    case SDC_TEXT_VARIABLE_INT:
      value = Value::of(variable.integer);
      break;
    case SDC_TEXT_VARIABLE_NONE:
      value = Value::none();
      break;
    default:
      scope.fail(SDC_TEXT_INVALID_ARGUMENT, "variable %zu is of kind %d", i,
                 static_cast<int>(variable.kind));
      return scope.status;
    }
    good = evaluator.define(spanOf(variable.name), value);
  }
  Buffer<char> out(scope);
  if (!good || !evaluator.run(out) || !out.push('\0'))
    return scope.status;
  *out_size = out.size() - 1;
  *out_text = out.take();
  return SDC_TEXT_OK;
}
