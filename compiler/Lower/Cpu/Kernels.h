// One builder for each kind of kernel: writes the body of the function at the
// insertion point of `k`. Internal to this folder; see BuildKernels.h.

#ifndef SDC_COMPILER_LOWER_CPU_KERNELS_H
#define SDC_COMPILER_LOWER_CPU_KERNELS_H

#include "compiler/Lower/Cpu/KernelBuilder.h"
#include "kernels/Spec/KernelSpec.h"

namespace sdc {

/// The arguments of a kernel, and its operands in order.
class KernelArguments {
public:
  KernelArguments(KernelBuilder &k, mlir::Value operands, mlir::Value begin,
                  mlir::Value end, mlir::Value scratch)
      : begin(begin), end(end), scratch(scratch), k(k), operands(operands) {}

  mlir::Value begin, end, scratch;

  /// The next operand, in the order of kernels/Spec.
  mlir::Value next();

private:
  KernelBuilder &k;
  mlir::Value operands;
  int64_t taken = 0;
};

void buildKernel(KernelBuilder &k, const EmbedSpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const LinearSpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const RotarySpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const AttentionSpec &s,
                 KernelArguments &args);
void buildKernel(KernelBuilder &k, const CombineSpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const RowNormSpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const LastRowSpec &s, KernelArguments &args);
void buildKernel(KernelBuilder &k, const ElementwiseSpec &s,
                 KernelArguments &args);

/// The index, i64, of the last of `rows` rows whose position is not -1; 0 if
/// there is none.
mlir::Value buildLastActiveRow(KernelBuilder &k, mlir::Value positions,
                               int64_t rows);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_KERNELS_H
