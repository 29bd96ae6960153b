// What the generated verifier cannot know of a template's tree: operands in
// range and of the right kind, children before their parents.
#include "runtime/text/model.h"

using namespace sdc;
using namespace sdc::text;
using fb::NodeKind;

namespace {

class TreeVerifier {
public:
  TreeVerifier(Scope &scope, const fb::ChatTemplate &tree)
      : scope(scope), tree(tree) {}

  bool verify();

private:
  bool verifyNode(uint32_t index);
  bool bad(const char *what, uint32_t index) {
    return scope.fail(SDC_TEXT_BAD_FILE, "chat template: %s node %u", what,
                      index);
  }
  static bool isStatement(NodeKind kind) { return kind <= NodeKind::Continue; }
  bool isNode(uint32_t operand, bool statement) const {
    return operand < current &&
           isStatement(tree.nodes()->Get(operand)->kind()) == statement;
  }
  bool expression(uint32_t operand) const { return isNode(operand, false); }
  bool maybeExpression(uint32_t operand) const {
    return operand == none || expression(operand);
  }
  bool statement(uint32_t operand) const { return isNode(operand, true); }
  bool name(uint32_t operand) const { return operand < tree.strings()->size(); }
  bool list(uint32_t operand, uint32_t &size) const {
    uint32_t total = tree.lists()->size();
    if (operand >= total)
      return false;
    size = tree.lists()->Get(operand);
    return size < total - operand;
  }
  template <typename Check> bool listOf(uint32_t operand, Check check) const {
    uint32_t size;
    if (!list(operand, size))
      return false;
    for (uint32_t i = 0; i < size; ++i)
      if (!check(tree.lists()->Get(operand + 1 + i), i))
        return false;
    return true;
  }
  bool expressions(uint32_t operand) const {
    return listOf(operand,
                  [&](uint32_t item, uint32_t) { return expression(item); });
  }
  bool statements(uint32_t operand) const {
    return listOf(operand,
                  [&](uint32_t item, uint32_t) { return statement(item); });
  }
  bool names(uint32_t operand) const {
    return listOf(operand, [&](uint32_t item, uint32_t) { return name(item); });
  }
  /// Arguments that may be absent: as many as a call can have.
  bool arguments(uint32_t operand) const {
    uint32_t size;
    return list(operand, size) && size <= 8 &&
           listOf(operand, [&](uint32_t item, uint32_t) {
             return maybeExpression(item);
           });
  }
  bool pairs(uint32_t operand, bool named) const {
    uint32_t size;
    return list(operand, size) && size % 2 == 0 &&
           listOf(operand, [&](uint32_t item, uint32_t i) {
             return i % 2 == 0 && named ? name(item) : expression(item);
           });
  }
  bool keywords(uint32_t operand) const {
    return operand == none || pairs(operand, true);
  }
  template <typename Enum> static bool isOp(uint32_t op, Enum) {
    return op <= static_cast<uint32_t>(Enum::MAX);
  }
  bool filter(const fb::Node &node) const;

  Scope &scope;
  const fb::ChatTemplate &tree;
  uint32_t current = 0;
};

} // namespace

bool TreeVerifier::filter(const fb::Node &node) const {
  if (!isOp(node.op(), fb::Filter()) || !expression(node.a()) ||
      !arguments(node.b()))
    return false;
  switch (static_cast<fb::Filter>(node.op())) {
  case fb::Filter::Map:
    // A filter of items that would map again has no end.
    return node.d() == none ||
           (isOp(node.d(), fb::Filter()) &&
            node.d() != static_cast<uint32_t>(fb::Filter::Map) &&
            node.d() != static_cast<uint32_t>(fb::Filter::Select) &&
            node.d() != static_cast<uint32_t>(fb::Filter::Selectattr) &&
            node.d() != static_cast<uint32_t>(fb::Filter::Reject) &&
            node.d() != static_cast<uint32_t>(fb::Filter::Rejectattr));
  case fb::Filter::Select:
  case fb::Filter::Selectattr:
  case fb::Filter::Reject:
  case fb::Filter::Rejectattr:
    return node.d() == none || isOp(node.d(), fb::Test());
  default:
    return true;
  }
}

bool TreeVerifier::verifyNode(uint32_t index) {
  const fb::Node &node = *tree.nodes()->Get(index);
  uint32_t a = node.a(), b = node.b(), c = node.c(), d = node.d(), size = 0;
  current = index;
  switch (node.kind()) {
  case NodeKind::Text:
  case NodeKind::String:
  case NodeKind::Name:
    return name(a);
  case NodeKind::Print:
  case NodeKind::Not:
  case NodeKind::Negate:
  case NodeKind::Plus:
    return expression(a);
  case NodeKind::If:
    return expression(a) && statements(b) && statements(c);
  case NodeKind::For:
    return names(a) && list(a, size) && size != 0 && expression(b) &&
           maybeExpression(c) && list(d, size) && size == 2 &&
           statement(tree.lists()->Get(d + 1)) &&
           (tree.lists()->Get(d + 2) == none ||
            statement(tree.lists()->Get(d + 2)));
  case NodeKind::Set:
    return names(a) && list(a, size) && size != 0 && expression(b);
  case NodeKind::SetAttr:
    return name(a) && name(b) && expression(c);
  case NodeKind::SetBlock:
    return name(a) && statement(b);
  case NodeKind::Macro: {
    uint32_t defaults;
    return name(a) && names(b) && list(b, size) && list(c, defaults) &&
           size == defaults &&
           listOf(c, [&](uint32_t item,
                         uint32_t) { return maybeExpression(item); }) &&
           statement(d);
  }
  case NodeKind::Block:
    return statements(a);
  case NodeKind::Break:
  case NodeKind::Continue:
  case NodeKind::None:
  case NodeKind::Bool:
  case NodeKind::Int:
  case NodeKind::Float:
    return true;
  case NodeKind::List:
  case NodeKind::Tuple:
    return expressions(a);
  case NodeKind::Dict:
    return pairs(a, false);
  case NodeKind::Attr:
    return expression(a) && name(b);
  case NodeKind::Item:
  case NodeKind::And:
  case NodeKind::Or:
    return expression(a) && expression(b);
  case NodeKind::Slice:
    return expression(a) && maybeExpression(b) && maybeExpression(c) &&
           maybeExpression(d);
  case NodeKind::Call:
    return expression(a) && expressions(b) && keywords(c);
  case NodeKind::Method:
    return isOp(node.op(), fb::Method()) && expression(a) && arguments(b);
  case NodeKind::Filter:
    return filter(node);
  case NodeKind::Test:
    return isOp(node.op(), fb::Test()) && expression(a) && arguments(b);
  case NodeKind::Function: {
    auto function = static_cast<fb::Function>(node.op());
    if (!isOp(node.op(), fb::Function()) || !keywords(c))
      return false;
    return function == fb::Function::LoopCycle ||
                   function == fb::Function::LoopChanged
               ? name(a) && expressions(b)
               : arguments(b);
  }
  case NodeKind::Binary:
    return isOp(node.op(), fb::Binary()) && expression(a) && expression(b);
  case NodeKind::Compare:
    return expression(a) && list(b, size) && size % 2 == 0 &&
           listOf(b, [&](uint32_t item, uint32_t i) {
             return i % 2 == 0 ? isOp(item, fb::Compare()) : expression(item);
           });
  case NodeKind::Choose:
    return expression(a) && expression(b) && maybeExpression(c);
  }
  return false;
}

bool TreeVerifier::verify() {
  uint32_t count = tree.nodes()->size();
  for (uint32_t i = 0; i < tree.strings()->size(); ++i) {
    const flatbuffers::String *string = tree.strings()->Get(i);
    if (!string || firstInvalid(spanOf(string)) != SIZE_MAX)
      return scope.fail(SDC_TEXT_BAD_FILE, "chat template: string %u", i);
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!verifyNode(i))
      return bad("malformed", i);
  if (count == 0 || tree.root() != count - 1 ||
      tree.nodes()->Get(tree.root())->kind() != NodeKind::Block)
    return bad("no block is the root, but", tree.root());
  return true;
}

bool sdc::text::verifyTemplate(Scope &scope, const fb::ChatTemplate &tree) {
  return TreeVerifier(scope, tree).verify();
}
