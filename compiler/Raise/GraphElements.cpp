// Elements of operators that compute each element on its own, and of sums over
// terms that are all equal.

#include "compiler/Raise/GraphAlgebra.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

/// Element of an input that is broadcast to the shape of the result.
static Expr inputAt(GraphAlgebra &algebra, NodeOp node, unsigned input,
                    ExprRange indices) {
  Value value = node.getInput(input);
  const AffineShape &shape = *algebra.getShape(value);
  SmallVector<Expr> inner(indices.take_back(shape.size()));
  for (auto [index, size] : llvm::zip(inner, shape))
    if (size == Affine(1))
      index = algebra.getContext().integer(0);
  return algebra.at(value, inner);
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Division of integers, where rounding down and towards zero agree.
static Expr divideIntegers(ExprContext &context, Expr a, Expr b) {
  std::optional<int64_t> divisor = context.asInteger(b);
  if (!divisor || *divisor <= 0 || !context.isKnownNonNegative(a))
    return nullptr;
  return context.floorDiv(a, *divisor);
}

static Expr binary(GraphAlgebra &algebra, NodeOp node, Expr a, Expr b) {
  ExprContext &context = algebra.getContext();
  StringRef op = node.getOpType();
  if (op == "Add" || op == "Sum")
    return context.add(a, b);
  if (op == "Sub")
    return context.sub(a, b);
  if (op == "Mul")
    return context.mul(a, b);
  if (op == "Max")
    return context.max(a, b);
  if (op == "Min")
    return context.min(a, b);
  if (op == "And")
    return context.conjunction(a, b);
  if (op == "Or")
    return context.disjunction(a, b);
  if (op == "Xor")
    return context.select(a, context.negate(b), b);
  if (op == "Equal")
    return context.isZero(context.sub(a, b));
  if (op == "LessOrEqual")
    return context.lessEqual(a, b);
  if (op == "GreaterOrEqual")
    return context.lessEqual(b, a);
  if (op == "Less")
    return context.less(a, b);
  if (op == "Greater")
    return context.less(b, a);
  if (op == "Div")
    return isFloat(node.getInput(0)) ? context.mul(a, context.power(b, -1))
                                     : divideIntegers(context, a, b);
  if (op == "Mod") {
    std::optional<int64_t> divisor = context.asInteger(b);
    if (!divisor || *divisor <= 0 || !context.isKnownNonNegative(a))
      return nullptr;
    return context.mod(a, *divisor);
  }
  if (op == "Pow")
    return b->isConstant() ? context.power(a, b->getNumber()) : nullptr;
  return nullptr;
}

static bool isBinary(StringRef op) {
  static constexpr StringRef kNames[] = {
      "Add",
      "Sum",
      "Sub",
      "Mul",
      "Max",
      "Min",
      "And",
      "Or",
      "Xor",
      "Equal",
      "Div",
      "LessOrEqual",
      "GreaterOrEqual",
      "Less",
      "Greater",
      "Mod",
      "Pow",
  };
  return llvm::is_contained(kNames, op);
}

static Expr elementOfCast(GraphAlgebra &algebra, NodeOp node, Expr a) {
  ExprContext &context = algebra.getContext();
  Type from = getElementTypeOrSelf(node.getInput(0).getType());
  Type to = getElementTypeOrSelf(node.getResult(0).getType());
  if (to.isInteger(1) && !from.isInteger(1))
    return context.negate(context.isZero(a));
  if (to.isIntOrIndex() && isa<FloatType>(from))
    return context.call(ScalarFunction::Truncate, a);
  return a;
}

/// The activations that have operators of their own.
static Expr activation(ExprContext &context, NodeOp node, Expr x) {
  StringRef op = node.getOpType();
  auto sigmoid = [&](double factor) {
    return context.call(ScalarFunction::Sigmoid, context.scale(x, factor));
  };
  if (op == "Swish")
    return context.mul(x, sigmoid(node.getFloat("alpha", 1)));
  if (op == "QuickGelu")
    return context.mul(x, sigmoid(node.getFloat("alpha", 1.702)));
  bool isTanh =
      op == "FastGelu" ||
      (op == "Gelu" && node.getString("approximate", "none") == "tanh");
  if (isTanh) {
    Expr inner = context.add(x, context.scale(context.power(x, 3), 0.044715));
    Expr tanh = context.call(ScalarFunction::Tanh,
                             context.scale(inner, std::sqrt(2 / M_PI)));
    return context.scale(context.mul(x, context.add(context.integer(1), tanh)),
                         0.5);
  }
  if (op == "Gelu") {
    Expr erf =
        context.call(ScalarFunction::Erf, context.scale(x, std::sqrt(0.5)));
    return context.scale(context.mul(x, context.add(context.integer(1), erf)),
                         0.5);
  }
  return nullptr;
}

static Expr unary(GraphAlgebra &algebra, NodeOp node, Expr a) {
  ExprContext &context = algebra.getContext();
  StringRef op = node.getOpType();
  if (op == "Cast" || op == "CastLike")
    return elementOfCast(algebra, node, a);
  if (op == "Identity" || op == "Dropout")
    return a;
  if (op == "Neg")
    return context.scale(a, -1);
  if (op == "Not")
    return context.negate(a);
  if (op == "Sqrt")
    return context.power(a, 0.5);
  if (op == "Reciprocal")
    return context.power(a, -1);
  if (op == "Relu")
    return context.max(a, context.integer(0));
  if (op == "Floor" || op == "Ceil" || op == "Round")
    return a->isInteger() ? a : nullptr;
  std::optional<ScalarFunction> function =
      llvm::StringSwitch<std::optional<ScalarFunction>>(op)
          .Case("Cos", ScalarFunction::Cos)
          .Case("Sin", ScalarFunction::Sin)
          .Case("Exp", ScalarFunction::Exp)
          .Case("Log", ScalarFunction::Log)
          .Case("Sigmoid", ScalarFunction::Sigmoid)
          .Case("Tanh", ScalarFunction::Tanh)
          .Case("Erf", ScalarFunction::Erf)
          .Case("IsNaN", ScalarFunction::IsNaN)
          .Case("Abs", ScalarFunction::Abs)
          .Default(std::nullopt);
  if (function)
    return context.call(*function, a);
  return activation(context, node, a);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static bool contains(Expr expr, Expr variable) {
  SmallVector<Expr> stack{expr};
  SmallPtrSet<Expr, 16> seen;
  while (!stack.empty()) {
    Expr next = stack.pop_back_val();
    if (next == variable)
      return true;
    if (seen.insert(next).second)
      llvm::append_range(stack, next->getOperands());
  }
  return false;
}

/// Reductions of integers: of terms that are equal, or of a few terms.
static Expr elementOfReduction(GraphAlgebra &algebra, NodeOp node,
                               ExprRange indices) {
  Value input = node.getInput(0);
  auto axes = axesOf(algebra, node, 1);
  if (!axes || axes->size() != 1 || isFloat(input))
    return nullptr;
  ExprContext &context = algebra.getContext();
  const AffineShape &shape = *algebra.getShape(input);
  int64_t axis = fromFront(axes->front(), shape.size());
  SmallVector<Expr> inner(indices);
  if (node.getInt("keepdims", 1) == 0)
    inner.insert(inner.begin() + axis, nullptr);
  Affine extent = shape[axis];
  StringRef op = node.getOpType();

  Expr variable = context.variable(extent);
  inner[axis] = variable;
  Expr element = algebra.at(input, inner);
  if (!contains(element, variable) || extent == Affine(1)) {
    if (op == "ReduceSum")
      return context.mul(element, context.affine(extent));
    return op == "ReduceMax" || op == "ReduceMin" || op == "ReduceMean"
               ? element
               : nullptr;
  }
  if (!extent.isConstant() || extent.base > 8)
    return nullptr;
  Expr result = nullptr;
  for (int64_t i = 0; i < extent.base; ++i) {
    inner[axis] = context.integer(i);
    Expr next = algebra.at(input, inner);
    if (!result)
      result = next;
    else if (op == "ReduceSum")
      result = context.add(result, next);
    else if (op == "ReduceProd")
      result = context.mul(result, next);
    else if (op == "ReduceMax")
      result = context.max(result, next);
    else if (op == "ReduceMin")
      result = context.min(result, next);
    else
      return nullptr;
  }
  return result;
}

/// A cumulative sum of terms that are equal.
static Expr elementOfCumSum(GraphAlgebra &algebra, NodeOp node,
                            ExprRange indices) {
  if (node.getInt("reverse", 0) != 0)
    return nullptr;
  ExprContext &context = algebra.getContext();
  std::optional<AffineShape> axis = algebra.getContents(node.getInput(1));
  if (!axis || axis->size() != 1 || !axis->front().isConstant())
    return nullptr;
  int64_t dim = fromFront(axis->front().base, indices.size());
  SmallVector<Expr> inner(indices);
  Expr variable = context.variable((*algebra.getShape(node.getInput(0)))[dim]);
  inner[dim] = variable;
  Expr element = algebra.at(node.getInput(0), inner);
  if (contains(element, variable) && !variable->isConstant())
    return nullptr;
  Expr count = indices[dim];
  if (node.getInt("exclusive", 0) == 0)
    count = context.add(count, context.integer(1));
  return context.mul(element, count);
}

/// A product of matrices whose inner size is 1, as for position x frequency.
static Expr elementOfOuterProduct(GraphAlgebra &algebra, NodeOp node,
                                  ExprRange indices) {
  const AffineShape &a = *algebra.getShape(node.getInput(0));
  const AffineShape &b = *algebra.getShape(node.getInput(1));
  if (a.size() < 2 || b.size() < 2 || a.back() != Affine(1))
    return nullptr;
  ExprContext &context = algebra.getContext();
  auto operand = [&](Value value, const AffineShape &shape, Expr row,
                     Expr column) {
    SmallVector<Expr> inner;
    ExprRange batch = indices.drop_back(2).take_back(shape.size() - 2);
    for (auto [index, size] : llvm::zip(batch, shape))
      inner.push_back(size == Affine(1) ? context.integer(0) : index);
    inner.append({row, column});
    return algebra.at(value, inner);
  };
  Expr zero = context.integer(0);
  return context.mul(
      operand(node.getInput(0), a, indices[indices.size() - 2], zero),
      operand(node.getInput(1), b, zero, indices.back()));
}

Expr sdc::elementOfFunction(GraphAlgebra &algebra, NodeOp node,
                            ExprRange indices) {
  for (Value input : node.getInputs())
    if (!isa<NoneType>(input.getType()) && !algebra.getShape(input))
      return nullptr;
  ExprContext &context = algebra.getContext();
  StringRef op = node.getOpType();
  if (node.getDomainName().empty()) {
    if (op == "Where")
      return context.select(inputAt(algebra, node, 0, indices),
                            inputAt(algebra, node, 1, indices),
                            inputAt(algebra, node, 2, indices));
    if (op == "MatMul")
      return elementOfOuterProduct(algebra, node, indices);
    if (op == "CumSum")
      return elementOfCumSum(algebra, node, indices);
    if (op.starts_with("Reduce"))
      return elementOfReduction(algebra, node, indices);
    if (op == "Clip") {
      Expr a = inputAt(algebra, node, 0, indices);
      if (node.getInput(1))
        a = context.max(a, algebra.at(node.getInput(1), {}));
      if (node.getInput(2))
        a = context.min(a, algebra.at(node.getInput(2), {}));
      return a;
    }
    if (isBinary(op)) {
      Expr result = inputAt(algebra, node, 0, indices);
      for (unsigned i = 1; i < node.getInputs().size() && result; ++i)
        result =
            binary(algebra, node, result, inputAt(algebra, node, i, indices));
      return result;
    }
  }
  bool isContrib = node.getDomainName() == "com.microsoft" &&
                   (op == "QuickGelu" || op == "Gelu" || op == "FastGelu") &&
                   !node.getInput(1);
  if (node.getInputs().empty() || !(node.getDomainName().empty() || isContrib))
    return nullptr;
  static constexpr StringRef kUnary[] = {
      "Cast", "CastLike", "Identity",   "Dropout", "Neg",
      "Not",  "Sqrt",     "Reciprocal", "Relu",    "Floor",
      "Ceil", "Round",    "Cos",        "Sin",     "Exp",
      "Log",  "Sigmoid",  "Tanh",       "Erf",     "IsNaN",
      "Abs",  "Swish",    "QuickGelu",  "Gelu",    "FastGelu",
  };
  if (!llvm::is_contained(kUnary, op))
    return nullptr;
  return unary(algebra, node, inputAt(algebra, node, 0, indices));
}
