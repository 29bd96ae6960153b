// Blocked reversed Cholesky and triangular inverse over gemm().

#include "compiler/Algebra/Cholesky.h"
#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/Parallel.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace sdc;

namespace {

/// Orders below kSmall are done element by element; wide matrices go by panels
/// of kPanel columns, narrow ones by panels of kSmall.
constexpr int64_t kSmall = 32;
constexpr int64_t kPanel = 256;

int64_t panelOf(int64_t n) { return n <= kPanel ? kSmall : kPanel; }

template <typename T> using View = MatrixView<T>;

/// The diagonal of H before it is overwritten, to compare pivots with.
template <typename T> struct Pivots {
  std::vector<double> bound;

  Pivots(int64_t n, const T *a, int64_t stride, double tolerance) {
    for (int64_t i = 0; i < n; ++i)
      bound.push_back(tolerance * static_cast<double>(a[i * stride + i]));
  }
};

/// a = R R^T in place; `bound` belongs to the first column.
template <typename T>
std::optional<BadPivot> factorSmall(int64_t n, T *a, int64_t stride,
                                    const double *bound) {
  T column[kSmall];
  for (int64_t j = n - 1; j >= 0; --j) {
    auto pivot = static_cast<double>(a[j * stride + j]);
    if (!std::isfinite(pivot) || !(pivot > std::max(bound[j], 0.0)))
      return BadPivot{j, pivot};
    T root = std::sqrt(a[j * stride + j]);
    a[j * stride + j] = root;
    for (int64_t i = 0; i < j; ++i)
      column[i] = a[i * stride + j] /= root;
    for (int64_t i = 0; i < j; ++i)
      for (int64_t l = i; l < j; ++l)
        a[i * stride + l] -= column[i] * column[l];
  }
  return std::nullopt;
}

/// Inverts an upper triangle in place.
template <typename T> void invertSmall(int64_t n, T *a, int64_t stride) {
  T column[kSmall];
  for (int64_t j = 0; j < n; ++j) {
    T inverse = T(1) / a[j * stride + j];
    for (int64_t i = 0; i < j; ++i)
      column[i] = a[i * stride + j];
    for (int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (int64_t l = i; l < j; ++l)
        sum += a[i * stride + l] * column[l];
      a[i * stride + j] = -sum * inverse;
    }
    a[j * stride + j] = inverse;
  }
}

template <typename T>
void invertTriangle(int64_t n, T *a, int64_t stride, unsigned threads) {
  if (n <= kSmall)
    return invertSmall(n, a, stride);
  int64_t panel = panelOf(n);
  std::vector<T> x, y;
  for (int64_t begin = 0; begin < n; begin += panel) {
    int64_t width = std::min(panel, n - begin);
    T *diagonal = a + begin * stride + begin;
    invertTriangle(width, diagonal, stride, 1);
    if (begin == 0)
      continue;
    // The column above becomes -U R[:, panel] T, where U is what has been
    // inverted so far and T the inverse of the diagonal block. The triangle
    // below T's diagonal is not ours, hence a copy with zeros there.
    std::vector<T> t(width * width, T(0));
    for (int64_t i = 0; i < width; ++i)
      std::copy(diagonal + i * stride + i, diagonal + i * stride + width,
                t.begin() + i * width + i);
    x.assign(begin * width, T(0));
    gemm(begin, width, width, View<T>::rowMajor(a + begin, stride),
         View<T>::rowMajor(t.data(), width), x.data(), width, GemmSign::Add,
         GemmPart::All, threads);
    y.assign(begin * width, T(0));
    int64_t stripes = (begin + panel - 1) / panel;
    parallelFor(threads, stripes, [&](int64_t stripe) {
      int64_t row = stripe * panel, rows = std::min(panel, begin - row);
      // The stripe's own triangle, then the full columns right of it.
      std::vector<T> own(rows * rows, T(0));
      for (int64_t i = 0; i < rows; ++i)
        std::copy(a + (row + i) * stride + row + i,
                  a + (row + i) * stride + row + rows,
                  own.begin() + i * rows + i);
      T *out = y.data() + row * width;
      gemm(rows, width, rows, View<T>::rowMajor(own.data(), rows),
           View<T>::rowMajor(x.data() + row * width, width), out, width,
           GemmSign::Subtract, GemmPart::All, 1);
      int64_t next = row + rows;
      gemm(rows, width, begin - next,
           View<T>::rowMajor(a + row * stride + next, stride),
           View<T>::rowMajor(x.data() + next * width, width), out, width,
           GemmSign::Subtract, GemmPart::All, 1);
    });
    for (int64_t i = 0; i < begin; ++i)
      std::copy_n(y.data() + i * width, width, a + i * stride + begin);
  }
}

template <typename T>
std::optional<BadPivot> factor(int64_t n, T *a, int64_t stride,
                               const double *bound, unsigned threads) {
  if (n <= kSmall)
    return factorSmall(n, a, stride, bound);
  int64_t panel = panelOf(n);
  std::vector<T> t, p;
  for (int64_t begin = (n - 1) / panel * panel; begin >= 0; begin -= panel) {
    int64_t width = std::min(panel, n - begin);
    T *diagonal = a + begin * stride + begin;
    if (auto bad = factor(width, diagonal, stride, bound + begin, 1))
      return BadPivot{begin + bad->column, bad->value};
    if (begin == 0)
      break;
    t.assign(width * width, T(0));
    for (int64_t i = 0; i < width; ++i)
      std::copy(diagonal + i * stride + i, diagonal + i * stride + width,
                t.begin() + i * width + i);
    invertTriangle(width, t.data(), width, 1);
    // The column above: P = A T^T; then A -= P P^T.
    p.assign(begin * width, T(0));
    gemm(begin, width, width, View<T>::rowMajor(a + begin, stride),
         View<T>::rowMajor(t.data(), width).transposed(), p.data(), width,
         GemmSign::Add, GemmPart::All, threads);
    for (int64_t i = 0; i < begin; ++i)
      std::copy_n(p.data() + i * width, width, a + i * stride + begin);
    auto view = View<T>::rowMajor(p.data(), width);
    gemm(begin, begin, width, view, view.transposed(), a, stride,
         GemmSign::Subtract, GemmPart::Upper, threads);
  }
  return std::nullopt;
}

template <typename T>
std::optional<BadPivot> inverseFactorImpl(int64_t n, T *a, int64_t stride,
                                          double tolerance, unsigned threads) {
  Pivots<T> pivots(n, a, stride, tolerance);
  if (auto bad = factor(n, a, stride, pivots.bound.data(), threads))
    return bad;
  invertTriangle(n, a, stride, threads);
  return std::nullopt;
}

} // namespace

std::optional<BadPivot> sdc::inverseFactor(int64_t n, double *a, int64_t stride,
                                           double tolerance, unsigned threads) {
  return inverseFactorImpl(n, a, stride, tolerance, threads);
}

std::optional<BadPivot> sdc::inverseFactor(int64_t n, float *a, int64_t stride,
                                           double tolerance, unsigned threads) {
  return inverseFactorImpl(n, a, stride, tolerance, threads);
}
