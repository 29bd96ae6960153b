// The passes of the room plan, in their order.

#include "compiler/Plan/PlanPipeline.h"
#include "compiler/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace sdc {

void buildPlanPipeline(mlir::OpPassManager &manager) {
  // Everything that a session needs is placed before it begins, so that a step
  // allocates nothing.
  manager.addPass(createPlanMemoryPass());

  // The runtime trusts offsets beyond their bounds; so they are checked here by
  // other code than that which made them.
  manager.addPass(createVerifyPlannedPass());
}

} // namespace sdc
