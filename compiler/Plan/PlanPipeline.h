// The room plan as one pipeline: buffers and weights get their places.

#ifndef SDC_COMPILER_PLAN_PLANPIPELINE_H
#define SDC_COMPILER_PLAN_PLANPIPELINE_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace sdc {

void buildPlanPipeline(mlir::OpPassManager &manager);

} // namespace sdc

#endif // SDC_COMPILER_PLAN_PLANPIPELINE_H
