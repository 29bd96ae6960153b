// From kernel specifications to MLIR: one function for each, in the func, scf,
// arith, vector and llvm dialects.

#ifndef SDC_COMPILER_LOWER_CPU_BUILDKERNELS_H
#define SDC_COMPILER_LOWER_CPU_BUILDKERNELS_H

#include "kernels/Cpu/CpuLevel.h"
#include "kernels/Spec/KernelSpec.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sdc {

/// The dialects that the functions are made of.
void registerCpuKernelDialects(mlir::DialectRegistry &registry);

/// Adds a function for each spec to the module, named as the spec, with the
/// calling convention of kernels/Spec. A spec that makes no sense is an error
/// at the module's location; all of them are reported.
mlir::LogicalResult buildCpuKernels(mlir::ModuleOp module,
                                    llvm::ArrayRef<KernelSpec> specs,
                                    CpuLevel level);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_BUILDKERNELS_H
