// Scalar expressions in canonical form. The value of one element of a tensor
// is written as an expression over index variables, the past length P and
// loads from roots; two ways to compute it are the same when they end in the
// same expression, which then is the same object. Knows nothing of ONNX and
// nothing of MLIR.
//
// Numbers are reals: rounding and overflow are left out of account, and a
// float division by an expression is a product with its power of -1. Booleans
// are the numbers 0 and 1.

#ifndef SDC_COMPILER_RAISE_SCALARALGEBRA_H
#define SDC_COMPILER_RAISE_SCALARALGEBRA_H

#include "compiler/Raise/Affine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include <optional>
#include <string>

namespace sdc {

enum class ExprKind : uint8_t {
  Constant,    // number
  Variable,    // from 0 to below its extent
  Load,        // root[operands...]
  Sum,         // number + sum of coefficient x operand
  Product,     // of operands, none of them a constant
  FloorDiv,    // floor(operand / number)
  Mod,         // operand - number * floor(operand / number)
  Power,       // operand ^ number
  Call,        // function(operands...)
  Select,      // operand 0 ? operand 1 : operand 2
  NonNegative, // operand >= 0
  Zero,        // operand == 0
  And,
  Or,
  Not,
};

enum class ScalarFunction : uint8_t {
  Cos,
  Sin,
  Exp,
  Log,
  Sigmoid,
  Tanh,
  Erf,
  IsNaN,
  Abs,
  Max,
  Min,
  Truncate,
};

class ExprNode;
using Expr = const ExprNode *;
using ExprRange = llvm::ArrayRef<Expr>;

/// One node of an expression. Made by an ExprContext, compared by address.
class ExprNode {
public:
  ExprKind getKind() const { return kind; }
  ScalarFunction getFunction() const { return function; }
  /// Whether the value is an integer for sure. Booleans are integers.
  bool isInteger() const { return integer; }
  double getNumber() const { return number; }
  const void *getRoot() const { return root; }
  ExprRange getOperands() const { return operands; }
  Expr getOperand(unsigned index) const { return operands[index]; }
  /// Of the terms of a sum.
  llvm::ArrayRef<double> getCoefficients() const { return coefficients; }
  /// The number of elements that a variable runs over.
  Affine getExtent() const { return extent; }

  /// Whether it is 0 or 1 for sure.
  bool isBoolean() const;
  bool isConstant() const { return kind == ExprKind::Constant; }
  bool isConstant(double value) const {
    return isConstant() && number == value;
  }

private:
  friend class ExprContext;
  ExprKind kind = ExprKind::Constant;
  ScalarFunction function = ScalarFunction::Cos;
  bool integer = false;
  unsigned id = 0;
  double number = 0;
  const void *root = nullptr;
  Affine extent;
  ExprRange operands;
  llvm::ArrayRef<double> coefficients;
};

/// What is known of an integer expression: bounds that hold for every P.
struct ExprBounds {
  std::optional<Affine> low, high;
};

/// Makes expressions and owns them. Every function simplifies.
class ExprContext {
public:
  ExprContext();
  ExprContext(const ExprContext &) = delete;
  ExprContext &operator=(const ExprContext &) = delete;

  Expr constant(double value, bool integer);
  Expr integer(int64_t value) {
    return constant(static_cast<double>(value), true);
  }
  Expr real(double value) { return constant(value, false); }
  Expr boolean(bool value) { return integer(value ? 1 : 0); }
  /// The past length.
  Expr past() const { return pastLength; }
  Expr affine(Affine value);
  /// A new variable from 0 to below `extent`; the constant 0 when that is 1.
  Expr variable(Affine extent);
  /// An element of a root; `integer` says that the root holds integers.
  Expr load(const void *root, ExprRange indices, bool integer);

  Expr add(Expr a, Expr b);
  Expr sub(Expr a, Expr b) { return add(a, scale(b, -1)); }
  Expr scale(Expr a, double factor);
  Expr mul(Expr a, Expr b);
  Expr floorDiv(Expr a, int64_t divisor);
  Expr mod(Expr a, int64_t divisor);
  /// Quotient and remainder, 0 <= remainder < divisor for every P; none if they
  /// are not known to be that.
  std::optional<std::pair<Expr, Expr>> divide(Expr a, Affine divisor);
  Expr power(Expr a, double exponent);
  Expr call(ScalarFunction function, ExprRange operands);
  Expr max(Expr a, Expr b);
  Expr min(Expr a, Expr b);
  Expr select(Expr condition, Expr ifTrue, Expr ifFalse);

  Expr nonNegative(Expr a);
  Expr isZero(Expr a);
  Expr negate(Expr condition);
  Expr conjunction(Expr a, Expr b);
  Expr disjunction(Expr a, Expr b);
  /// a <= b and a < b.
  Expr lessEqual(Expr a, Expr b) { return nonNegative(sub(b, a)); }
  Expr less(Expr a, Expr b) { return negate(lessEqual(b, a)); }

  /// Bounds of an integer expression.
  ExprBounds bounds(Expr a);
  bool isKnownNonNegative(Expr a);
  bool isKnownNegative(Expr a);
  /// The expression as a + b P, if it is that.
  std::optional<Affine> asAffine(Expr a) const;
  std::optional<int64_t> asInteger(Expr a) const;

  /// The expression as coefficient x rest; the rest of a constant is null.
  static std::pair<double, Expr> splitCoefficient(Expr a);
  /// The factors of a product, or the expression itself.
  static ExprRange factors(const Expr &a);
  /// Whether two expressions are the same but for constants that differ by at
  /// most `tolerance`, relatively.
  static bool isSimilar(Expr a, Expr b, double tolerance);

  /// The number that an expression is when `leaf` gives its variables and its
  /// loads, these from the numbers of their indices.
  static std::optional<double> evaluate(
      Expr a,
      llvm::function_ref<std::optional<double>(Expr, llvm::ArrayRef<double>)>
          leaf);

  /// For messages: variables are i0, i1, ..., roots are named by `nameOf`.
  std::string print(Expr a,
                    llvm::function_ref<std::string(const void *)> nameOf) const;

private:
  struct Key;
  Expr intern(ExprNode node);
  Expr sum(double number, llvm::ArrayRef<std::pair<Expr, double>> terms);
  Expr product(llvm::SmallVectorImpl<Expr> &factors);
  Expr junction(ExprKind kind, Expr a, Expr b);
  /// Applies `change` to both branches of a select between constants.
  template <typename Change> Expr intoSelect(Expr a, Change change);

  llvm::BumpPtrAllocator allocator;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Expr, 1>> interned;
  llvm::DenseMap<Expr, ExprBounds> knownBounds;
  unsigned nextId = 0;
  Expr pastLength = nullptr;
};

template <typename Change> Expr ExprContext::intoSelect(Expr a, Change change) {
  if (a->getKind() != ExprKind::Select || !a->getOperand(1)->isConstant() ||
      !a->getOperand(2)->isConstant())
    return nullptr;
  return select(a->getOperand(0), change(a->getOperand(1)),
                change(a->getOperand(2)));
}

} // namespace sdc

#endif // SDC_COMPILER_RAISE_SCALARALGEBRA_H
