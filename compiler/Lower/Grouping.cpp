// Building groups and looking into them; see Grouping.h.

#include "compiler/Lower/Grouping.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sdc {

SmallVector<Operation *> launchOps(Operation *op) {
  auto group = dyn_cast<exec::GroupOp>(op);
  if (!group)
    return {op};
  SmallVector<Operation *> ops;
  for (Operation &inner : group.getBody().front().without_terminator())
    ops.push_back(&inner);
  return ops;
}

Operation *launchOf(Operation *op) {
  if (auto group = dyn_cast_or_null<exec::GroupOp>(op->getParentOp()))
    return group;
  return op;
}

/// Whether all are different ops of one block, in order.
static bool areInOrder(ArrayRef<Operation *> ops) {
  for (size_t i = 1; i < ops.size(); ++i)
    if (ops[i]->getBlock() != ops[0]->getBlock() ||
        !ops[i - 1]->isBeforeInBlock(ops[i]))
      return false;
  return !ops.empty();
}

bool canGroupAtLast(ArrayRef<Operation *> ops) {
  if (!areInOrder(ops))
    return false;
  for (Operation *op : ops)
    for (Operation *user : op->getUsers()) {
      Operation *outer = op->getBlock()->findAncestorOpInBlock(*user);
      if (!outer || (!llvm::is_contained(ops, outer) &&
                     outer->isBeforeInBlock(ops.back())))
        return false;
    }
  return true;
}

/// The ops whose results `op`, or the body of `op`, reads from its block.
static SmallVector<Operation *> producers(Operation *op) {
  SmallVector<Operation *> found;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock())
        found.push_back(producer);
  });
  return found;
}

bool canGroupAtFirst(ArrayRef<Operation *> ops) {
  if (!areInOrder(ops))
    return false;
  for (Operation *op : ops)
    for (Operation *producer : producers(op))
      if (!llvm::is_contained(ops, producer) &&
          !producer->isBeforeInBlock(ops.front()) &&
          producer->getNumOperands() != 0)
        return false;
  return true;
}

/// Moves `ops` into a new group before `place`.
static exec::GroupOp makeGroup(ArrayRef<Operation *> ops, Operation *place) {
  // What is used by others becomes a result.
  SmallVector<Value> yielded;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !llvm::is_contained(
                ops, op->getBlock()->findAncestorOpInBlock(*user));
          }))
        yielded.push_back(result);

  OpBuilder builder(place);
  auto group = exec::GroupOp::create(builder, place->getLoc(),
                                     ValueRange(yielded).getTypes());
  Block *body = builder.createBlock(&group.getBody());
  for (auto [result, value] : llvm::zip(group.getResults(), yielded))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !llvm::is_contained(
          ops, group->getBlock()->findAncestorOpInBlock(*use.getOwner()));
    });

  for (Operation *op : ops) {
    auto inner = dyn_cast<exec::GroupOp>(op);
    if (!inner) {
      op->moveBefore(body, body->end());
      continue;
    }
    Operation *yield = inner.getBody().front().getTerminator();
    for (auto [result, value] :
         llvm::zip(inner.getResults(), yield->getOperands())) {
      result.replaceAllUsesWith(value);
      llvm::replace(yielded, Value(result), Value(value));
    }
    yield->erase();
    body->getOperations().splice(body->end(),
                                 inner.getBody().front().getOperations());
    inner->erase();
  }
  builder.setInsertionPointToEnd(body);
  exec::YieldOp::create(builder, place->getLoc(), yielded);
  return group;
}

exec::GroupOp groupAtLast(ArrayRef<Operation *> ops) {
  assert(canGroupAtLast(ops));
  // The new group goes behind the last op, which may dissolve.
  OpBuilder builder(ops.back()->getContext());
  Operation *place = ops.back()->getNextNode();
  return makeGroup(ops, place);
}

exec::GroupOp groupAtFirst(ArrayRef<Operation *> ops) {
  assert(canGroupAtFirst(ops));
  for (Operation *op : ops)
    for (Operation *producer : producers(op))
      if (!llvm::is_contained(ops, producer) &&
          !producer->isBeforeInBlock(ops.front()))
        producer->moveBefore(ops.front());
  return makeGroup(ops, ops.front());
}

} // namespace sdc
