// Expressions of chat templates, with Jinja's precedence.
#include "compiler/Emit/TemplateNames.h"
#include "compiler/Emit/TemplateParser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cstring>

using namespace llvm;
using namespace sdc;

/// a, b: a tuple; one expression is itself.
TemplateParser::Node TemplateParser::parseTuple(bool withCondition,
                                                bool mayBeEmpty) {
  unsigned line = token().line;
  Nodes items;
  bool isTuple = false;
  while (true) {
    bool atEnd = token().kind == TemplateToken::PrintEnd ||
                 token().kind == TemplateToken::BlockEnd || isOperator(")");
    if (atEnd && (isTuple || mayBeEmpty))
      break;
    Node item = withCondition ? parseExpression() : parseOr();
    if (!item)
      return item;
    items.push_back(*item);
    if (!take(","))
      break;
    isTuple = true;
  }
  if (!isTuple && items.size() == 1)
    return items[0];
  return node(fb::NodeKind::Tuple, line, list(items));
}

TemplateParser::Node TemplateParser::parseExpression() {
  Nesting nesting(*this);
  if (depth > deepest)
    return fail(token().line, "nested too deeply");
  return parseCondition();
}

TemplateParser::Node TemplateParser::parseCondition() {
  Node value = parseOr();
  while (value && isName("if")) {
    unsigned line = token().line;
    advance();
    Node condition = parseOr();
    if (!condition)
      return condition;
    uint32_t otherwise = none;
    if (takeName("else")) {
      Node parsed = parseExpression();
      if (!parsed)
        return parsed;
      otherwise = *parsed;
    }
    value = node(fb::NodeKind::Choose, line, *condition, *value, otherwise);
  }
  return value;
}

TemplateParser::Node TemplateParser::parseOr() {
  Node left = parseAnd();
  while (left && isName("or")) {
    unsigned line = token().line;
    advance();
    Node right = parseAnd();
    if (!right)
      return right;
    left = node(fb::NodeKind::Or, line, *left, *right);
  }
  return left;
}

TemplateParser::Node TemplateParser::parseAnd() {
  Node left = parseNot();
  while (left && isName("and")) {
    unsigned line = token().line;
    advance();
    Node right = parseNot();
    if (!right)
      return right;
    left = node(fb::NodeKind::And, line, *left, *right);
  }
  return left;
}

TemplateParser::Node TemplateParser::parseNot() {
  if (!isName("not"))
    return parseCompare();
  Nesting nesting(*this);
  unsigned line = token().line;
  if (depth > deepest)
    return fail(line, "nested too deeply");
  advance();
  Node value = parseNot();
  if (!value)
    return value;
  return node(fb::NodeKind::Not, line, *value);
}

TemplateParser::Node TemplateParser::parseCompare() {
  unsigned line = token().line;
  Node left = parseBinary(0);
  if (!left)
    return left;
  Nodes pairs;
  while (true) {
    std::optional<fb::Compare> op;
    if (token().kind == TemplateToken::Operator)
      op = StringSwitch<std::optional<fb::Compare>>(token().text)
               .Case("==", fb::Compare::Eq)
               .Case("!=", fb::Compare::Ne)
               .Case("<", fb::Compare::Lt)
               .Case("<=", fb::Compare::Le)
               .Case(">", fb::Compare::Gt)
               .Case(">=", fb::Compare::Ge)
               .Default(std::nullopt);
    else if (isName("in"))
      op = fb::Compare::In;
    else if (isName("not") && next().is(TemplateToken::Name, "in"))
      op = fb::Compare::NotIn;
    if (!op)
      break;
    if (*op == fb::Compare::NotIn)
      advance();
    advance();
    Node right = parseBinary(0);
    if (!right)
      return right;
    pairs.push_back(static_cast<uint32_t>(*op));
    pairs.push_back(*right);
  }
  if (pairs.empty())
    return left;
  return node(fb::NodeKind::Compare, line, *left, list(pairs));
}

/// From the weakest: + and -; ~; * / // %; **.
TemplateParser::Node TemplateParser::parseBinary(unsigned level) {
  static constexpr struct {
    unsigned level;
    StringLiteral text;
    fb::Binary op;
  } operators[] = {{0, "+", fb::Binary::Add},       {0, "-", fb::Binary::Sub},
                   {1, "~", fb::Binary::Concat},    {2, "*", fb::Binary::Mul},
                   {2, "/", fb::Binary::Div},       {2, "%", fb::Binary::Mod},
                   {2, "//", fb::Binary::FloorDiv}, {3, "**", fb::Binary::Pow}};
  if (level == 4)
    return parseUnary();
  Node left = parseBinary(level + 1);
  while (left) {
    const auto *found = llvm::find_if(operators, [&](const auto &candidate) {
      return candidate.level == level && isOperator(candidate.text);
    });
    if (found == std::end(operators))
      break;
    unsigned line = token().line;
    advance();
    Node right = parseBinary(level + 1);
    if (!right)
      return right;
    left = node(fb::NodeKind::Binary, line, *left, *right, none, none,
                static_cast<uint8_t>(found->op));
  }
  return left;
}

TemplateParser::Node TemplateParser::parseUnary(bool withFilter) {
  Nesting nesting(*this);
  unsigned line = token().line;
  if (depth > deepest)
    return fail(line, "nested too deeply");
  Node value = none;
  if (isOperator("-") || isOperator("+")) {
    auto kind = isOperator("-") ? fb::NodeKind::Negate : fb::NodeKind::Plus;
    advance();
    Node operand = parseUnary(/*withFilter=*/false);
    if (!operand)
      return operand;
    value = node(kind, line, *operand);
  } else {
    value = parsePrimary();
  }
  if (!value)
    return value;
  value = parsePostfix(*value);
  return value && withFilter ? parseFilters(*value) : std::move(value);
}

TemplateParser::Node TemplateParser::parseList() {
  unsigned line = token().line;
  Nodes items;
  while (!isOperator("]")) {
    if (!items.empty()) {
      if (Error error = expect(","))
        return std::move(error);
      if (isOperator("]"))
        break;
    }
    Node item = parseExpression();
    if (!item)
      return item;
    items.push_back(*item);
  }
  advance();
  return node(fb::NodeKind::List, line, list(items));
}

TemplateParser::Node TemplateParser::parseDict() {
  unsigned line = token().line;
  Nodes items;
  while (!isOperator("}")) {
    if (!items.empty()) {
      if (Error error = expect(","))
        return std::move(error);
      if (isOperator("}"))
        break;
    }
    Node key = parseExpression();
    if (!key)
      return key;
    if (Error error = expect(":"))
      return std::move(error);
    Node value = parseExpression();
    if (!value)
      return value;
    items.push_back(*key);
    items.push_back(*value);
  }
  advance();
  return node(fb::NodeKind::Dict, line, list(items));
}

TemplateParser::Node TemplateParser::parsePrimary() {
  unsigned line = token().line;
  std::string text = token().text;
  switch (token().kind) {
  case TemplateToken::Name:
    advance();
    if (text == "true" || text == "True")
      return node(fb::NodeKind::Bool, line, 1);
    if (text == "false" || text == "False")
      return node(fb::NodeKind::Bool, line, 0);
    if (text == "none" || text == "None")
      return node(fb::NodeKind::None, line);
    return node(fb::NodeKind::Name, line, string(text));
  case TemplateToken::String: {
    // Neighbours are one string.
    std::string whole;
    for (; token().kind == TemplateToken::String; advance())
      whole += token().text;
    return node(fb::NodeKind::String, line, string(whole));
  }
  case TemplateToken::Integer: {
    int64_t value;
    if (StringRef(text).getAsInteger(10, value))
      return fail(line, "the number " + text + " is too large");
    advance();
    return node(fb::NodeKind::Int, line, static_cast<uint32_t>(value),
                static_cast<uint32_t>(uint64_t(value) >> 32));
  }
  case TemplateToken::Float: {
    double value;
    if (StringRef(text).getAsDouble(value))
      return fail(line, "the number " + text + " is not one");
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    advance();
    return node(fb::NodeKind::Float, line, static_cast<uint32_t>(bits),
                static_cast<uint32_t>(bits >> 32));
  }
  default:
    break;
  }
  if (take("(")) {
    Node value = parseTuple(/*withCondition=*/true, /*mayBeEmpty=*/true);
    if (!value)
      return value;
    if (Error error = expect(")"))
      return std::move(error);
    return value;
  }
  if (take("["))
    return parseList();
  if (take("{"))
    return parseDict();
  return unexpected("an expression");
}

/// From behind the '[' to behind the ']'.
TemplateParser::Node TemplateParser::parseSubscript(uint32_t object) {
  unsigned line = token().line;
  uint32_t parts[3] = {none, none, none};
  unsigned count = 0;
  bool isSlice = false;
  while (true) {
    if (take(":")) {
      isSlice = true;
      if (++count == 3)
        return unexpected("']'");
      continue;
    }
    if (isOperator("]"))
      break;
    if (parts[count] != none)
      return unexpected("']'");
    Node part = parseExpression();
    if (!part)
      return part;
    parts[count] = *part;
  }
  advance();
  if (isSlice)
    return node(fb::NodeKind::Slice, line, object, parts[0], parts[1],
                parts[2]);
  if (parts[0] == none)
    return fail(line, "an empty subscript");
  return node(fb::NodeKind::Item, line, object, parts[0]);
}

TemplateParser::Node TemplateParser::parsePostfix(uint32_t object) {
  while (true) {
    unsigned line = token().line;
    if (take("[")) {
      Node item = parseSubscript(object);
      if (!item)
        return item;
      object = *item;
    } else if (take("(")) {
      Node call = parseCall(object);
      if (!call)
        return call;
      object = *call;
    } else if (take(".")) {
      std::string attribute = token().text;
      if (token().kind == TemplateToken::Integer) {
        Node index = parsePrimary();
        if (!index)
          return index;
        object = node(fb::NodeKind::Item, line, object, *index);
        continue;
      }
      if (token().kind != TemplateToken::Name)
        return unexpected("the name of an attribute");
      advance();
      if (!isOperator("(")) {
        object = node(fb::NodeKind::Attr, line, object, string(attribute));
        continue;
      }
      advance();
      Arguments arguments;
      if (Error error = parseArguments(arguments))
        return std::move(error);
      const fb::Node &owner = tree->nodes[object];
      bool isLoop = owner.kind() == fb::NodeKind::Name &&
                    tree->strings[owner.a()] == "loop";
      if (isLoop && (attribute == "cycle" || attribute == "changed")) {
        auto op = attribute == "cycle" ? fb::Function::LoopCycle
                                       : fb::Function::LoopChanged;
        if (!arguments.named.empty())
          return fail(line, "named arguments of '" + attribute + "'");
        object = node(fb::NodeKind::Function, line, string("loop"),
                      list(arguments.positional), none, none,
                      static_cast<uint8_t>(op));
        continue;
      }
      const TemplateWord<fb::Method> *method = findMethod(attribute);
      if (!method)
        return fail(line, "the method '" + attribute + "' is not supported");
      Node placed = placeArguments(arguments, method->parameters,
                                   "method '" + attribute + "'", line);
      if (!placed)
        return placed;
      object = node(fb::NodeKind::Method, line, object, *placed, none, none,
                    static_cast<uint8_t>(method->op));
    } else {
      return object;
    }
  }
}

TemplateParser::Node TemplateParser::parseFilters(uint32_t object) {
  while (true) {
    Node next = object;
    if (take("|"))
      next = parseFilter(object);
    else if (isName("is"))
      next = parseTest(object);
    else if (take("("))
      next = parseCall(object);
    else
      return object;
    if (!next)
      return next;
    object = *next;
  }
}

Error TemplateParser::parseArguments(Arguments &arguments) {
  bool first = true;
  while (!isOperator(")")) {
    if (!first) {
      if (Error error = expect(","))
        return error;
      if (isOperator(")"))
        break;
    }
    first = false;
    if (isOperator("*") || isOperator("**"))
      return fail(token().line, "'*' before arguments is not supported");
    std::string parameter;
    if (token().kind == TemplateToken::Name &&
        next().is(TemplateToken::Operator, "=")) {
      parameter = token().text;
      advance();
      advance();
    } else if (!arguments.named.empty()) {
      return fail(token().line, "an argument without a name after named ones");
    }
    Node value = parseExpression();
    if (!value)
      return value.takeError();
    if (parameter.empty())
      arguments.positional.push_back(*value);
    else
      arguments.named.emplace_back(parameter, *value);
  }
  advance();
  return Error::success();
}

TemplateParser::Node TemplateParser::placeArguments(const Arguments &arguments,
                                                    StringRef parameters,
                                                    const Twine &what,
                                                    unsigned line) {
  SmallVector<StringRef, 4> names;
  parameters.split(names, ' ', -1, /*KeepEmpty=*/false);
  if (arguments.positional.size() > names.size())
    return fail(line, "the " + what + " takes " + Twine(names.size()) +
                          " arguments, got " +
                          Twine(arguments.positional.size()));
  Nodes placed(arguments.positional);
  placed.resize(names.size(), none);
  for (const auto &[parameter, value] : arguments.named) {
    auto *found = llvm::find(names, StringRef(parameter));
    if (found == names.end() || placed[found - names.begin()] != none)
      return fail(line,
                  "the " + what + " has no free parameter '" + parameter + "'");
    placed[found - names.begin()] = value;
  }
  while (!placed.empty() && placed.back() == none)
    placed.pop_back();
  return list(placed);
}

uint32_t TemplateParser::keywords(const Arguments &arguments) {
  Nodes pairs;
  for (const auto &[parameter, value] : arguments.named) {
    pairs.push_back(string(parameter));
    pairs.push_back(value);
  }
  return pairs.empty() ? none : list(pairs);
}

std::optional<StringRef> TemplateParser::constantString(uint32_t index) const {
  const fb::Node &value = tree->nodes[index];
  if (value.kind() != fb::NodeKind::String)
    return std::nullopt;
  return StringRef(tree->strings[value.a()]);
}

/// Behind the '(' of a call of a name.
TemplateParser::Node TemplateParser::parseCall(uint32_t callee) {
  fb::Node target = tree->nodes[callee];
  unsigned line = target.line();
  Arguments arguments;
  if (Error error = parseArguments(arguments))
    return std::move(error);
  if (target.kind() != fb::NodeKind::Name)
    return fail(line, "only functions, macros and methods can be called");
  std::string name = tree->strings[target.a()];
  const TemplateWord<fb::Function> *function = findFunction(name);
  if (!function || isAssigned(name)) {
    called.emplace_back(name, line);
    return node(fb::NodeKind::Call, line, callee, list(arguments.positional),
                keywords(arguments));
  }
  if (function->parameters == "*") {
    if (arguments.positional.size() > 1)
      return fail(line, "the function '" + name +
                            "' takes one mapping and named arguments");
    return node(fb::NodeKind::Function, line, none, list(arguments.positional),
                keywords(arguments), none, static_cast<uint8_t>(function->op));
  }
  Node placed = placeArguments(arguments, function->parameters,
                               "function '" + name + "'", line);
  if (!placed)
    return placed;
  return node(fb::NodeKind::Function, line, none, *placed, none, none,
              static_cast<uint8_t>(function->op));
}

/// map('filter', ...) or map(attribute='a', default=x).
TemplateParser::Node TemplateParser::mapFilter(uint32_t object,
                                               Arguments &arguments,
                                               unsigned line) {
  if (arguments.positional.empty()) {
    Node placed =
        placeArguments(arguments, "attribute default", "filter 'map'", line);
    if (!placed)
      return placed;
    if (tree->lists[*placed] == 0)
      return fail(line, "the filter 'map' wants a filter or an attribute");
    return node(fb::NodeKind::Filter, line, object, *placed, none, none,
                static_cast<uint8_t>(fb::Filter::Map));
  }
  std::optional<StringRef> inner = constantString(arguments.positional[0]);
  const TemplateWord<fb::Filter> *word = inner ? findFilter(*inner) : nullptr;
  if (!word || word->parameters == "*" || word->op == fb::Filter::Map)
    return fail(line, "the filter 'map' of " +
                          (inner ? "'" + *inner + "'" : Twine("a variable")) +
                          " is not supported");
  arguments.positional.erase(arguments.positional.begin());
  Node placed = placeArguments(arguments, word->parameters,
                               "filter '" + word->name + "'", line);
  if (!placed)
    return placed;
  return node(fb::NodeKind::Filter, line, object, *placed, none,
              static_cast<uint32_t>(word->op),
              static_cast<uint8_t>(fb::Filter::Map));
}

/// select('test', ...) and selectattr('a', 'test', ...), with reject.
TemplateParser::Node TemplateParser::selectFilter(fb::Filter filter,
                                                  uint32_t object,
                                                  Arguments &arguments,
                                                  unsigned line) {
  bool byAttribute =
      filter == fb::Filter::Selectattr || filter == fb::Filter::Rejectattr;
  Nodes items;
  Nodes &given = arguments.positional;
  if (byAttribute) {
    if (given.empty())
      return fail(line, "selectattr and rejectattr want an attribute");
    items.push_back(given[0]);
    given.erase(given.begin());
  }
  uint32_t test = none;
  if (!given.empty()) {
    std::optional<StringRef> inner = constantString(given[0]);
    const TemplateWord<fb::Test> *word = inner ? findTest(*inner) : nullptr;
    if (!word)
      return fail(line, "the test " +
                            (inner ? "'" + *inner + "'" : Twine("a variable")) +
                            " of a filter is not supported");
    given.erase(given.begin());
    Node placed = placeArguments(arguments, word->parameters,
                                 "test '" + word->name + "'", line);
    if (!placed)
      return placed;
    for (uint32_t i = 0; i < tree->lists[*placed]; ++i)
      items.push_back(tree->lists[*placed + 1 + i]);
    test = static_cast<uint32_t>(word->op);
  }
  return node(fb::NodeKind::Filter, line, object, list(items), none, test,
              static_cast<uint8_t>(filter));
}

/// Behind the '|'.
TemplateParser::Node TemplateParser::parseFilter(uint32_t object) {
  unsigned line = token().line;
  std::string filterName = token().text;
  if (token().kind != TemplateToken::Name)
    return unexpected("the name of a filter");
  advance();
  const TemplateWord<fb::Filter> *word = findFilter(filterName);
  if (!word)
    return fail(line, "the filter '" + filterName + "' is not supported");
  Arguments arguments;
  if (take("("))
    if (Error error = parseArguments(arguments))
      return std::move(error);
  if (word->op == fb::Filter::Map)
    return mapFilter(object, arguments, line);
  if (word->parameters == "*")
    return selectFilter(word->op, object, arguments, line);
  Node placed = placeArguments(arguments, word->parameters,
                               "filter '" + filterName + "'", line);
  if (!placed)
    return placed;
  return node(fb::NodeKind::Filter, line, object, *placed, none, none,
              static_cast<uint8_t>(word->op));
}

/// At the 'is'.
TemplateParser::Node TemplateParser::parseTest(uint32_t object) {
  advance();
  unsigned line = token().line;
  bool negated = takeName("not");
  std::string testName = token().text;
  if (token().kind != TemplateToken::Name)
    return unexpected("the name of a test");
  advance();
  const TemplateWord<fb::Test> *word = findTest(testName);
  if (!word)
    return fail(line, "the test '" + testName + "' is not supported");
  Arguments arguments;
  if (take("(")) {
    if (Error error = parseArguments(arguments))
      return std::move(error);
  } else if (!word->parameters.empty()) {
    // One argument may stand without parentheses.
    Node argument = parsePrimary();
    if (!argument)
      return argument;
    argument = parsePostfix(*argument);
    if (!argument)
      return argument;
    arguments.positional.push_back(*argument);
  }
  Node placed = placeArguments(arguments, word->parameters,
                               "test '" + testName + "'", line);
  if (!placed)
    return placed;
  uint32_t test = node(fb::NodeKind::Test, line, object, *placed, none, none,
                       static_cast<uint8_t>(word->op));
  return negated ? node(fb::NodeKind::Not, line, test) : test;
}
