// Elementary functions to f32 accuracy (1 to 2 units in the last place) on
// vectors of any width, made of arithmetic only: no library, no table, no
// branch, the same bits on every level.

#ifndef SDC_COMPILER_LOWER_CPU_MATHAPPROX_H
#define SDC_COMPILER_LOWER_CPU_MATHAPPROX_H

#include "compiler/Lower/Cpu/KernelBuilder.h"
#include "kernels/Spec/KernelSpec.h"

#include <utility>

namespace sdc {

/// e^x, subnormal and infinite results included.
mlir::Value buildExp(KernelBuilder &k, mlir::Value x);
mlir::Value buildTanh(KernelBuilder &k, mlir::Value x);
mlir::Value buildErf(KernelBuilder &k, mlir::Value x);

/// Sine and cosine of f32 angles up to 2^31 in size.
std::pair<mlir::Value, mlir::Value> buildSinCos(KernelBuilder &k,
                                                mlir::Value x);

mlir::Value buildActivation(KernelBuilder &k, Activation act, mlir::Value x);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_MATHAPPROX_H
