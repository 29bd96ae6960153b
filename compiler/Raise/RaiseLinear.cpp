// raise-linear: products with a constant matrix become decode.linear, whatever
// the orientation of the matrix and whatever lies between it and the product.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISELINEARPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

namespace {
/// A constant matrix W[r, k] = stored[first + r, k], or stored[k, first + r].
struct Matrix {
  Value root;
  int64_t first = 0;
  bool transposed = false;
};
} // namespace

static std::optional<Matrix> matchMatrix(RaiseRewriter &rewriter, Value value,
                                         bool isRowsFirst, Expr r, Expr k) {
  const AffineShape *shape = rewriter.algebra.getShape(value);
  if (!shape || shape->size() != 2)
    return std::nullopt;
  Expr element = isRowsFirst ? rewriter.algebra.at(value, {r, k})
                             : rewriter.algebra.at(value, {k, r});
  Value root = rewriter.getConstantRoot(element);
  if (!root || element->getOperands().size() != 2)
    return std::nullopt;
  ExprContext &context = rewriter.context;
  for (bool transposed : {false, true}) {
    Expr row = element->getOperand(transposed ? 1 : 0);
    auto first = context.asInteger(context.sub(row, r));
    if (element->getOperand(transposed ? 0 : 1) == k && first && *first >= 0)
      return Matrix{root, *first, transposed};
  }
  return std::nullopt;
}

/// The bias whose element r is `element`: elements `first` on of a constant.
static Value loadBias(RaiseRewriter &rewriter, Location loc, Expr element,
                      Expr r, int64_t count) {
  Value root = rewriter.getConstantRoot(element);
  if (!root || element->getOperands().size() != 1)
    return {};
  ExprContext &context = rewriter.context;
  auto first = context.asInteger(context.sub(element->getOperand(0), r));
  if (!first || *first < 0)
    return {};
  return rewriter.weights.load(rewriter.builder, loc, root, {count}, *first);
}

/// x of a product as [B, S, K]: as it is, or as what it is a reshape of.
static Value tokenRows(RaiseRewriter &rewriter, Value x, int64_t k) {
  auto type = dyn_cast<RankedTensorType>(x.getType());
  if (!type || !type.hasStaticShape())
    return {};
  RankedTensorType wanted =
      rewriter.tensorOf({rewriter.batch, rewriter.rows, k});
  if (type == wanted)
    return x;
  if (type.getNumElements() != wanted.getNumElements() || type.getRank() != 2)
    return {};
  ExprContext &context = rewriter.context;
  Expr b = context.variable(rewriter.batch),
       s = context.variable(rewriter.rows), c = context.variable(k);
  Expr token =
      context.add(context.scale(b, static_cast<double>(rewriter.rows)), s);
  if (Value rows =
          rewriter.asRows(rewriter.algebra.at(x, {token, c}), b, s, c, k))
    return rows;
  return rewriter.reshape(x, wanted.getShape());
}

/// Takes the Add of a constant vector that is the only user of the product.
static NodeOp findBiasAdd(RaiseRewriter &rewriter, Value product, Expr r,
                          Expr &element) {
  if (!product.hasOneUse())
    return {};
  auto add = dyn_cast<NodeOp>(*product.user_begin());
  if (!add || !add.is("Add") || add.getResult(0).getType() != product.getType())
    return {};
  Value other = add.getInput(0) == product ? add.getInput(1) : add.getInput(0);
  const AffineShape *shape = rewriter.algebra.getShape(other);
  if (!shape || shape->empty() ||
      llvm::any_of(ArrayRef(*shape).drop_back(),
                   [](Affine size) { return size != Affine(1); }))
    return {};
  SmallVector<Expr> indices(shape->size(), rewriter.context.integer(0));
  indices.back() = r;
  Expr bias = rewriter.algebra.at(other, indices);
  if (!rewriter.getConstantRoot(bias))
    return {};
  element = bias;
  return add;
}

static void raiseLinear(RaiseRewriter &rewriter, NodeOp node) {
  bool isGemm = node.is("Gemm");
  Value result = node.getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  const AffineShape *stored =
      node.getInput(1) ? rewriter.algebra.getShape(node.getInput(1)) : nullptr;
  if (!type || !type.hasStaticShape() || !stored || stored->size() != 2)
    return;
  if (isGemm &&
      (node.getInt("transA", 0) != 0 || node.getFloat("alpha", 1) != 1 ||
       (node.getInput(2) && node.getFloat("beta", 1) != 1)))
    return;
  bool isRowsFirst = isGemm && node.getInt("transB", 0) != 0;
  int64_t k = (*stored)[isRowsFirst ? 1 : 0].base;
  int64_t rows = type.getShape().back();
  ExprContext &context = rewriter.context;
  Expr rowVariable = context.variable(rows), kVariable = context.variable(k);
  auto matrix = matchMatrix(rewriter, node.getInput(1), isRowsFirst,
                            rowVariable, kVariable);
  if (!matrix)
    return;

  Location loc = node.getLoc();
  Expr biasElement = nullptr;
  Value replaced = result;
  if (isGemm && node.getInput(2)) {
    const AffineShape *shape = rewriter.algebra.getShape(node.getInput(2));
    if (!shape || shape->empty() || shape->back() != Affine(rows))
      return;
    SmallVector<Expr> indices(shape->size(), context.integer(0));
    indices.back() = rowVariable;
    biasElement = rewriter.algebra.at(node.getInput(2), indices);
    if (!rewriter.getConstantRoot(biasElement))
      return;
  } else if (NodeOp add =
                 findBiasAdd(rewriter, result, rowVariable, biasElement)) {
    replaced = add.getResult(0);
  }
  rewriter.builder.setInsertionPointAfterValue(replaced);
  Value x = tokenRows(rewriter, node.getInput(0), k);
  if (!x)
    return;
  Value bias;
  if (biasElement) {
    bias = loadBias(rewriter, loc, biasElement, rowVariable, rows);
    if (!bias)
      return;
  }
  Value weight =
      rewriter.weights.load(rewriter.builder, loc, matrix->root, {rows, k},
                            matrix->first, matrix->transposed);
  Value linear = rewriter.create<decode::LinearOp>(
      loc, rewriter.tensorOf({rewriter.batch, rewriter.rows, rows}), x, weight,
      bias);
  if (type.getRank() != 3)
    linear = rewriter.reshape(linear, type.getShape());
  rewriter.replace(replaced, linear);
}

namespace {
struct RaiseLinearPass
    : public sdc::impl::RaiseLinearPassBase<RaiseLinearPass> {
  using RaiseLinearPassBase::RaiseLinearPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      SmallVector<NodeOp> products;
      for (auto node : rewriter.graph.getBody().getOps<NodeOp>())
        if (node.is("MatMul") || node.is("Gemm"))
          products.push_back(node);
      for (NodeOp node : products)
        raiseLinear(rewriter, node);
    });
  }
};
} // namespace
