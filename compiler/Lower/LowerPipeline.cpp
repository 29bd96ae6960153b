// The passes of the room lower, in their order.

#include "compiler/Lower/LowerPipeline.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace sdc {

void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerOptions &options) {
  // Types are part of a kernel's name, so they come before any kernel.
  ChooseCacheTypePassOptions cache;
  cache.type = options.cacheType;
  manager.addPass(createChooseCacheTypePass(cache));

  if (options.fuse) {
    mlir::OpPassManager &function = manager.nest<mlir::func::FuncOp>();

    // Gate and up are read by one op, so they pair before others can take
    // them.
    function.addPass(createFuseGatesPass());

    // What still stands alone and reads the same value shares its loads of x.
    function.addPass(createFuseProjectionsPass());

    // Now each reader of a norm is one launch, which computes it for itself.
    function.addPass(createFuseInputsPass());

    // The sum is taken where the product is still in registers.
    function.addPass(createFuseResidualsPass());

    // Rotation and both appends touch each row once.
    function.addPass(createFuseRotaryPass());
  }

  // One op or group, one launch (attention may take two).
  manager.addPass(createLowerToKernelsPass());

  // Plan and emit know the words of exec and no others.
  manager.addPass(createVerifyLoweredPass());
}

} // namespace sdc
