// The pass fuse-inputs: norms and the choice of the last row move into the
// linears that read them.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/LinearChain.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_FUSEINPUTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Whether the kernel can compute `op` in front of what `chain` has.
bool fits(Operation *op, const LinearChain &chain) {
  if (isa<decode::RmsNormOp, decode::LayerNormOp>(op))
    return !chain.norm;
  return isa<decode::LastRowOp>(op) && !chain.lastRow;
}

/// The launches that use the result of `op`, if all are linear chains that can
/// take it in; else none.
SmallVector<Operation *> willingUsers(Operation *op) {
  llvm::SmallSetVector<Operation *, 4> launches;
  for (Operation *user : op->getUsers()) {
    Operation *launch = launchOf(user);
    FailureOr<LinearChain> chain = matchLinearChain(launch);
    if (failed(chain) || chain->x != op->getResult(0) || !fits(op, *chain) ||
        chain->residual == op->getResult(0))
      return {};
    launches.insert(launch);
  }
  return launches.takeVector();
}

struct FuseInputsPass : impl::FuseInputsPassBase<FuseInputsPass> {
  void runOnOperation() override {
    // From the end: what is in front of a norm that moved can follow it.
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (isa<decode::RmsNormOp, decode::LayerNormOp, decode::LastRowOp>(op))
        candidates.push_back(op);
    });
    for (Operation *op : llvm::reverse(candidates)) {
      SmallVector<Operation *> launches = willingUsers(op);
      // Each launch computes the norm for itself; the last one may have the op.
      for (Operation *launch : launches) {
        Operation *own = op;
        if (launch != launches.back()) {
          own = op->clone();
          OpBuilder(launch).insert(own);
          op->getResult(0).replaceUsesWithIf(
              own->getResult(0), [&](OpOperand &use) {
                return launchOf(use.getOwner()) == launch;
              });
        } else {
          own->moveBefore(launch);
        }
        groupAtLast({own, launch});
      }
    }
  }
};

} // namespace
} // namespace sdc
