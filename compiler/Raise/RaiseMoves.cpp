// raise-moves: what raised operations still read through reshapes, transposes
// and slices, they read from the raised values themselves.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEMOVESPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// `value`, the result of a node, as rows or heads of raised values.
static Value settle(RaiseRewriter &rewriter, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32() ||
      type.getRank() < 3 || type.getRank() > 4 ||
      type.getDimSize(0) != rewriter.batch ||
      type.getDimSize(1) != rewriter.rows)
    return {};
  SmallVector<Expr> i = rewriter.algebra.variablesOf(value);
  Expr element = rewriter.algebra.at(value, i);
  if (type.getRank() == 3)
    return rewriter.asRows(element, i[0], i[1], i[2], type.getDimSize(2));
  return rewriter.asHeads(element, i[0], i[1], i[2], i[3], type.getDimSize(2),
                          type.getDimSize(3));
}

namespace {
struct RaiseMovesPass : public sdc::impl::RaiseMovesPassBase<RaiseMovesPass> {
  using RaiseMovesPassBase::RaiseMovesPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      SmallVector<Operation *> ops;
      for (Operation &op : rewriter.graph.getBody().front())
        if (!isa<NodeOp>(op))
          ops.push_back(&op);
      for (Operation *op : ops)
        for (OpOperand &operand : op->getOpOperands())
          if (operand.get().getDefiningOp<NodeOp>())
            if (Value settled = settle(rewriter, operand.get()))
              operand.set(settled);
    });
  }
};
} // namespace
