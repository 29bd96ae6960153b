// One instance of the tile for each level of the instruction set, and the
// choice among them.

#include "compiler/Algebra/GemmKernel.h"

using namespace sdc::detail;

namespace {

template <typename T>
[[gnu::target("avx512f")]] void tileAvx512(int64_t depth, const T *a,
                                           const T *b, T *tile) {
  gemmTile<T, 12, 64>(depth, a, b, tile);
}

template <typename T>
[[gnu::target("avx2,fma")]] void tileAvx2(int64_t depth, const T *a, const T *b,
                                          T *tile) {
  gemmTile<T, 6, 32>(depth, a, b, tile);
}

/// Calls fma() of the C library for each product: right, and slow.
template <typename T>
void tileBase(int64_t depth, const T *a, const T *b, T *tile) {
  gemmTile<T, 4, 16>(depth, a, b, tile);
}

template <typename T> std::vector<GemmKernel<T>> choose() {
  // Two vectors wide.
  constexpr int64_t lanes512 = int64_t{2} * 64 / sizeof(T);
  constexpr int64_t lanes256 = lanes512 / 2, lanes128 = lanes512 / 4;
  std::vector<GemmKernel<T>> kernels;
  if (__builtin_cpu_supports("avx512f"))
    kernels.push_back({12, lanes512, tileAvx512<T>});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({6, lanes256, tileAvx2<T>});
  kernels.push_back({4, lanes128, tileBase<T>});
  return kernels;
}

} // namespace

template <typename T>
const std::vector<GemmKernel<T>> &sdc::detail::gemmKernels() {
  static const std::vector<GemmKernel<T>> kernels = choose<T>();
  return kernels;
}

template const std::vector<GemmKernel<float>> &
sdc::detail::gemmKernels<float>();
template const std::vector<GemmKernel<double>> &
sdc::detail::gemmKernels<double>();
