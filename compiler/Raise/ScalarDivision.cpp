// Division of integers: quotients and remainders of sums, by numbers and by
// sizes that depend on the past length.

#include "compiler/Raise/ScalarAlgebra.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace sdc;

namespace {
/// A sum cut into the terms whose coefficient is a multiple of a number, and
/// the others.
struct Cut {
  Expr multiples, rest;
};
} // namespace

static Cut cut(ExprContext &context, Expr a, int64_t divisor) {
  Cut result{context.integer(0), context.integer(0)};
  double d = static_cast<double>(divisor);
  auto addTo = [&](Expr &to, Expr term, double factor) {
    to = context.add(to, context.scale(term, factor));
  };
  if (a->getKind() != ExprKind::Sum) {
    result.rest = a;
    return result;
  }
  double whole = std::floor(a->getNumber() / d) * d;
  result.multiples = context.constant(whole, true);
  result.rest = context.constant(a->getNumber() - whole, true);
  for (auto [term, coefficient] :
       llvm::zip(a->getOperands(), a->getCoefficients()))
    addTo(std::fmod(coefficient, d) == 0 ? result.multiples : result.rest, term,
          coefficient);
  return result;
}

/// Whether 0 <= a < limit.
static bool isWithin(ExprContext &context, Expr a, int64_t limit) {
  return context.isKnownNonNegative(a) &&
         context.isKnownNegative(context.add(a, context.integer(-limit)));
}

/// A divisor g > 1 of `divisor` such that a = g x multiples + rest with
/// 0 <= rest < g, or 1.
static int64_t commonDivisor(ExprContext &context, Expr a, int64_t divisor) {
  if (a->getKind() != ExprKind::Sum)
    return 1;
  for (double coefficient : a->getCoefficients()) {
    int64_t g = std::gcd(static_cast<int64_t>(coefficient), divisor);
    if (g > 1 && g < divisor && isWithin(context, cut(context, a, g).rest, g))
      return g;
  }
  return 1;
}

Expr ExprContext::floorDiv(Expr a, int64_t divisor) {
  if (divisor == 1)
    return a;
  double d = static_cast<double>(divisor);
  if (a->isConstant())
    return constant(std::floor(a->number / d), true);
  if (a->kind == ExprKind::FloorDiv)
    return floorDiv(a->getOperand(0),
                    divisor * static_cast<int64_t>(a->number));
  auto [multiples, rest] = cut(*this, a, divisor);
  Expr quotient = scale(multiples, 1 / d);
  if (isWithin(*this, rest, divisor))
    return quotient;
  if (int64_t g = commonDivisor(*this, rest, divisor); g > 1)
    return add(quotient, floorDiv(scale(cut(*this, rest, g).multiples,
                                        1 / static_cast<double>(g)),
                                  divisor / g));
  ExprNode node;
  node.kind = ExprKind::FloorDiv;
  node.number = d;
  node.integer = true;
  node.operands = rest;
  return add(quotient, intern(node));
}

Expr ExprContext::mod(Expr a, int64_t divisor) {
  if (divisor == 1)
    return integer(0);
  double d = static_cast<double>(divisor);
  if (a->isConstant())
    return constant(a->number - d * std::floor(a->number / d), true);
  if (a->kind == ExprKind::Mod &&
      static_cast<int64_t>(a->number) % divisor == 0)
    return mod(a->getOperand(0), divisor);
  Expr rest = cut(*this, a, divisor).rest;
  if (isWithin(*this, rest, divisor))
    return rest;
  if (int64_t g = commonDivisor(*this, rest, divisor); g > 1) {
    Cut parts = cut(*this, rest, g);
    Expr high =
        mod(scale(parts.multiples, 1 / static_cast<double>(g)), divisor / g);
    return add(scale(high, static_cast<double>(g)), parts.rest);
  }
  ExprNode node;
  node.kind = ExprKind::Mod;
  node.number = d;
  node.integer = true;
  node.operands = rest;
  return intern(node);
}

/// `term` = P x the result; null if it is not a multiple of P.
static Expr withoutPast(ExprContext &context, Expr term) {
  if (term == context.past())
    return context.integer(1);
  if (term->getKind() != ExprKind::Product ||
      !llvm::is_contained(term->getOperands(), context.past()))
    return nullptr;
  Expr rest = context.integer(1);
  bool dropped = false;
  for (Expr factor : term->getOperands())
    if (factor == context.past() && !dropped)
      dropped = true;
    else
      rest = context.mul(rest, factor);
  return rest;
}

std::optional<std::pair<Expr, Expr>> ExprContext::divide(Expr a,
                                                         Affine divisor) {
  if (divisor.isConstant())
    return std::pair(floorDiv(a, divisor.base), mod(a, divisor.base));
  // The terms in P say how often a + b P is in the sum.
  Expr quotient = integer(0);
  auto slope = static_cast<double>(divisor.slope);
  if (a == past())
    quotient = scale(integer(1), 1 / slope);
  else if (a->kind == ExprKind::Product)
    quotient = withoutPast(*this, a) ? scale(withoutPast(*this, a), 1 / slope)
                                     : quotient;
  else if (a->kind == ExprKind::Sum)
    for (auto [term, coefficient] : llvm::zip(a->operands, a->coefficients))
      if (Expr rest = withoutPast(*this, term))
        quotient = add(quotient, scale(rest, coefficient / slope));
  if (!quotient->integer)
    return std::nullopt;
  Expr rest = sub(a, mul(quotient, affine(divisor)));
  // P may be part of the remainder: P = 0 (P + 1) + P.
  if (!isKnownNonNegative(rest)) {
    quotient = sub(quotient, integer(1));
    rest = add(rest, affine(divisor));
  }
  if (!isKnownNonNegative(rest) || !isKnownNegative(sub(rest, affine(divisor))))
    return std::nullopt;
  return std::pair(quotient, rest);
}
