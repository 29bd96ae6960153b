// The pass fuse-residuals: an addition becomes part of the linear whose result
// it adds.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/LinearChain.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_FUSERESIDUALSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Tries to make `add` part of the launch that gives `value`.
bool fuse(arith::AddFOp add, Value value, Value residual) {
  Operation *launch = value.getDefiningOp();
  if (!launch || !value.hasOneUse() || value == residual)
    return false;
  FailureOr<LinearChain> chain = matchLinearChain(launch);
  if (failed(chain) || chain->outputs.size() != 1 || chain->add)
    return false;
  SmallVector<Operation *> ops = {launch, add};
  if (!canGroupAtLast(ops))
    return false;
  groupAtLast(ops);
  return true;
}

struct FuseResidualsPass : impl::FuseResidualsPassBase<FuseResidualsPass> {
  void runOnOperation() override {
    SmallVector<arith::AddFOp> adds;
    getOperation().walk([&](arith::AddFOp add) { adds.push_back(add); });
    for (arith::AddFOp add : adds)
      // Of two linears the later one: its sum is complete when the other's is.
      if (!fuse(add, add.getRhs(), add.getLhs()))
        fuse(add, add.getLhs(), add.getRhs());
  }
};

} // namespace
} // namespace sdc
