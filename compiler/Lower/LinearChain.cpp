// Reads a linear chain out of a group; see LinearChain.h.

#include "compiler/Lower/LinearChain.h"
#include "compiler/Lower/Grouping.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sdc {

/// The ops behind the linears, which must be all that is left of the group.
static LogicalResult matchTail(ArrayRef<Operation *> ops, LinearChain &chain) {
  for (Operation *op : ops) {
    Value branch = chain.outputs.size() == 1 ? chain.outputs[0] : Value();
    if (auto gate = dyn_cast<decode::GateOp>(op)) {
      if (chain.linears.size() != 2 || chain.hasTail() ||
          gate.getGate() != chain.outputs[0] ||
          gate.getUp() != chain.outputs[1])
        return failure();
      chain.gate = gate;
    } else if (auto activate = dyn_cast<decode::ActivateOp>(op)) {
      if (chain.hasTail() || activate.getX() != branch)
        return failure();
      chain.activate = activate;
    } else if (auto add = dyn_cast<arith::AddFOp>(op)) {
      if (chain.add || !branch ||
          (add.getLhs() != branch) == (add.getRhs() != branch))
        return failure();
      chain.add = add;
      chain.residual = add.getLhs() == branch ? add.getRhs() : add.getLhs();
    } else {
      return failure();
    }
    chain.outputs = {op->getResult(0)};
  }
  return success();
}

FailureOr<LinearChain> matchLinearChain(Operation *launch) {
  SmallVector<Operation *> ops = launchOps(launch);
  LinearChain chain;
  chain.launch = launch;

  // In front: each op reads what the one before gave.
  size_t i = 0;
  Value current;
  for (; i < ops.size(); ++i) {
    if (isa<decode::RmsNormOp, decode::LayerNormOp>(ops[i]) && !chain.norm)
      chain.norm = ops[i];
    else if (auto lastRow = dyn_cast<decode::LastRowOp>(ops[i]);
             lastRow && !chain.lastRow)
      chain.lastRow = lastRow;
    else
      break;
    if (current && ops[i]->getOperand(0) != current)
      return failure();
    if (!current)
      chain.x = ops[i]->getOperand(0);
    current = ops[i]->getResult(0);
  }

  for (; i < ops.size(); ++i) {
    auto linear = dyn_cast<nm::LinearOp>(ops[i]);
    if (!linear)
      break;
    if (!current)
      chain.x = current = linear.getX();
    if (linear.getX() != current)
      return failure();
    chain.linears.push_back(linear);
    chain.outputs.push_back(linear.getResult());
  }
  if (chain.linears.empty() ||
      failed(matchTail(ArrayRef(ops).drop_front(i), chain)))
    return failure();
  return chain;
}

} // namespace sdc
