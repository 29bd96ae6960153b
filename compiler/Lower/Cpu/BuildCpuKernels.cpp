// The pass build-cpu-kernels: kernels of a module as functions of a level.

#include "compiler/Lower/Cpu/BuildKernels.h"
#include "compiler/Passes.h"
#include "dialects/Exec/ExecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_BUILDCPUKERNELSPASS
#include "compiler/Passes.h.inc"

namespace {

struct BuildCpuKernelsPass
    : impl::BuildCpuKernelsPassBase<BuildCpuKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<CpuLevel> target = parseCpuLevel(level);
    if (!target) {
      module.emitError("level '")
          << level << "' is not known, expected avx2 or avx512vbmi2";
      return signalPassFailure();
    }
    SmallVector<KernelSpec> specs;
    bool failed = false;
    for (auto op : module.getOps<exec::KernelOp>()) {
      std::string problem;
      if (auto spec = KernelSpec::parse(op.getSymName(), problem)) {
        specs.push_back(*spec);
        continue;
      }
      op.emitOpError("the name is no specification: ") << problem;
      failed = true;
    }
    if (failed)
      return signalPassFailure();
    // Functions take the names of the kernels.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
      op.erase();
    if (mlir::failed(buildCpuKernels(module, specs, *target)))
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
