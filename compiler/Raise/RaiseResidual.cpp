// raise-residual: sums of rows of tokens become arith.addf.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISERESIDUALPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// `value` as raised rows [B, S, H], read through what only moves elements;
/// null if it is none.
static Value rowsOf(RaiseRewriter &rewriter, Value value) {
  auto isRaised = [](Value value) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    return op && !isa<NodeOp, ConstantOp, WeightRefOp>(op);
  };
  if (isRaised(value))
    return value;
  SmallVector<Expr> indices = rewriter.algebra.variablesOf(value);
  Expr element = rewriter.algebra.at(value, indices);
  if (element->getKind() != ExprKind::Load ||
      !isRaised(rewriter.algebra.getRoot(element)))
    return {};
  return rewriter.asRows(
      element, indices[0], indices[1], indices[2],
      cast<RankedTensorType>(value.getType()).getShape().back());
}

static void raiseResidual(RaiseRewriter &rewriter, NodeOp node) {
  Value a = node.getInput(0), b = node.getInput(1);
  auto type = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32() ||
      type.getRank() != 3 || type.getDimSize(0) != rewriter.batch ||
      type.getDimSize(1) != rewriter.rows || a.getType() != type ||
      b.getType() != type)
    return;
  rewriter.builder.setInsertionPointAfter(node);
  a = rowsOf(rewriter, a);
  b = rowsOf(rewriter, b);
  if (!a || !b || a.getType() != type || b.getType() != type)
    return;
  rewriter.replace(node.getResult(0),
                   rewriter.create<arith::AddFOp>(node.getLoc(), a, b));
}

namespace {
struct RaiseResidualPass
    : public sdc::impl::RaiseResidualPassBase<RaiseResidualPass> {
  using RaiseResidualPassBase::RaiseResidualPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : nodes)
        if (node.is("Add"))
          raiseResidual(rewriter, node);
    });
  }
};
} // namespace
