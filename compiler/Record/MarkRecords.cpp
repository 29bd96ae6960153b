// Marks every distinct input of linears with its key in a calibration file.

#include "compiler/Passes.h"
#include "compiler/Weights/LinearNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_MARKRECORDSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Marks the inputs of one entry. Keys depend on nothing but the order of the
/// linears, so that all entries get the same.
LogicalResult markEntry(func::FuncOp entry) {
  llvm::MapVector<Value, SmallVector<decode::LinearOp>> inputs;
  WalkResult walked = entry.walk([&](decode::LinearOp op) {
    if (!loadOf(op.getWeight())) {
      op.emitOpError("expected decode.load to give the weight");
      return WalkResult::interrupt();
    }
    inputs[op.getX()].push_back(op);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();

  llvm::StringSet<> taken;
  unsigned others = 0;
  for (auto &[x, linears] : inputs) {
    if (x.getDefiningOp<decode::RecordOp>())
      continue;
    // A value that feeds linears of two roles, as in a block whose attention
    // and MLP share their norm, has the key of the first.
    std::string key =
        recordKeyOf(loadOf(linears.front().getWeight()).getWeight());
    if (key.empty() || !taken.insert(key).second)
      key = "other." + std::to_string(others++) + "_in";
    OpBuilder builder(linears.front());
    auto mark = decode::RecordOp::create(builder, linears.front().getLoc(),
                                         x.getType(), x, key);
    for (decode::LinearOp linear : linears)
      linear.getXMutable().assign(mark);
  }
  return success();
}

struct MarkRecordsPass : impl::MarkRecordsPassBase<MarkRecordsPass> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (failed(markEntry(entry)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace sdc
