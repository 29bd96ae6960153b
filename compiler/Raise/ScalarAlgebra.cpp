// Canonical scalar expressions: sums, products, division, functions. Conditions
// are in ScalarConditions.cpp, bounds in ScalarBounds.cpp.

#include "compiler/Raise/ScalarAlgebra.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace sdc;

static bool isIntegral(double value) {
  return std::floor(value) == value && std::abs(value) < 0x1p62;
}

ExprContext::ExprContext() {
  ExprNode node;
  node.kind = ExprKind::Variable;
  node.integer = true;
  node.id = nextId++;
  node.extent = Affine(-1, -1);
  pastLength = new (allocator) ExprNode(node);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

Expr ExprContext::intern(ExprNode node) {
  llvm::hash_code hash = llvm::hash_combine(
      node.kind, node.function, node.integer, bitsOf(node.number), node.root,
      llvm::hash_combine_range(node.operands.begin(), node.operands.end()));
  for (double coefficient : node.coefficients)
    hash = llvm::hash_combine(hash, bitsOf(coefficient));
  // Two values that a DenseMap keeps for itself are left out.
  auto &bucket = interned[static_cast<uint64_t>(hash) >> 2];
  for (Expr other : bucket)
    if (other->kind == node.kind && other->function == node.function &&
        other->integer == node.integer && other->number == node.number &&
        other->root == node.root && other->operands == node.operands &&
        other->coefficients == node.coefficients)
      return other;
  node.operands = node.operands.copy(allocator);
  node.coefficients = node.coefficients.copy(allocator);
  node.id = nextId++;
  Expr expr = new (allocator) ExprNode(node);
  bucket.push_back(expr);
  return expr;
}

Expr ExprContext::constant(double value, bool integer) {
  ExprNode node;
  node.kind = ExprKind::Constant;
  // -0 and 0 are one number.
  node.number = value == 0 ? 0 : value;
  node.integer = integer || isIntegral(value);
  return intern(node);
}

Expr ExprContext::affine(Affine value) {
  return add(integer(value.base),
             scale(past(), static_cast<double>(value.slope)));
}

Expr ExprContext::variable(Affine extent) {
  if (extent == Affine(1))
    return integer(0);
  ExprNode node;
  node.kind = ExprKind::Variable;
  node.integer = true;
  node.id = nextId++;
  node.extent = extent;
  return new (allocator) ExprNode(node);
}

Expr ExprContext::load(const void *root, ExprRange indices, bool integer) {
  ExprNode node;
  node.kind = ExprKind::Load;
  node.root = root;
  node.operands = indices;
  node.integer = integer;
  return intern(node);
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

Expr ExprContext::sum(double number,
                      llvm::ArrayRef<std::pair<Expr, double>> terms) {
  llvm::SmallVector<std::pair<Expr, double>> merged(terms);
  llvm::sort(merged,
             [](auto &a, auto &b) { return a.first->id < b.first->id; });
  unsigned kept = 0;
  for (const auto &term : merged) {
    if (kept > 0 && merged[kept - 1].first == term.first)
      merged[kept - 1].second += term.second;
    else
      merged[kept++] = term;
    if (merged[kept - 1].second == 0)
      --kept;
  }
  merged.resize(kept);

  if (merged.empty())
    return constant(number, false);
  if (merged.size() == 1) {
    auto [term, coefficient] = merged.front();
    if (number == 0 && coefficient == 1)
      return term;
    if (term->isBoolean())
      return select(term, constant(number + coefficient, false),
                    constant(number, false));
    double factor = coefficient;
    if (Expr inside = intoSelect(term, [&](Expr branch) {
          return constant(number + factor * branch->number, false);
        }))
      return inside;
  }
  ExprNode node;
  node.kind = ExprKind::Sum;
  node.number = number;
  node.integer = isIntegral(number);
  llvm::SmallVector<Expr> operands;
  llvm::SmallVector<double> coefficients;
  for (auto [term, coefficient] : merged) {
    operands.push_back(term);
    coefficients.push_back(coefficient);
    node.integer &= term->integer && isIntegral(coefficient);
  }
  node.operands = operands;
  node.coefficients = coefficients;
  return intern(node);
}

/// Adds factor x a to number and terms.
static void addTerms(Expr a, double factor, double &number,
                     llvm::SmallVectorImpl<std::pair<Expr, double>> &terms) {
  if (a->isConstant()) {
    number += factor * a->getNumber();
  } else if (a->getKind() == ExprKind::Sum) {
    number += factor * a->getNumber();
    for (auto [term, coefficient] :
         llvm::zip(a->getOperands(), a->getCoefficients()))
      terms.push_back({term, factor * coefficient});
  } else {
    terms.push_back({a, factor});
  }
}

Expr ExprContext::add(Expr a, Expr b) {
  double number = 0;
  llvm::SmallVector<std::pair<Expr, double>> terms;
  addTerms(a, 1, number, terms);
  addTerms(b, 1, number, terms);
  return sum(number, terms);
}

Expr ExprContext::scale(Expr a, double factor) {
  double number = 0;
  llvm::SmallVector<std::pair<Expr, double>> terms;
  addTerms(a, factor, number, terms);
  return sum(number, terms);
}

std::pair<double, Expr> ExprContext::splitCoefficient(Expr a) {
  if (a->isConstant())
    return {a->number, nullptr};
  if (a->kind == ExprKind::Sum && a->number == 0 && a->operands.size() == 1)
    return {a->coefficients[0], a->operands[0]};
  return {1, a};
}

ExprRange ExprContext::factors(const Expr &a) {
  return a->kind == ExprKind::Product ? a->operands : ExprRange(a);
}

Expr ExprContext::product(llvm::SmallVectorImpl<Expr> &factors) {
  llvm::sort(factors, [](Expr a, Expr b) { return a->id < b->id; });
  if (factors.size() == 1)
    return factors.front();
  ExprNode node;
  node.kind = ExprKind::Product;
  node.integer = llvm::all_of(factors, [](Expr a) { return a->integer; });
  node.operands = factors;
  return intern(node);
}

Expr ExprContext::mul(Expr a, Expr b) {
  if (a->isConstant())
    return scale(b, a->number);
  if (b->isConstant())
    return scale(a, b->number);
  // Integer sums are indices: they are multiplied out. Others stay factors.
  if (b->kind == ExprKind::Sum && b->integer && a->integer)
    std::swap(a, b);
  if (a->kind == ExprKind::Sum && a->integer && b->integer) {
    Expr result = scale(b, a->number);
    for (auto [term, coefficient] : llvm::zip(a->operands, a->coefficients))
      result = add(result, scale(mul(term, b), coefficient));
    return result;
  }
  auto [factorA, restA] = splitCoefficient(a);
  auto [factorB, restB] = splitCoefficient(b);
  llvm::SmallVector<Expr> all(factors(restA));
  llvm::append_range(all, factors(restB));
  return scale(product(all), factorA * factorB);
}

Expr ExprContext::power(Expr a, double exponent) {
  if (exponent == 1)
    return a;
  if (exponent == 0)
    return integer(1);
  if (a->isConstant())
    return constant(std::pow(a->number, exponent), false);
  if (a->kind == ExprKind::Power)
    return power(a->getOperand(0), a->number * exponent);
  if (isIntegral(exponent) && exponent > 1 && exponent <= 4)
    return mul(a, power(a, exponent - 1));
  auto [coefficient, rest] = splitCoefficient(a);
  if (coefficient != 1 && coefficient > 0)
    return scale(power(rest, exponent), std::pow(coefficient, exponent));
  if (a->kind == ExprKind::Product && exponent == -1) {
    Expr result = power(a->getOperand(0), exponent);
    for (Expr factor : a->operands.drop_front())
      result = mul(result, power(factor, exponent));
    return result;
  }
  // 1 / (1 + e^x)
  if (exponent == -1 && a->kind == ExprKind::Sum && a->number == 1 &&
      a->operands.size() == 1 && a->coefficients[0] == 1 &&
      a->getOperand(0)->kind == ExprKind::Call &&
      a->getOperand(0)->function == ScalarFunction::Exp)
    return call(ScalarFunction::Sigmoid,
                scale(a->getOperand(0)->getOperand(0), -1));
  ExprNode node;
  node.kind = ExprKind::Power;
  node.number = exponent;
  node.operands = a;
  return intern(node);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static std::optional<double> apply(ScalarFunction function, double x) {
  switch (function) {
  case ScalarFunction::Cos:
    return std::cos(x);
  case ScalarFunction::Sin:
    return std::sin(x);
  case ScalarFunction::Exp:
    return std::exp(x);
  case ScalarFunction::Log:
    return std::log(x);
  case ScalarFunction::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case ScalarFunction::Tanh:
    return std::tanh(x);
  case ScalarFunction::Erf:
    return std::erf(x);
  case ScalarFunction::IsNaN:
    return std::isnan(x) ? 1 : 0;
  case ScalarFunction::Abs:
    return std::abs(x);
  case ScalarFunction::Truncate:
    return std::trunc(x);
  case ScalarFunction::Max:
  case ScalarFunction::Min:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> ExprContext::evaluate(
    Expr a,
    llvm::function_ref<std::optional<double>(Expr, llvm::ArrayRef<double>)>
        leaf) {
  llvm::SmallVector<double> x;
  for (Expr operand : a->operands) {
    std::optional<double> value = evaluate(operand, leaf);
    if (!value)
      return std::nullopt;
    x.push_back(*value);
  }
  switch (a->kind) {
  case ExprKind::Constant:
    return a->number;
  case ExprKind::Variable:
  case ExprKind::Load:
    return leaf(a, x);
  case ExprKind::Sum: {
    double result = a->number;
    for (auto [coefficient, value] : llvm::zip(a->coefficients, x))
      result += coefficient * value;
    return result;
  }
  case ExprKind::Product: {
    double result = 1;
    for (double value : x)
      result *= value;
    return result;
  }
  case ExprKind::FloorDiv:
    return std::floor(x[0] / a->number);
  case ExprKind::Mod:
    return x[0] - a->number * std::floor(x[0] / a->number);
  case ExprKind::Power:
    return std::pow(x[0], a->number);
  case ExprKind::Call:
    return a->function == ScalarFunction::Max   ? std::max(x[0], x[1])
           : a->function == ScalarFunction::Min ? std::min(x[0], x[1])
                                                : apply(a->function, x[0]);
  case ExprKind::Select:
    return x[0] != 0 ? x[1] : x[2];
  case ExprKind::NonNegative:
    return x[0] >= 0;
  case ExprKind::Zero:
    return x[0] == 0;
  case ExprKind::And:
    return llvm::all_of(x, [](double value) { return value != 0; });
  case ExprKind::Or:
    return llvm::any_of(x, [](double value) { return value != 0; });
  case ExprKind::Not:
    return x[0] == 0;
  }
  return std::nullopt;
}

Expr ExprContext::call(ScalarFunction function, ExprRange operands) {
  if (function == ScalarFunction::Max)
    return max(operands[0], operands[1]);
  if (function == ScalarFunction::Min)
    return min(operands[0], operands[1]);
  Expr a = operands[0];
  if (function == ScalarFunction::Truncate && a->integer)
    return a;
  if (function == ScalarFunction::IsNaN && a->integer)
    return boolean(false);
  if (function == ScalarFunction::Abs && isKnownNonNegative(a))
    return a;
  if (a->isConstant())
    if (std::optional<double> value = apply(function, a->number))
      return constant(*value, false);
  ExprNode node;
  node.kind = ExprKind::Call;
  node.function = function;
  node.operands = operands;
  node.integer =
      function == ScalarFunction::Truncate || function == ScalarFunction::IsNaN;
  return intern(node);
}

Expr ExprContext::max(Expr a, Expr b) {
  if (a == b)
    return a;
  if (a->isConstant() && b->isConstant())
    return a->number < b->number ? b : a;
  Expr difference = sub(a, b);
  if (difference->integer) {
    if (isKnownNonNegative(difference))
      return a;
    if (isKnownNonNegative(scale(difference, -1)))
      return b;
  }
  if (b->id < a->id)
    std::swap(a, b);
  Expr operands[] = {a, b};
  ExprNode node;
  node.kind = ExprKind::Call;
  node.function = ScalarFunction::Max;
  node.operands = operands;
  node.integer = a->integer && b->integer;
  return intern(node);
}

Expr ExprContext::min(Expr a, Expr b) {
  return scale(max(scale(a, -1), scale(b, -1)), -1);
}
