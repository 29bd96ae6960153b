// Canonical conditions, and what is chosen by them.

#include "compiler/Raise/ScalarAlgebra.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace sdc;

bool ExprNode::isBoolean() const {
  switch (kind) {
  case ExprKind::NonNegative:
  case ExprKind::Zero:
  case ExprKind::And:
  case ExprKind::Or:
  case ExprKind::Not:
    return true;
  case ExprKind::Constant:
    return isConstant(0) || isConstant(1);
  case ExprKind::Call:
    return function == ScalarFunction::IsNaN;
  default:
    return false;
  }
}

Expr ExprContext::select(Expr condition, Expr ifTrue, Expr ifFalse) {
  if (condition->isConstant())
    return condition->number != 0 ? ifTrue : ifFalse;
  if (ifTrue == ifFalse)
    return ifTrue;
  if (condition->kind == ExprKind::Not)
    return select(condition->getOperand(0), ifFalse, ifTrue);
  // Of a comparison and its opposite, the one that begins with a plus.
  if (condition->kind == ExprKind::NonNegative) {
    Expr a = condition->getOperand(0);
    if (a->integer && a->kind == ExprKind::Sum && a->coefficients[0] < 0)
      return select(negate(condition), ifFalse, ifTrue);
  }
  // A guard of rows that are masked altogether: no row is.
  if (condition->kind == ExprKind::Call &&
      condition->function == ScalarFunction::IsNaN &&
      condition->getOperand(0) == ifFalse)
    return ifFalse;
  if (ifTrue->isConstant(1) && ifFalse->isConstant(0))
    return condition;
  if (ifTrue->isConstant(0) && ifFalse->isConstant(1))
    return negate(condition);
  // Nested selects between the same two values become one.
  if (ifTrue->kind == ExprKind::Select) {
    Expr inner = ifTrue->getOperand(0);
    if (ifTrue->getOperand(2) == ifFalse)
      return select(conjunction(condition, inner), ifTrue->getOperand(1),
                    ifFalse);
    if (ifTrue->getOperand(1) == ifFalse)
      return select(disjunction(negate(condition), inner), ifFalse,
                    ifTrue->getOperand(2));
  }
  if (ifFalse->kind == ExprKind::Select) {
    Expr inner = ifFalse->getOperand(0);
    if (ifFalse->getOperand(2) == ifTrue)
      return select(conjunction(negate(condition), inner),
                    ifFalse->getOperand(1), ifTrue);
    if (ifFalse->getOperand(1) == ifTrue)
      return select(disjunction(condition, inner), ifTrue,
                    ifFalse->getOperand(2));
  }
  Expr operands[] = {condition, ifTrue, ifFalse};
  ExprNode node;
  node.kind = ExprKind::Select;
  node.operands = operands;
  node.integer = ifTrue->integer && ifFalse->integer;
  return intern(node);
}

Expr ExprContext::nonNegative(Expr a) {
  if (a->isConstant())
    return boolean(a->number >= 0);
  if (isKnownNonNegative(a))
    return boolean(true);
  if (isKnownNegative(a))
    return boolean(false);
  if (Expr inside =
          intoSelect(a, [&](Expr branch) { return nonNegative(branch); }))
    return inside;
  if (a->integer && a->kind == ExprKind::Sum) {
    int64_t divisor = 0;
    for (double coefficient : a->coefficients)
      divisor = std::gcd(divisor, static_cast<int64_t>(coefficient));
    if (divisor > 1) {
      Expr terms = add(a, constant(-a->number, true));
      double d = static_cast<double>(divisor);
      a = add(scale(terms, 1 / d), constant(std::floor(a->number / d), true));
    }
  }
  ExprNode node;
  node.kind = ExprKind::NonNegative;
  node.integer = true;
  node.operands = a;
  return intern(node);
}

Expr ExprContext::isZero(Expr a) {
  if (a->isConstant())
    return boolean(a->number == 0);
  if (a->isBoolean())
    return negate(a);
  if (a->integer && (isKnownNegative(a) || isKnownNegative(scale(a, -1))))
    return boolean(false);
  if (Expr inside = intoSelect(a, [&](Expr branch) { return isZero(branch); }))
    return inside;
  if (a->kind == ExprKind::Sum && a->coefficients[0] < 0)
    a = scale(a, -1);
  ExprNode node;
  node.kind = ExprKind::Zero;
  node.integer = true;
  node.operands = a;
  return intern(node);
}

Expr ExprContext::negate(Expr condition) {
  switch (condition->kind) {
  case ExprKind::Constant:
    return boolean(condition->number == 0);
  case ExprKind::Not:
    return condition->getOperand(0);
  case ExprKind::NonNegative: {
    Expr a = condition->getOperand(0);
    if (a->integer)
      return nonNegative(sub(integer(-1), a));
    break;
  }
  case ExprKind::And:
  case ExprKind::Or: {
    bool isAnd = condition->kind == ExprKind::And;
    Expr result = boolean(!isAnd);
    for (Expr operand : condition->operands)
      result = isAnd ? disjunction(result, negate(operand))
                     : conjunction(result, negate(operand));
    return result;
  }
  case ExprKind::Select:
    return select(condition->getOperand(0), negate(condition->getOperand(1)),
                  negate(condition->getOperand(2)));
  default:
    break;
  }
  ExprNode node;
  node.kind = ExprKind::Not;
  node.integer = true;
  node.operands = condition;
  return intern(node);
}

Expr ExprContext::junction(ExprKind kind, Expr a, Expr b) {
  bool isAnd = kind == ExprKind::And;
  if (a->isConstant())
    return (a->number != 0) == isAnd ? b : boolean(!isAnd);
  if (b->isConstant())
    return (b->number != 0) == isAnd ? a : boolean(!isAnd);
  llvm::SmallVector<Expr> all;
  for (Expr side : {a, b})
    if (side->kind == kind)
      llvm::append_range(all, side->operands);
    else
      all.push_back(side);
  llvm::sort(all, [](Expr x, Expr y) { return x->id < y->id; });
  all.erase(std::unique(all.begin(), all.end()), all.end());

  // Of two inequalities of which one implies the other, one says it all.
  auto implies = [&](Expr x, Expr y) {
    return x->kind == ExprKind::NonNegative &&
           y->kind == ExprKind::NonNegative && x->getOperand(0)->integer &&
           y->getOperand(0)->integer &&
           isKnownNonNegative(sub(y->getOperand(0), x->getOperand(0)));
  };
  llvm::SmallVector<Expr> kept;
  for (Expr x : all) {
    bool redundant = llvm::any_of(all, [&](Expr y) {
      return x != y && (isAnd ? implies(y, x) : implies(x, y));
    });
    if (!redundant)
      kept.push_back(x);
    if (llvm::is_contained(all, negate(x)))
      return boolean(!isAnd);
  }
  if (kept.size() == 1)
    return kept.front();
  ExprNode node;
  node.kind = kind;
  node.integer = true;
  node.operands = kept;
  return intern(node);
}

Expr ExprContext::conjunction(Expr a, Expr b) {
  return junction(ExprKind::And, a, b);
}

Expr ExprContext::disjunction(Expr a, Expr b) {
  return junction(ExprKind::Or, a, b);
}
