// The pass verify-lowered: what must hold at the door of plan.

#include "compiler/Passes.h"
#include "dialects/Exec/ExecDialect.h"
#include "kernels/Spec/KernelSpec.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_VERIFYLOWEREDPASS
#include "compiler/Passes.h.inc"

namespace {

LogicalResult verifyKernel(exec::KernelOp op) {
  std::string problem;
  std::optional<KernelSpec> spec = KernelSpec::parse(op.getSymName(), problem);
  if (!spec)
    return op.emitOpError("the name is no specification: ") << problem;
  problem = spec->problem();
  if (!problem.empty())
    return op.emitOpError(problem);
  if (spec->scratchSize() != op.getScratch())
    return op.emitOpError("scratch is ")
           << op.getScratch() << ", its specification needs "
           << spec->scratchSize();
  return success();
}

LogicalResult verifyLaunch(exec::LaunchOp op) {
  std::string problem;
  std::optional<KernelSpec> spec = KernelSpec::parse(op.getKernel(), problem);
  if (!spec) // Said of the kernel.
    return failure();
  if (spec->unitCount() != op.getUnits())
    return op.emitOpError("has ")
           << op.getUnits() << " units, its kernel " << spec->unitCount();
  if (spec->numOperands() != op.getNumOperands())
    return op.emitOpError("has ")
           << op.getNumOperands() << " operands, its kernel "
           << spec->numOperands();
  return success();
}

struct VerifyLoweredPass : impl::VerifyLoweredPassBase<VerifyLoweredPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool sound = true;
    module.walk([&](Operation *op) {
      if (op == module || isa<exec::YieldOp>(op)) // A group's, said of it.
        return;
      LogicalResult ok = success();
      if (auto kernel = dyn_cast<exec::KernelOp>(op))
        ok = verifyKernel(kernel);
      else if (auto launch = dyn_cast<exec::LaunchOp>(op))
        ok = verifyLaunch(launch);
      else if (isa<exec::GroupOp>(op) ||
               !isa_and_nonnull<exec::ExecDialect>(op->getDialect()))
        ok = op->emitOpError("is left behind lower");
      sound &= succeeded(ok);
    });
    auto models = module.getOps<exec::ModelOp>();
    if (models.empty()) {
      module.emitError("has no exec.model");
      sound = false;
    }
    if (!sound)
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
