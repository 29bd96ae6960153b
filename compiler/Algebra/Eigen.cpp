// Jacobi's method, and subspace iteration with a Rayleigh-Ritz step.

#include "compiler/Algebra/Eigen.h"
#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/Signs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sdc;

namespace {

using View = MatrixView<double>;

/// out[m, n] = a b.
std::vector<double> product(int64_t m, int64_t n, int64_t k, View a, View b,
                            unsigned threads) {
  std::vector<double> out(m * n, 0.0);
  gemm(m, n, k, a, b, out.data(), n, GemmSign::Add, GemmPart::All, threads);
  return out;
}

double dot(int64_t n, const double *a, const double *b) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Makes the rows of q [rows, n] orthonormal, by Gram and Schmidt done twice; a
/// row that depends on those before it becomes a unit vector that does not.
void orthonormalize(int64_t rows, int64_t n, double *q) {
  int64_t fresh = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double *row = q + r * n;
    double before = std::sqrt(dot(n, row, row));
    for (;;) {
      for (int pass = 0; pass < 2; ++pass)
        for (int64_t s = 0; s < r; ++s) {
          double share = dot(n, row, q + s * n);
          for (int64_t i = 0; i < n; ++i)
            row[i] -= share * q[s * n + i];
        }
      double norm = std::sqrt(dot(n, row, row));
      if (norm > 1e-12 * before && norm > 0) {
        for (int64_t i = 0; i < n; ++i)
          row[i] /= norm;
        break;
      }
      std::fill(row, row + n, 0.0);
      row[fresh++] = 1;
      before = 1e6;
    }
  }
}

} // namespace

Eigenpairs sdc::symmetricEigen(int64_t n, std::vector<double> a) {
  std::vector<double> v(n * n, 0.0);
  for (int64_t i = 0; i < n; ++i)
    v[i * n + i] = 1;
  double scale = 0;
  for (double value : a)
    scale += value * value;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q)
        off += a[p * n + q] * a[p * n + q];
    if (off <= 1e-30 * scale)
      break;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double apq = a[p * n + q];
        if (apq == 0)
          continue;
        double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
        double t = (theta >= 0 ? 1 : -1) /
                   (std::fabs(theta) + std::sqrt(theta * theta + 1));
        double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int64_t i = 0; i < n; ++i) {
          double x = a[i * n + p], y = a[i * n + q];
          a[i * n + p] = c * x - s * y;
          a[i * n + q] = s * x + c * y;
        }
        for (int64_t i = 0; i < n; ++i) {
          double x = a[p * n + i], y = a[q * n + i];
          a[p * n + i] = c * x - s * y;
          a[q * n + i] = s * x + c * y;
          double vx = v[p * n + i], vy = v[q * n + i];
          v[p * n + i] = c * vx - s * vy;
          v[q * n + i] = s * vx + c * vy;
        }
      }
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    double ax = a[x * n + x], ay = a[y * n + y];
    return ax != ay ? ax > ay : x < y;
  });
  Eigenpairs result;
  for (int64_t i : order) {
    result.values.push_back(a[i * n + i]);
    result.vectors.insert(result.vectors.end(), v.begin() + i * n,
                          v.begin() + (i + 1) * n);
  }
  return result;
}

Eigenpairs sdc::largestEigen(int64_t n, const std::vector<double> &a,
                             int64_t count, unsigned threads) {
  count = std::min(count, n);
  int64_t rows = std::min(n, count + std::max<int64_t>(8, count / 4));
  std::vector<double> q(rows * n);
  for (int64_t i = 0; i < rows * n; ++i)
    q[i] = fixedSign(i);
  orthonormalize(rows, n, q.data());
  View matrix = View::rowMajor(a.data(), n);
  Eigenpairs small;
  std::vector<double> last(count, 0.0);
  for (int step = 0; step < 200; ++step) {
    std::vector<double> next =
        product(rows, n, n, View::rowMajor(q.data(), n), matrix, threads);
    std::vector<double> ritz =
        product(rows, rows, n, View::rowMajor(q.data(), n),
                View::rowMajor(next.data(), n).transposed(), threads);
    small = symmetricEigen(rows, std::move(ritz));
    double change = 0;
    for (int64_t i = 0; i < count; ++i)
      change = std::max(change, std::fabs(small.values[i] - last[i]));
    std::copy_n(small.values.begin(), count, last.begin());
    if (rows == n || change <= 1e-7 * std::fabs(last[0]))
      break;
    q = std::move(next);
    orthonormalize(rows, n, q.data());
  }
  Eigenpairs result;
  result.values = std::move(last);
  result.vectors =
      product(count, n, rows, View::rowMajor(small.vectors.data(), rows),
              View::rowMajor(q.data(), n), threads);
  return result;
}
