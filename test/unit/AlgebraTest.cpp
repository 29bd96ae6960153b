// Products and factors against loops in double, and the promise that their bits
// depend neither on threads nor on the width of the CPU's vectors.

#include "compiler/Algebra/Cholesky.h"
#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/GemmKernel.h"
#include "compiler/Algebra/Parallel.h"
#include "compiler/Algebra/QuadraticForm.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

template <typename T> std::vector<T> randomVector(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<T> normal;
  std::vector<T> values(n);
  for (T &v : values)
    v = normal(random);
  return values;
}

template <typename T, typename C>
void checkGemm(int64_t m, int64_t n, int64_t k, bool transposed, GemmSign sign,
               GemmPart part, double tolerance) {
  std::vector<T> a = randomVector<T>(m * k, 1), b = randomVector<T>(k * n, 2);
  int64_t stride = n + 3;
  std::vector<C> c(m * stride, C(7)), again;
  auto viewA = transposed ? MatrixView<T>::rowMajor(a.data(), m).transposed()
                          : MatrixView<T>::rowMajor(a.data(), k);
  auto viewB = transposed ? MatrixView<T>::rowMajor(b.data(), k).transposed()
                          : MatrixView<T>::rowMajor(b.data(), n);
  again = c;
  gemm(m, n, k, viewA, viewB, c.data(), stride, sign, part, 1);
  gemm(m, n, k, viewA, viewB, again.data(), stride, sign, part, 3);
  EXPECT_EQ(std::memcmp(c.data(), again.data(), c.size() * sizeof(C)), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < stride; ++j) {
      double expected = 7;
      if (j < n && (part == GemmPart::All || j >= i)) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum +=
              double(viewA.data[i * viewA.rowStride + p * viewA.columnStride]) *
              double(viewB.data[p * viewB.rowStride + j * viewB.columnStride]);
        expected += sign == GemmSign::Add ? sum : -sum;
      }
      ASSERT_NEAR(c[i * stride + j], expected,
                  tolerance * std::sqrt(double(k) + 1))
          << m << "x" << n << "x" << k << " at " << i << ", " << j;
    }
}

TEST(Gemm, AgreesWithLoops) {
  const int64_t shapes[][3] = {{1, 1, 1},     {13, 33, 5},     {64, 128, 128},
                               {97, 70, 300}, {200, 210, 600}, {5, 1100, 40},
                               {12, 32, 0},   {250, 1, 257}};
  for (auto &s : shapes)
    for (bool transposed : {false, true})
      for (GemmSign sign : {GemmSign::Add, GemmSign::Subtract})
        for (GemmPart part : {GemmPart::All, GemmPart::Upper}) {
          checkGemm<float, float>(s[0], s[1], s[2], transposed, sign, part,
                                  5e-6);
          checkGemm<double, double>(s[0], s[1], s[2], transposed, sign, part,
                                    1e-14);
          checkGemm<float, double>(s[0], s[1], s[2], transposed, sign, part,
                                   5e-6);
        }
}

template <typename T> void checkKernels() {
  const auto &kernels = detail::gemmKernels<T>();
  constexpr int64_t depth = 256, count = 96;
  std::vector<T> a = randomVector<T>(count * depth, 3);
  std::vector<T> b = randomVector<T>(count * depth, 4);
  std::vector<T> first;
  for (const detail::GemmKernel<T> &kernel : kernels) {
    // The products of `count` rows and columns, tile by tile.
    std::vector<T> result(count * count), tile(kernel.rows * kernel.columns);
    std::vector<T> packedA(kernel.rows * depth);
    std::vector<T> packedB(kernel.columns * depth);
    for (int64_t i = 0; i < count; i += kernel.rows)
      for (int64_t j = 0; j + kernel.columns <= count; j += kernel.columns) {
        for (int64_t p = 0; p < depth; ++p) {
          for (int64_t r = 0; r < kernel.rows; ++r)
            packedA[p * kernel.rows + r] = a[(i + r) * depth + p];
          for (int64_t c = 0; c < kernel.columns; ++c)
            packedB[p * kernel.columns + c] = b[(j + c) * depth + p];
        }
        kernel.run(depth, packedA.data(), packedB.data(), tile.data());
        for (int64_t r = 0; r < kernel.rows; ++r)
          std::copy_n(&tile[r * kernel.columns], kernel.columns,
                      &result[(i + r) * count + j]);
      }
    if (first.empty())
      first = result;
    EXPECT_EQ(
        std::memcmp(first.data(), result.data(), first.size() * sizeof(T)), 0);
  }
}

TEST(Gemm, EveryVectorWidthGivesTheSameBits) {
  checkKernels<float>();
  checkKernels<double>();
}

template <typename T> void checkFactor(int64_t n, double tolerance) {
  // Diagonally dominant, and neither triangle looks like the other.
  std::vector<T> h = randomVector<T>(n * n, 5);
  for (int64_t i = 0; i < n; ++i)
    h[i * n + i] = T(2) * static_cast<T>(n);
  std::vector<T> u = h, again = h;
  ASSERT_FALSE(inverseFactor(n, u.data(), n, 0, 1));
  ASSERT_FALSE(inverseFactor(n, again.data(), n, 0, 3));
  EXPECT_EQ(std::memcmp(u.data(), again.data(), u.size() * sizeof(T)), 0);
  auto at = [&](const std::vector<T> &a, int64_t i, int64_t j) {
    return double(a[std::min(i, j) * n + std::max(i, j)]);
  };
  // U H U^T = I, by rows.
  for (int64_t i = 0; i < n; i += 1 + n / 40) {
    std::vector<double> row(n, 0.0);
    for (int64_t l = 0; l < n; ++l)
      for (int64_t j = i; j < n; ++j)
        row[l] += double(u[i * n + j]) * at(h, j, l);
    for (int64_t k = 0; k < n; ++k) {
      double sum = 0;
      for (int64_t l = k; l < n; ++l)
        sum += row[l] * double(u[k * n + l]);
      ASSERT_NEAR(sum, i == k, tolerance) << n << ": " << i << ", " << k;
    }
  }
  // What is below the diagonal is not touched.
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      ASSERT_EQ(u[i * n + j], h[i * n + j]);
}

TEST(Cholesky, FactorOfTheInverse) {
  for (int64_t n : {1, 2, 31, 32, 33, 100, 256, 257, 300, 600}) {
    checkFactor<double>(n, 1e-12);
    checkFactor<float>(n, 1e-5);
  }
}

TEST(Cholesky, NamesThePivot) {
  constexpr int64_t n = 300;
  std::vector<double> h(n * n, 0.0);
  for (int64_t i = 0; i < n; ++i)
    h[i * n + i] = 1;
  h[41 * n + 41] = -2;
  auto bad = inverseFactor(n, h.data(), n, 0, 1);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->column, 41);
  EXPECT_EQ(bad->value, -2);
  h[41 * n + 41] = NAN;
  ASSERT_TRUE(inverseFactor(n, h.data(), n, 0, 1));
}

TEST(QuadraticForm, AgreesWithLoops) {
  constexpr int64_t rows = 7, n = 1100;
  std::vector<float> d = randomVector<float>(rows * n, 6);
  std::vector<float> h = randomVector<float>(n * n, 7);
  for (int64_t i = 0; i < n; ++i) {
    h[i * n + i] = 100;
    for (int64_t j = 0; j < i; ++j)
      h[i * n + j] = h[j * n + i];
  }
  double expected = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        expected += double(d[r * n + i]) * h[i * n + j] * d[r * n + j];
  double got = quadraticForm(rows, n, d.data(), h.data(), 2);
  EXPECT_NEAR(got, expected, 1e-6 * std::fabs(expected));
}

TEST(Parallel, EachItemOnce) {
  for (unsigned threads : {1u, 2u, 5u})
    for (int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      parallelFor(threads, count, [&](int64_t i) { ++seen[i]; });
      for (auto &n : seen)
        EXPECT_EQ(n, 1);
    }
}

} // namespace
