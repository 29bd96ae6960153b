// Dense matrix products on the compiling machine, for the sums of a recording
// and for pruning.
//
// Every element of a product is one chain of fused multiply-adds over at most
// 256 terms, in ascending order, and such chains are added to the result one
// after the other. So the bits do not depend on the number of threads, on the
// width of the CPU's vectors, or on what else is computed; an optimised BLAS
// promises none of the three, and the serial OpenBLAS of Debian 12 may not even
// be called from two threads at once (tried: wrong products).

#ifndef SDC_COMPILER_ALGEBRA_GEMM_H
#define SDC_COMPILER_ALGEBRA_GEMM_H

#include <cstdint>

namespace sdc {

/// A matrix somewhere in memory, read only.
template <typename T> struct MatrixView {
  const T *data;
  int64_t rowStride;
  int64_t columnStride;

  /// Rows `stride` elements apart, columns next to each other.
  static MatrixView rowMajor(const T *data, int64_t stride) {
    return {data, stride, 1};
  }
  MatrixView transposed() const { return {data, columnStride, rowStride}; }
};

/// Which elements of the result are computed; the others are left untouched.
/// Upper: those at or right of the diagonal.
enum class GemmPart : uint8_t { All, Upper };

/// Whether the product is added to the result or taken from it.
enum class GemmSign : uint8_t { Add, Subtract };

/// c[m, n] += or -= a[m, k] b[k, n]. `c` is row-major, its rows `stride`
/// elements apart; it must not overlap `a` or `b`. Takes about 1.2 MiB of
/// scratch memory a thread.
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a,
          MatrixView<float> b, float *c, int64_t stride, GemmSign sign,
          GemmPart part, unsigned threads);
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<double> a,
          MatrixView<double> b, double *c, int64_t stride, GemmSign sign,
          GemmPart part, unsigned threads);
/// Chains of 256 products in f32, added up in f64.
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a,
          MatrixView<float> b, double *c, int64_t stride, GemmSign sign,
          GemmPart part, unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_GEMM_H
