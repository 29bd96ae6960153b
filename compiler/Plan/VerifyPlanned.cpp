// The pass verify-planned: what must hold at the door of emit. Trusts no
// placement: it compares all pairs anew from the offsets in the IR.

#include "compiler/Passes.h"
#include "compiler/Plan/Liveness.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_VERIFYPLANNEDPASS
#include "compiler/Passes.h.inc"

namespace {

LogicalResult verifyWeights(ModuleOp module) {
  bool sound = true;
  int64_t end = 0;
  for (auto weight : module.getOps<exec::WeightOp>()) {
    std::optional<int64_t> offset = weight.getOffset();
    if (!offset || *offset < end) {
      weight.emitOpError(offset ? "overlaps the weight before it"
                                : "has no place");
      sound = false;
      continue;
    }
    end = *offset + weight.getSize();
  }
  return success(sound);
}

LogicalResult verifyEntry(exec::EntryOp entry) {
  FailureOr<Liveness> liveness = computeLiveness(entry);
  if (failed(liveness))
    return failure();
  if (!entry.getArenaSize())
    return entry.emitOpError("has no arena");
  ArenaPlan plan;
  plan.size = *entry.getArenaSize();
  for (exec::BufferOp buffer : liveness->buffers) {
    if (!buffer.getOffset())
      return buffer.emitOpError("has no offset");
    plan.offsets.push_back(*buffer.getOffset());
  }
  std::string problem = arenaProblem(liveness->lifetimes, plan);
  if (!problem.empty())
    return entry.emitOpError(problem);
  return success();
}

struct VerifyPlannedPass : impl::VerifyPlannedPassBase<VerifyPlannedPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool sound = succeeded(verifyWeights(module));
    for (auto entry : module.getOps<exec::EntryOp>())
      sound &= succeeded(verifyEntry(entry));
    if (!sound)
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
