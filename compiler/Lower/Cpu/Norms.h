// Normalisation of one row, for kernels that begin with it and for the kernel
// that does nothing else.

#ifndef SDC_COMPILER_LOWER_CPU_NORMS_H
#define SDC_COMPILER_LOWER_CPU_NORMS_H

#include "compiler/Lower/Cpu/KernelBuilder.h"
#include "kernels/Spec/KernelSpec.h"

namespace sdc {

/// Calls `body` for each step of at most `step` columns of `columns`, with the
/// first column (i64) and the number of columns, which is a constant.
void forColumns(KernelBuilder &k, int64_t columns, int64_t step,
                llvm::function_ref<void(mlir::Value, int64_t)> body);

/// One normalisation and the row that it was prepared for.
class RowNorm {
public:
  /// `weight` and `bias` may be null where the spec has none; without a norm
  /// apply() gives back what it gets.
  RowNorm(KernelBuilder &k, const NormSpec &spec, int64_t columns,
          mlir::Value weight, mlir::Value bias)
      : k(k), spec(spec), columns(columns), weight(weight), bias(bias) {}

  /// Reads the row x, f32, and keeps its statistics.
  void prepare(mlir::Value x);

  /// Normalises 16 lanes that begin at `column`; `count` of them exist, and the
  /// others must be zero, and are zero after it.
  mlir::Value apply(mlir::Value lanes, mlir::Value column, int64_t count);

private:
  KernelBuilder &k;
  NormSpec spec;
  int64_t columns;
  mlir::Value weight, bias;
  /// 1 / sqrt(..) and the mean, in all lanes.
  mlir::Value scale, mean;
};

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_NORMS_H
