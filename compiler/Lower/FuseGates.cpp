// The pass fuse-gates: an activation becomes part of the linears that it
// follows.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/LinearChain.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_FUSEGATESPASS
#include "compiler/Passes.h.inc"

namespace {

/// The linear that gives `value` to one user alone.
nm::LinearOp onlyLinear(Value value) {
  auto linear = value.getDefiningOp<nm::LinearOp>();
  return linear && value.hasOneUse() ? linear : nm::LinearOp();
}

void fuseGate(decode::GateOp gate) {
  nm::LinearOp first = onlyLinear(gate.getGate());
  nm::LinearOp second = onlyLinear(gate.getUp());
  if (!first || !second || first == second || first.getX() != second.getX())
    return;
  auto firstType = dyn_cast<nm::PackedType>(first.getWeight().getType());
  auto secondType = dyn_cast<nm::PackedType>(second.getWeight().getType());
  // A unit of the kernel is a block of rows of both.
  if (!firstType || !secondType ||
      firstType.getTile() != secondType.getTile() ||
      firstType.getRows() != secondType.getRows())
    return;
  // The kernel's order is gate, up.
  if (second->isBeforeInBlock(first))
    second->moveAfter(first);
  SmallVector<Operation *> ops = {first, second, gate};
  if (canGroupAtLast(ops))
    groupAtLast(ops);
}

void fuseActivation(decode::ActivateOp activate) {
  if (nm::LinearOp linear = onlyLinear(activate.getX()))
    if (canGroupAtLast({linear, activate}))
      groupAtLast({linear, activate});
}

struct FuseGatesPass : impl::FuseGatesPassBase<FuseGatesPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto gate = dyn_cast<decode::GateOp>(op))
        fuseGate(gate);
      else if (auto activate = dyn_cast<decode::ActivateOp>(op))
        fuseActivation(activate);
    });
  }
};

} // namespace
} // namespace sdc
