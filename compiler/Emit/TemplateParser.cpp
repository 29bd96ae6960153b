// Statements of chat templates, and the tree that they are written to.
#include "compiler/Emit/TemplateParser.h"

#include "compiler/Emit/ChatTemplate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace sdc;

TemplateParser::TemplateParser(std::vector<TemplateToken> tokens,
                               StringRef name)
    : tokens(std::move(tokens)), name(name),
      tree(std::make_unique<fb::ChatTemplateT>()) {}

Error TemplateParser::fail(unsigned line, const Twine &what) const {
  return createStringError(name + ":" + Twine(line) + ": error: " + what);
}

Error TemplateParser::unexpected(const Twine &expected) const {
  static constexpr StringLiteral kinds[] = {
      "text",   "'{{'",   "'}}'",   "'{%'", "'%}'",   "",
      "string", "number", "number", "",     "the end"};
  StringRef kind = kinds[token().kind];
  std::string got = !kind.empty() ? kind.str() : "'" + token().text + "'";
  return fail(token().line, "expected " + expected + ", got " + got);
}

bool TemplateParser::take(StringRef operatorText) {
  if (!isOperator(operatorText))
    return false;
  advance();
  return true;
}

bool TemplateParser::takeName(StringRef name) {
  if (!isName(name))
    return false;
  advance();
  return true;
}

Error TemplateParser::expect(StringRef operatorText) {
  if (take(operatorText))
    return Error::success();
  return unexpected("'" + operatorText + "'");
}

Error TemplateParser::expectBlockEnd() {
  if (token().kind != TemplateToken::BlockEnd)
    return unexpected("'%}'");
  advance();
  return Error::success();
}

uint32_t TemplateParser::string(StringRef text) {
  auto [entry, isNew] =
      strings.try_emplace(text, static_cast<uint32_t>(tree->strings.size()));
  if (isNew)
    tree->strings.push_back(text.str());
  return entry->second;
}

uint32_t TemplateParser::list(ArrayRef<uint32_t> items) {
  auto index = static_cast<uint32_t>(tree->lists.size());
  tree->lists.push_back(static_cast<uint32_t>(items.size()));
  llvm::append_range(tree->lists, items);
  return index;
}

uint32_t TemplateParser::node(fb::NodeKind kind, unsigned line, uint32_t a,
                              uint32_t b, uint32_t c, uint32_t d, uint8_t op) {
  tree->nodes.emplace_back(kind, op, line, a, b, c, d);
  return static_cast<uint32_t>(tree->nodes.size() - 1);
}

TemplateParser::Node TemplateParser::parsePrint() {
  unsigned line = token().line;
  advance();
  Node value = parseTuple(/*withCondition=*/true);
  if (!value)
    return value;
  if (token().kind != TemplateToken::PrintEnd)
    return unexpected("'}}'");
  advance();
  return node(fb::NodeKind::Print, line, *value);
}

Error TemplateParser::parseTargets(Nodes &names) {
  bool parenthesis = take("(");
  do {
    if (!names.empty() && (isOperator("=") || isOperator(")")))
      break;
    if (token().kind != TemplateToken::Name)
      return unexpected("a name");
    names.push_back(string(token().text));
    assign(names.back());
    advance();
  } while (take(","));
  return parenthesis ? expect(")") : Error::success();
}

/// Behind 'for'.
TemplateParser::Node TemplateParser::parseFor() {
  unsigned line = token().line;
  Nodes names;
  if (Error error = parseTargets(names))
    return std::move(error);
  if (!takeName("in"))
    return unexpected("'in'");
  Node sequence = parseTuple(/*withCondition=*/false);
  if (!sequence)
    return sequence;
  uint32_t filter = none;
  if (takeName("if")) {
    Node condition = parseExpression();
    if (!condition)
      return condition;
    filter = *condition;
  }
  if (isName("recursive"))
    return fail(line, "recursive loops are not supported");
  if (Error error = expectBlockEnd())
    return std::move(error);
  ++loops;
  Node body = parseBody({"else", "endfor"});
  --loops;
  if (!body)
    return body;
  uint32_t otherwise = none;
  if (takeName("else")) {
    if (Error error = expectBlockEnd())
      return std::move(error);
    Node parsed = parseBody({"endfor"});
    if (!parsed)
      return parsed;
    otherwise = *parsed;
  }
  advance(); // endfor
  if (Error error = expectBlockEnd())
    return std::move(error);
  return node(fb::NodeKind::For, line, list(names), *sequence, filter,
              list({*body, otherwise}));
}

/// Behind 'if' or 'elif'.
TemplateParser::Node TemplateParser::parseIf() {
  Nesting nesting(*this);
  unsigned line = token().line;
  if (depth > deepest)
    return fail(line, "nested too deeply");
  Node condition = parseTuple(/*withCondition=*/false);
  if (!condition)
    return condition;
  if (Error error = expectBlockEnd())
    return std::move(error);
  Node body = parseBody({"elif", "else", "endif"});
  if (!body)
    return body;
  Nodes otherwise;
  if (takeName("elif")) {
    // The nested one consumes the endif.
    Node rest = parseIf();
    if (!rest)
      return rest;
    otherwise.push_back(*rest);
  } else {
    if (takeName("else")) {
      if (Error error = expectBlockEnd())
        return std::move(error);
      Node rest = parseBody({"endif"});
      if (!rest)
        return rest;
      otherwise.push_back(*rest);
    }
    advance(); // endif
    if (Error error = expectBlockEnd())
      return std::move(error);
  }
  return node(fb::NodeKind::If, line, *condition, list({*body}),
              list(otherwise));
}

/// Behind 'set'.
TemplateParser::Node TemplateParser::parseSet() {
  unsigned line = token().line;
  if (token().kind == TemplateToken::Name &&
      next().is(TemplateToken::Operator, ".")) {
    uint32_t object = string(token().text);
    advance();
    advance();
    if (token().kind != TemplateToken::Name)
      return unexpected("the name of an attribute");
    uint32_t attribute = string(token().text);
    advance();
    if (Error error = expect("="))
      return std::move(error);
    Node value = parseTuple(/*withCondition=*/true);
    if (!value)
      return value;
    if (Error error = expectBlockEnd())
      return std::move(error);
    return node(fb::NodeKind::SetAttr, line, object, attribute, *value);
  }
  Nodes names;
  if (Error error = parseTargets(names))
    return std::move(error);
  if (take("=")) {
    Node value = parseTuple(/*withCondition=*/true);
    if (!value)
      return value;
    if (Error error = expectBlockEnd())
      return std::move(error);
    return node(fb::NodeKind::Set, line, list(names), *value);
  }
  if (isOperator("|"))
    return fail(line, "filters of a set block are not supported");
  if (names.size() != 1)
    return unexpected("'='");
  if (Error error = expectBlockEnd())
    return std::move(error);
  Node body = parseBody({"endset"});
  if (!body)
    return body;
  advance();
  if (Error error = expectBlockEnd())
    return std::move(error);
  return node(fb::NodeKind::SetBlock, line, names[0], *body);
}

/// Behind 'macro'.
TemplateParser::Node TemplateParser::parseMacro() {
  unsigned line = token().line;
  if (token().kind != TemplateToken::Name)
    return unexpected("the name of a macro");
  uint32_t macro = string(token().text);
  assign(macro);
  advance();
  if (Error error = expect("("))
    return std::move(error);
  Nodes names, defaults;
  while (!isOperator(")")) {
    if (!names.empty())
      if (Error error = expect(","))
        return std::move(error);
    if (token().kind != TemplateToken::Name)
      return unexpected("the name of a parameter");
    names.push_back(string(token().text));
    assign(names.back());
    advance();
    if (!take("=")) {
      if (!defaults.empty() && defaults.back() != none)
        return fail(line, "a parameter without a default after one with it");
      defaults.push_back(none);
      continue;
    }
    Node value = parseExpression();
    if (!value)
      return value;
    defaults.push_back(*value);
  }
  advance();
  if (Error error = expectBlockEnd())
    return std::move(error);
  unsigned outer = std::exchange(loops, 0);
  Node body = parseBody({"endmacro"});
  loops = outer;
  if (!body)
    return body;
  advance();
  if (Error error = expectBlockEnd())
    return std::move(error);
  return node(fb::NodeKind::Macro, line, macro, list(names), list(defaults),
              *body);
}

/// Behind 'generation': marks what the assistant wrote, for training. A macro
/// to Jinja, so that what is set inside does not leave it.
TemplateParser::Node TemplateParser::parseGeneration() {
  unsigned line = token().line;
  if (Error error = expectBlockEnd())
    return std::move(error);
  unsigned outer = std::exchange(loops, 0);
  Node body = parseBody({"endgeneration"});
  loops = outer;
  if (!body)
    return body;
  advance();
  if (Error error = expectBlockEnd())
    return std::move(error);
  // '{' cannot be a name in the source.
  uint32_t hidden = string("{generation}");
  uint32_t set = node(fb::NodeKind::SetBlock, line, hidden, *body);
  uint32_t value = node(fb::NodeKind::Name, line, hidden);
  uint32_t print = node(fb::NodeKind::Print, line, value);
  return node(fb::NodeKind::Block, line, list({set, print}));
}

/// At the word of a block.
TemplateParser::Node TemplateParser::parseStatement() {
  Nesting nesting(*this);
  unsigned line = token().line;
  if (depth > deepest)
    return fail(line, "nested too deeply");
  if (token().kind != TemplateToken::Name)
    return unexpected("the name of a block");
  std::string word = token().text;
  advance();
  if (word == "for")
    return parseFor();
  if (word == "if")
    return parseIf();
  if (word == "set")
    return parseSet();
  if (word == "macro")
    return parseMacro();
  if (word == "generation")
    return parseGeneration();
  if (word == "break" || word == "continue") {
    if (loops == 0)
      return fail(line, "'" + word + "' outside a loop");
    if (Error error = expectBlockEnd())
      return std::move(error);
    return node(word == "break" ? fb::NodeKind::Break : fb::NodeKind::Continue,
                line);
  }
  if (StringRef(word).starts_with("end") || word == "else" || word == "elif")
    return fail(line, "unexpected {% " + word + " %}");
  return fail(line, "the block {% " + word + " %} is not supported");
}

TemplateParser::Node TemplateParser::parseBody(ArrayRef<StringRef> ends) {
  unsigned line = token().line;
  Nodes statements;
  while (true) {
    Node statement = none;
    switch (token().kind) {
    case TemplateToken::End:
      if (!ends.empty())
        return fail(line, "a block without {% " + ends.back() + " %}");
      return node(fb::NodeKind::Block, line, list(statements));
    case TemplateToken::Text:
      statement = node(fb::NodeKind::Text, token().line, string(token().text));
      advance();
      break;
    case TemplateToken::PrintBegin:
      statement = parsePrint();
      break;
    default: // BlockBegin
      advance();
      if (token().kind == TemplateToken::Name &&
          llvm::is_contained(ends, StringRef(token().text)))
        return node(fb::NodeKind::Block, line, list(statements));
      statement = parseStatement();
    }
    if (!statement)
      return statement;
    statements.push_back(*statement);
  }
}

Expected<std::unique_ptr<fb::ChatTemplateT>> TemplateParser::run() {
  Node root = parseBody({});
  if (!root)
    return root.takeError();
  for (const auto &[function, line] : called)
    if (!isAssigned(function))
      return fail(line, "the function '" + function + "' is not supported");
  tree->root = *root;
  return std::move(tree);
}

Expected<std::unique_ptr<fb::ChatTemplateT>>
sdc::compileChatTemplate(StringRef source, StringRef name) {
  auto tokens = lexTemplate(source, name);
  if (!tokens)
    return tokens.takeError();
  return TemplateParser(std::move(*tokens), name).run();
}
