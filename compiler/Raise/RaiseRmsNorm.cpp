// raise-rms-norm: RMS norms become decode.rms_norm, be they one operator, one
// that adds a residual first, or spelled out around a mean of squares.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISERMSNORMPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

namespace {
/// What a norm does: y[..., i] = x[..., i] / rms(x) * weight[i].
struct Norm {
  Value x, y;
  Value weight; // the root; null for all ones
  double eps = 0;
};
} // namespace

/// The constant whose element i is `element`; null if it is none.
static Value vectorOf(RaiseRewriter &rewriter, Expr element, Expr i) {
  Value root = rewriter.getConstantRoot(element);
  bool isVector =
      root && element->getOperands().size() == 1 && element->getOperand(0) == i;
  return isVector ? root : Value();
}

/// A norm over heads in normal form: x and y as [B, S, heads, size]. Null if
/// x is not the heads of some linear.
static Value raiseOverHeads(RaiseRewriter &rewriter, const Norm &norm,
                            Value weight) {
  ExprContext &context = rewriter.context;
  auto type = cast<RankedTensorType>(norm.x.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t size = shape.back();
  int64_t heads =
      type.getNumElements() / (rewriter.batch * rewriter.rows * size);
  Expr b = context.variable(rewriter.batch),
       s = context.variable(rewriter.rows), h = context.variable(heads),
       d = context.variable(size);
  // [B, S x heads, size], [B, S, heads, size] or [B, heads, S, size].
  SmallVector<SmallVector<Expr>> layouts;
  if (shape.size() == 3)
    layouts = {
        {b, context.add(context.scale(s, static_cast<double>(heads)), h), d}};
  if (shape.size() == 4)
    layouts = {{b, s, h, d}, {b, h, s, d}};
  for (const SmallVector<Expr> &layout : layouts) {
    if (shape.size() == 4 &&
        shape[2] != (layout[2] == h ? heads : rewriter.rows))
      continue;
    Value x = rewriter.asHeads(rewriter.algebra.at(norm.x, layout), b, s, h, d,
                               heads, size);
    if (!x)
      continue;
    Value y = rewriter.create<decode::RmsNormOp>(
        norm.y.getLoc(), x.getType(), x, weight,
        rewriter.builder.getF64FloatAttr(norm.eps));
    if (shape.size() == 3)
      return rewriter.reshape(y, shape);
    return layout[1] == h ? rewriter.headsFirst(y) : y;
  }
  return {};
}

static void raiseNorm(RaiseRewriter &rewriter, const Norm &norm) {
  auto type = cast<RankedTensorType>(norm.x.getType());
  int64_t size = type.getShape().back();
  Location loc = norm.y.getLoc();
  Value weight;
  if (norm.weight)
    weight = rewriter.weights.load(rewriter.builder, loc, norm.weight, {size});
  else
    weight = rewriter.weights.load(
        rewriter.builder, loc,
        DenseElementsAttr::get(rewriter.tensorOf({size}), 1.0f));
  Value y;
  if (type.getRank() != 3 || type.getDimSize(1) != rewriter.rows)
    y = raiseOverHeads(rewriter, norm, weight);
  if (!y)
    y = rewriter.create<decode::RmsNormOp>(
        loc, type, norm.x, weight, rewriter.builder.getF64FloatAttr(norm.eps));
  rewriter.replace(norm.y, y);
}

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

static void raiseOperator(RaiseRewriter &rewriter, NodeOp node) {
  bool isSkip = node.getOpType() == "SkipSimplifiedLayerNormalization";
  Value x = node.getInput(0);
  Value scale = node.getInput(isSkip ? 2 : 1);
  auto type = dyn_cast<RankedTensorType>(x.getType());
  if (!type || !type.hasStaticShape() || !scale)
    return;
  int64_t axis = fromFront(node.getInt("axis", -1), type.getRank());
  const AffineShape *shape = rewriter.algebra.getShape(scale);
  if (axis != type.getRank() - 1 || !shape || shape->size() != 1)
    return;
  Expr i = rewriter.context.variable(type.getShape().back());
  Value weight = vectorOf(rewriter, rewriter.algebra.at(scale, i), i);
  if (!weight)
    return;
  rewriter.builder.setInsertionPointAfter(node);
  if (isSkip) {
    // The bias, where it is given, is added to the sum.
    if (node.getInput(3))
      return;
    x = rewriter.create<arith::AddFOp>(node.getLoc(), x, node.getInput(1));
    if (node.getNumResults() > 3 && !node.getResult(3).use_empty())
      rewriter.replace(node.getResult(3), x);
  }
  raiseNorm(rewriter, {x, node.getResult(0), weight,
                       asWritten(node.getFloat("epsilon", 1e-5))});
}

//===----------------------------------------------------------------------===//
// Spelled out
//===----------------------------------------------------------------------===//

/// The value whose squares are `squares`; null if they are none.
static Value squareRoot(RaiseRewriter &rewriter, Value squares) {
  auto node = squares.getDefiningOp<NodeOp>();
  if (!node || !(node.is("Pow") || node.is("Mul")))
    return {};
  Value x = node.getInput(0);
  SmallVector<Expr> indices = rewriter.algebra.variablesOf(squares);
  if (x.getType() != squares.getType())
    return {};
  Expr element = rewriter.algebra.at(x, indices);
  return rewriter.algebra.at(squares, indices) ==
                 rewriter.context.mul(element, element)
             ? x
             : Value();
}

/// Whether `element` is x[...] (mean[...] + eps)^-0.5, times weight[i].
static bool matchNorm(RaiseRewriter &rewriter, Expr element, Expr x, Expr mean,
                      Expr i, Norm &norm) {
  auto [coefficient, rest] = ExprContext::splitCoefficient(element);
  if (!rest || coefficient != 1)
    return false;
  bool hasX = false, hasRoot = false;
  norm.weight = {};
  for (Expr factor : ExprContext::factors(rest)) {
    if (factor == x && !hasX) {
      hasX = true;
      continue;
    }
    if (factor->getKind() == ExprKind::Power && factor->getNumber() == -0.5 &&
        !hasRoot) {
      Expr eps = rewriter.context.sub(factor->getOperand(0), mean);
      if (!eps->isConstant())
        return false;
      norm.eps = asWritten(eps->getNumber());
      hasRoot = true;
      continue;
    }
    norm.weight = norm.weight ? Value() : vectorOf(rewriter, factor, i);
    if (!norm.weight)
      return false;
  }
  return hasX && hasRoot;
}

static void raiseDecomposed(RaiseRewriter &rewriter, NodeOp mean) {
  GraphAlgebra &algebra = rewriter.algebra;
  Value squares = mean.getInput(0);
  auto type = dyn_cast<RankedTensorType>(squares.getType());
  auto axes = axesOf(algebra, mean, 1);
  if (!type || !type.hasStaticShape() || !axes || axes->size() != 1 ||
      fromFront(axes->front(), type.getRank()) != type.getRank() - 1)
    return;
  Value x = squareRoot(rewriter, squares);
  if (!x)
    return;
  algebra.addRoot(x);
  algebra.addRoot(mean.getResult(0));
  algebra.forgetElements();
  SmallVector<Expr> indices = algebra.variablesOf(x);
  SmallVector<Expr> row(ArrayRef(indices).drop_back());
  if (mean.getInt("keepdims", 1) != 0)
    row.push_back(rewriter.context.integer(0));
  Expr xElement = algebra.at(x, indices);
  Expr meanElement = algebra.at(mean.getResult(0), row);

  // Forward from the mean, as long as what is computed may become the norm.
  std::optional<Norm> found;
  SmallVector<Value> front{mean.getResult(0)};
  for (int depth = 0; depth < 8 && !front.empty(); ++depth) {
    SmallVector<Value> next;
    for (Value value : front) {
      for (Operation *user : value.getUsers()) {
        auto node = dyn_cast<NodeOp>(user);
        if (!node || node.getNumResults() != 1 ||
            llvm::is_contained(next, node.getResult(0)))
          continue;
        const AffineShape *shape = algebra.getShape(node.getResult(0));
        if (!shape || *shape != *algebra.getShape(x)) {
          // Still one number for each row.
          if (shape &&
              node.getResult(0).getType() == mean.getResult(0).getType())
            next.push_back(node.getResult(0));
          continue;
        }
        Norm norm{x, node.getResult(0), {}, 0};
        if (!matchNorm(rewriter, algebra.at(node.getResult(0), indices),
                       xElement, meanElement, indices.back(), norm))
          continue;
        if (!found || !found->weight)
          found = norm;
        next.push_back(node.getResult(0));
      }
    }
    front = next;
  }
  if (!found)
    return;
  rewriter.builder.setInsertionPointAfterValue(found->y);
  raiseNorm(rewriter, *found);
}

namespace {
struct RaiseRmsNormPass
    : public sdc::impl::RaiseRmsNormPassBase<RaiseRmsNormPass> {
  using RaiseRmsNormPassBase::RaiseRmsNormPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : nodes) {
        StringRef op = node.getOpType();
        if (op == "RMSNormalization" || op == "SimplifiedLayerNormalization" ||
            op == "SkipSimplifiedLayerNormalization")
          raiseOperator(rewriter, node);
        else if (node.is("ReduceMean"))
          raiseDecomposed(rewriter, node);
      }
    });
  }
};
} // namespace
