// The room lower as one pipeline: fusion, then kernels.

#ifndef SDC_COMPILER_LOWER_LOWERPIPELINE_H
#define SDC_COMPILER_LOWER_LOWERPIPELINE_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace sdc {

struct LowerOptions {
  /// Off for -O0: every op is a launch of its own.
  bool fuse = true;
};

void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerOptions &options);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_LOWERPIPELINE_H
