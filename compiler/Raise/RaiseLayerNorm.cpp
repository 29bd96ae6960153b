// raise-layer-norm: LayerNormalization over the last axis becomes
// decode.layer_norm.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISELAYERNORMPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// The vector of an input as a load; null if it is none.
static Value loadVector(RaiseRewriter &rewriter, Location loc, Value input,
                        int64_t size) {
  const AffineShape *shape = rewriter.algebra.getShape(input);
  if (!shape || shape->size() != 1)
    return {};
  Expr i = rewriter.context.variable(size);
  Expr element = rewriter.algebra.at(input, i);
  Value root = rewriter.getConstantRoot(element);
  if (!root || element->getOperands() != ExprRange(i))
    return {};
  return rewriter.weights.load(rewriter.builder, loc, root, {size});
}

static void raiseLayerNorm(RaiseRewriter &rewriter, NodeOp node) {
  Value x = node.getInput(0);
  auto type = dyn_cast<RankedTensorType>(x.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32() ||
      fromFront(node.getInt("axis", -1), type.getRank()) != type.getRank() - 1)
    return;
  int64_t size = type.getShape().back();
  rewriter.builder.setInsertionPointAfter(node);
  Value weight = loadVector(rewriter, node.getLoc(), node.getInput(1), size);
  Value bias;
  if (node.getInput(2))
    bias = loadVector(rewriter, node.getLoc(), node.getInput(2), size);
  if (!weight || (node.getInput(2) && !bias))
    return;
  rewriter.replace(node.getResult(0),
                   rewriter.create<decode::LayerNormOp>(
                       node.getLoc(), type, x, weight, bias,
                       rewriter.builder.getF64FloatAttr(
                           asWritten(node.getFloat("epsilon", 1e-5)))));
}

namespace {
struct RaiseLayerNormPass
    : public sdc::impl::RaiseLayerNormPassBase<RaiseLayerNormPass> {
  using RaiseLayerNormPassBase::RaiseLayerNormPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : nodes)
        if (node.is("LayerNormalization"))
          raiseLayerNorm(rewriter, node);
    });
  }
};
} // namespace
