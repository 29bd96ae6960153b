// The pass plan-memory: places for buffers and weights. The placement itself
// is in Arena.h, which knows nothing of IR.

#include "compiler/Passes.h"
#include "compiler/Plan/Liveness.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kWeightsSegment = "weights";

/// Weights one behind the other, in the order of the module.
void placeWeights(ModuleOp module) {
  Builder builder(module.getContext());
  int64_t end = 0;
  exec::WeightOp first;
  for (auto weight : module.getOps<exec::WeightOp>()) {
    if (!first)
      first = weight;
    weight.setSegmentAttr(
        FlatSymbolRefAttr::get(module.getContext(), kWeightsSegment));
    weight.setOffsetAttr(builder.getI64IntegerAttr(end));
    end = exec::alignUp(end + weight.getSize());
  }
  if (!first)
    return;
  OpBuilder before(first);
  exec::SegmentOp::create(before, module.getLoc(), kWeightsSegment,
                          exec::SegmentKind::Weights, end);
}

LogicalResult placeBuffers(exec::EntryOp entry) {
  FailureOr<Liveness> liveness = computeLiveness(entry);
  if (failed(liveness))
    return failure();
  ArenaPlan plan = planArena(liveness->lifetimes);
  assert(arenaProblem(liveness->lifetimes, plan).empty());
  Builder builder(entry.getContext());
  for (auto [buffer, offset] : llvm::zip(liveness->buffers, plan.offsets))
    buffer.setOffsetAttr(builder.getI64IntegerAttr(offset));
  entry.setArenaSizeAttr(builder.getI64IntegerAttr(plan.size));
  remark::passed(entry.getLoc(),
                 remark::RemarkOpts::name("arena").category("plan"))
      << remark::metric("bytes", plan.size)
      << remark::metric("lower bound", arenaLowerBound(liveness->lifetimes));
  return success();
}

struct PlanMemoryPass : impl::PlanMemoryPassBase<PlanMemoryPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.lookupSymbol(kWeightsSegment)) {
      module.emitError("has a symbol named ")
          << kWeightsSegment << ": is it planned already?";
      return signalPassFailure();
    }
    placeWeights(module);
    bool sound = true;
    for (auto entry : module.getOps<exec::EntryOp>())
      sound &= succeeded(placeBuffers(entry));
    if (!sound)
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
