// The inner product of Gemm.cpp: a tile of the result in registers, for one
// vector width. Only chains of fused multiply-adds, so that all widths give the
// same bits.

#ifndef SDC_COMPILER_ALGEBRA_GEMMKERNEL_H
#define SDC_COMPILER_ALGEBRA_GEMMKERNEL_H

#include <cstdint>
#include <cstring>
#include <vector>

namespace sdc::detail {

/// One way to compute a tile of `rows` x `columns`: from packed panels a[depth]
/// [rows] and b[depth][columns] to tile[rows][columns].
template <typename T> struct GemmKernel {
  int64_t rows;
  int64_t columns;
  void (*run)(int64_t depth, const T *a, const T *b, T *tile);
};

template <typename T, int Rows, int VectorBytes>
[[gnu::always_inline]] inline void gemmTile(int64_t depth, const T *a,
                                            const T *b, T *tile) {
  constexpr int lanes = VectorBytes / sizeof(T);
  using Vector = T __attribute__((vector_size(VectorBytes)));
  Vector sum[Rows][2] = {};
  for (int64_t p = 0; p < depth; ++p, a += Rows, b += 2 * lanes) {
    Vector b0, b1;
    std::memcpy(&b0, b, VectorBytes);
    std::memcpy(&b1, b + lanes, VectorBytes);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      Vector ai = a[i] - Vector{};
      sum[i][0] = __builtin_elementwise_fma(ai, b0, sum[i][0]);
      sum[i][1] = __builtin_elementwise_fma(ai, b1, sum[i][1]);
    }
  }
  std::memcpy(tile, sum, sizeof(sum));
}

/// The kernels that this CPU can run, the fastest first.
template <typename T> const std::vector<GemmKernel<T>> &gemmKernels();

} // namespace sdc::detail

#endif // SDC_COMPILER_ALGEBRA_GEMMKERNEL_H
