// What is known of an expression: bounds, affine form, likeness, text.

#include "compiler/Raise/ScalarAlgebra.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace sdc;

static std::optional<int64_t> exactInteger(double value) {
  if (std::floor(value) != value || std::abs(value) >= 0x1p62)
    return std::nullopt;
  return static_cast<int64_t>(value);
}

/// An affine number that is at most (at least) both.
static Affine lower(Affine a, Affine b) {
  return {std::min(a.base, b.base), std::min(a.slope, b.slope)};
}
static Affine upper(Affine a, Affine b) {
  return {std::max(a.base, b.base), std::max(a.slope, b.slope)};
}

static ExprBounds boundsOfSum(ExprContext &context, Expr a) {
  std::optional<int64_t> number = exactInteger(a->getNumber());
  if (!number)
    return {};
  ExprBounds result{Affine(*number), Affine(*number)};
  for (auto [term, coefficient] :
       llvm::zip(a->getOperands(), a->getCoefficients())) {
    std::optional<int64_t> factor = exactInteger(coefficient);
    ExprBounds part = context.bounds(term);
    if (!factor)
      return {};
    if (*factor < 0)
      std::swap(part.low, part.high);
    result.low = result.low && part.low
                     ? std::optional(*result.low + *part.low * *factor)
                     : std::nullopt;
    result.high = result.high && part.high
                      ? std::optional(*result.high + *part.high * *factor)
                      : std::nullopt;
  }
  return result;
}

static ExprBounds computeBounds(ExprContext &context, Expr a) {
  switch (a->getKind()) {
  case ExprKind::Constant:
    if (std::optional<int64_t> value = exactInteger(a->getNumber()))
      return {Affine(*value), Affine(*value)};
    return {};
  case ExprKind::Variable:
    if (a == context.past())
      return {Affine(0, 1), Affine(0, 1)};
    return {Affine(0), a->getExtent() - Affine(1)};
  case ExprKind::Sum:
    return boundsOfSum(context, a);
  case ExprKind::Product:
    if (llvm::all_of(a->getOperands(),
                     [&](Expr x) { return context.isKnownNonNegative(x); }))
      return {Affine(0), std::nullopt};
    return {};
  case ExprKind::FloorDiv: {
    ExprBounds inner = context.bounds(a->getOperand(0));
    ExprBounds result;
    auto divide = [&](Affine value) {
      return Affine(static_cast<int64_t>(
          std::floor(static_cast<double>(value.base) / a->getNumber())));
    };
    if (inner.low && inner.low->isConstant())
      result.low = divide(*inner.low);
    else if (inner.low && inner.low->isNonNegative())
      result.low = Affine(0);
    if (inner.high && inner.high->isConstant())
      result.high = divide(*inner.high);
    return result;
  }
  case ExprKind::Mod:
    return {Affine(0), Affine(static_cast<int64_t>(a->getNumber()) - 1)};
  case ExprKind::Select: {
    ExprBounds left = context.bounds(a->getOperand(1));
    ExprBounds right = context.bounds(a->getOperand(2));
    ExprBounds result;
    if (left.low && right.low)
      result.low = lower(*left.low, *right.low);
    if (left.high && right.high)
      result.high = upper(*left.high, *right.high);
    return result;
  }
  case ExprKind::Call: {
    if (a->getFunction() != ScalarFunction::Max || !a->isInteger())
      return {};
    ExprBounds left = context.bounds(a->getOperand(0));
    ExprBounds right = context.bounds(a->getOperand(1));
    ExprBounds result;
    result.low = left.low ? left.low : right.low;
    if (left.high && right.high)
      result.high = upper(*left.high, *right.high);
    return result;
  }
  case ExprKind::NonNegative:
  case ExprKind::Zero:
  case ExprKind::And:
  case ExprKind::Or:
  case ExprKind::Not:
    return {Affine(0), Affine(1)};
  case ExprKind::Load:
  case ExprKind::Power:
    return {};
  }
  return {};
}

ExprBounds ExprContext::bounds(Expr a) {
  auto found = knownBounds.find(a);
  if (found != knownBounds.end())
    return found->second;
  ExprBounds result = computeBounds(*this, a);
  knownBounds[a] = result;
  return result;
}

bool ExprContext::isKnownNonNegative(Expr a) {
  ExprBounds known = bounds(a);
  return known.low && known.low->isNonNegative();
}

bool ExprContext::isKnownNegative(Expr a) {
  ExprBounds known = bounds(a);
  return known.high && (Affine(-1) - *known.high).isNonNegative();
}

std::optional<Affine> ExprContext::asAffine(Expr a) const {
  if (a->isConstant()) {
    if (std::optional<int64_t> value = exactInteger(a->getNumber()))
      return Affine(*value);
    return std::nullopt;
  }
  if (a == pastLength)
    return Affine(0, 1);
  if (a->getKind() != ExprKind::Sum || a->getOperands().size() != 1 ||
      a->getOperand(0) != pastLength)
    return std::nullopt;
  std::optional<int64_t> base = exactInteger(a->getNumber());
  std::optional<int64_t> slope = exactInteger(a->getCoefficients()[0]);
  if (!base || !slope)
    return std::nullopt;
  return Affine(*base, *slope);
}

std::optional<int64_t> ExprContext::asInteger(Expr a) const {
  return a->isConstant() ? exactInteger(a->getNumber()) : std::nullopt;
}

bool ExprContext::isSimilar(Expr a, Expr b, double tolerance) {
  if (a == b)
    return true;
  auto isClose = [&](double x, double y) {
    return std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
  };
  if (a->kind != b->kind || a->function != b->function || a->root != b->root ||
      !isClose(a->number, b->number) ||
      a->operands.size() != b->operands.size())
    return false;
  if (a->kind == ExprKind::Variable)
    return false;
  if (a->kind != ExprKind::Sum && a->kind != ExprKind::Product) {
    for (auto [x, y] : llvm::zip(a->operands, b->operands))
      if (!isSimilar(x, y, tolerance))
        return false;
    return true;
  }
  // In any order.
  llvm::SmallVector<bool> taken(b->operands.size(), false);
  for (size_t i = 0; i < a->operands.size(); ++i) {
    bool found = false;
    for (size_t j = 0; j < b->operands.size() && !found; ++j) {
      if (taken[j] ||
          (a->kind == ExprKind::Sum &&
           !isClose(a->coefficients[i], b->coefficients[j])) ||
          !isSimilar(a->operands[i], b->operands[j], tolerance))
        continue;
      found = taken[j] = true;
    }
    if (!found)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static llvm::StringRef nameOf(ScalarFunction function) {
  switch (function) {
  case ScalarFunction::Cos:
    return "cos";
  case ScalarFunction::Sin:
    return "sin";
  case ScalarFunction::Exp:
    return "exp";
  case ScalarFunction::Log:
    return "log";
  case ScalarFunction::Sigmoid:
    return "sigmoid";
  case ScalarFunction::Tanh:
    return "tanh";
  case ScalarFunction::Erf:
    return "erf";
  case ScalarFunction::IsNaN:
    return "isnan";
  case ScalarFunction::Abs:
    return "abs";
  case ScalarFunction::Max:
    return "max";
  case ScalarFunction::Min:
    return "min";
  case ScalarFunction::Truncate:
    return "truncate";
  }
  return "?";
}

/// The characters of an expression in a message, at most.
static constexpr size_t kLongest = 600;

std::string ExprContext::print(
    Expr a, llvm::function_ref<std::string(const void *)> nameOfRoot) const {
  llvm::DenseMap<Expr, unsigned> variables;
  std::string text;
  llvm::raw_string_ostream os(text);
  auto visit = [&](auto &self, Expr e) -> void {
    // What is shared is written each time, so the text may become endless.
    if (text.size() > kLongest)
      return;
    auto list = [&](llvm::StringRef open, llvm::StringRef separator,
                    llvm::StringRef close) {
      os << open;
      llvm::interleave(
          e->getOperands(), [&](Expr operand) { self(self, operand); },
          [&] { os << separator; });
      os << close;
    };
    switch (e->getKind()) {
    case ExprKind::Constant:
      os << llvm::format("%.9g", e->getNumber());
      return;
    case ExprKind::Variable:
      if (e == pastLength)
        os << "P";
      else
        os << "i" << variables.try_emplace(e, variables.size()).first->second;
      return;
    case ExprKind::Load:
      os << nameOfRoot(e->getRoot());
      return list("[", ", ", "]");
    case ExprKind::Sum: {
      os << "(";
      bool first = true;
      if (e->getNumber() != 0) {
        os << llvm::format("%.9g", e->getNumber());
        first = false;
      }
      for (auto [term, coefficient] :
           llvm::zip(e->getOperands(), e->getCoefficients())) {
        if (!first)
          os << " + ";
        first = false;
        if (coefficient != 1)
          os << llvm::format("%.9g", coefficient) << " * ";
        self(self, term);
      }
      os << ")";
      return;
    }
    case ExprKind::Product:
      return list("(", " * ", ")");
    case ExprKind::FloorDiv:
      list("(", "", "");
      os << llvm::format(" / %.9g)", e->getNumber());
      return;
    case ExprKind::Mod:
      list("(", "", "");
      os << llvm::format(" %% %.9g)", e->getNumber());
      return;
    case ExprKind::Power:
      list("(", "", "");
      os << llvm::format(" ^ %.9g)", e->getNumber());
      return;
    case ExprKind::Call:
      os << nameOf(e->getFunction());
      return list("(", ", ", ")");
    case ExprKind::Select:
      return list("select(", ", ", ")");
    case ExprKind::NonNegative:
      return list("(", "", " >= 0)");
    case ExprKind::Zero:
      return list("(", "", " == 0)");
    case ExprKind::And:
      return list("(", " and ", ")");
    case ExprKind::Or:
      return list("(", " or ", ")");
    case ExprKind::Not:
      return list("not(", "", ")");
    }
  };
  visit(visit, a);
  if (text.size() > kLongest) {
    text.resize(kLongest);
    text += " ...";
  }
  return text;
}
