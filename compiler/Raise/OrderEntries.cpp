// order-entries: one order of operations and of the operands of sums, so that
// the text of an entry does not tell who exported it.

#include "compiler/Passes.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sdc;

namespace sdc {
#define GEN_PASS_DEF_ORDERENTRIESPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// A residual sum has what a linear adds as its second operand.
static void orderOperands(arith::AddFOp add) {
  bool isLinear[2];
  for (unsigned i : {0, 1})
    isLinear[i] =
        add->getOperand(i).getDefiningOp<decode::LinearOp>() != nullptr;
  if (!isLinear[0] || isLinear[1])
    return;
  Value first = add.getLhs();
  add->setOperand(0, add.getRhs());
  add->setOperand(1, first);
}

/// Every operation after what it reads, as late as its first reader allows.
static void orderOperations(Block &block) {
  SmallVector<Operation *> order;
  DenseSet<Operation *> seen;
  // An operation is put down once all it reads is.
  SmallVector<std::pair<Operation *, unsigned>> stack{
      {block.getTerminator(), 0}};
  seen.insert(block.getTerminator());
  while (!stack.empty()) {
    auto &[op, next] = stack.back();
    if (next == op->getNumOperands()) {
      order.push_back(op);
      stack.pop_back();
      continue;
    }
    Operation *source = op->getOperand(next++).getDefiningOp();
    if (source && seen.insert(source).second)
      stack.push_back({source, 0});
  }
  for (Operation *op : order)
    op->moveBefore(&block, block.end());
  // What nothing reads comes first, and goes when it has no effect.
  for (Operation &op : llvm::make_early_inc_range(block))
    if (!seen.contains(&op) && isMemoryEffectFree(&op) && op.use_empty())
      op.erase();
}

namespace {
struct OrderEntriesPass
    : public sdc::impl::OrderEntriesPassBase<OrderEntriesPass> {
  using OrderEntriesPassBase::OrderEntriesPassBase;

  void runOnOperation() override {
    func::FuncOp entry = getOperation();
    if (!entry->hasAttr(decode::kEntryAttr))
      return;
    entry.walk([](arith::AddFOp add) { orderOperands(add); });
    orderOperations(entry.getBody().front());
  }
};
} // namespace
