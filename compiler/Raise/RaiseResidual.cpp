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

namespace {
struct RaiseResidualPass
    : public sdc::impl::RaiseResidualPassBase<RaiseResidualPass> {
  using RaiseResidualPassBase::RaiseResidualPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      auto isRaised = [](Value value) {
        Operation *op = value.getDefiningOp();
        return op && !isa<NodeOp, ConstantOp, WeightRefOp>(op);
      };
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : nodes) {
        if (!node.is("Add"))
          continue;
        Value a = node.getInput(0), b = node.getInput(1);
        auto type = dyn_cast<RankedTensorType>(node.getResult(0).getType());
        if (!type || type.getRank() != 3 || a.getType() != type ||
            b.getType() != type || !type.hasStaticShape() ||
            !type.getElementType().isF32() || !isRaised(a) || !isRaised(b))
          continue;
        rewriter.builder.setInsertionPointAfter(node);
        rewriter.replace(node.getResult(0),
                         rewriter.create<arith::AddFOp>(node.getLoc(), a, b));
      }
    });
  }
};
} // namespace
