// Damping, factorisation and the check of its residual.

#include "compiler/Prune/HessianFactor.h"
#include "compiler/Algebra/Cholesky.h"
#include "compiler/Algebra/Signs.h"
#include "compiler/Prune/GroupChoice.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace sdc;

/// For formatv, which prints two decimals by itself.
static auto digits(double value) { return llvm::format("%.3g", value); }

namespace {

constexpr double kMaxResidual = 1e-3;
constexpr double kMaxDamping = 1.0;

/// s H + d I, one row of its upper triangle at a time.
struct Damped {
  const float *h;
  int64_t n;
  double scale;
  double damping;
  const std::vector<char> &isDead;

  /// Element (i, j) for j >= i.
  double at(int64_t i, int64_t j) const {
    if (i != j)
      return scale * static_cast<double>(h[i * n + j]);
    return (isDead[i] ? 1.0 : scale * static_cast<double>(h[i * n + i])) +
           damping;
  }
};

/// |U A U^T v - v| / |v| for vectors of signs: what the factor does in place of
/// what it should do. Two products of n^2 for each, against n^3 of the factor.
double residualOf(const Damped &a, const float *u) {
  int64_t n = a.n;
  double worst = 0;
  for (int probe = 0; probe < 2; ++probe) {
    std::vector<double> v(n), y(n, 0.0), z(n, 0.0);
    for (int64_t i = 0; i < n; ++i)
      v[i] = fixedSign(probe * n + i);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i; j < n; ++j)
        y[j] += static_cast<double>(u[i * n + j]) * v[i];
    for (int64_t i = 0; i < n; ++i) {
      double sum = a.at(i, i) * y[i];
      for (int64_t j = i + 1; j < n; ++j) {
        double x = a.at(i, j);
        sum += x * y[j];
        z[j] += x * y[i];
      }
      z[i] += sum;
    }
    double error = 0;
    for (int64_t i = 0; i < n; ++i) {
      double sum = -v[i];
      for (int64_t j = i; j < n; ++j)
        sum += static_cast<double>(u[i * n + j]) * z[j];
      error += sum * sum;
    }
    double residual = std::sqrt(error / static_cast<double>(n));
    if (!(residual <= worst))
      worst = residual;
  }
  return worst;
}

} // namespace

void HessianFactor::Release::operator()(void *memory) const {
  std::free(memory);
}

llvm::Expected<HessianFactor> HessianFactor::compute(const float *h,
                                                     int64_t columns,
                                                     double damping,
                                                     unsigned threads) {
  if (!(damping >= 0 && damping <= kMaxDamping))
    return llvm::createStringError(
        llvm::formatv("damping {0} is out of range, expected 0 to {1}",
                      digits(damping), digits(kMaxDamping)));
  if (llvm::Error error = detail::checkMoments(h, columns))
    return error;

  HessianFactor result;
  result.size = columns;
  std::vector<char> isDead(columns, 0);
  double sum = 0;
  for (int64_t j = 0; j < columns; ++j) {
    double value = h[j * columns + j];
    sum += value;
    if (value == 0) {
      isDead[j] = 1;
      result.dead.push_back(j);
      // A column that is never excited has no moment with another.
      for (int64_t i = 0; i < columns; ++i)
        if (h[j * columns + i] != 0)
          return llvm::createStringError(llvm::formatv(
              "the second moment {0} of columns {1} and {2} is not 0 although "
              "column {1} is never excited",
              digits(h[j * columns + i]), j, i));
    }
  }
  auto live =
      static_cast<double>(columns) - static_cast<double>(result.dead.size());
  if (live > 0)
    result.inverseMean = live / sum;

  auto *a =
      static_cast<double *>(std::malloc(sizeof(double) * columns * columns));
  if (!a)
    return llvm::createStringError(
        llvm::formatv("no memory for the {0} bytes that factorising {1} x {1} "
                      "second moments needs",
                      sizeof(double) * columns * columns, columns));
  std::unique_ptr<void, Release> memory(a);
  for (double d = damping;; d = d == 0 ? 1e-4 : d * 10) {
    d = std::min(d, kMaxDamping);
    Damped damped = {h, columns, result.inverseMean, d, isDead};
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = i; j < columns; ++j)
        a[i * columns + j] = damped.at(i, j);
    // A pivot that lost all but three digits to cancellation says nothing.
    std::string why;
    if (auto bad = inverseFactor(columns, a, columns, 1e-13, threads)) {
      why = llvm::formatv("pivot {0} of column {1} is not positive",
                          digits(bad->value), bad->column);
    } else {
      // In ascending order the floats never overtake the doubles. A float is
      // written where a double was: by memcpy, for the sake of aliasing.
      auto *narrow = reinterpret_cast<char *>(a);
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          // Left of the diagonal lies what malloc gave.
          float value = j < i ? 0.0f : static_cast<float>(a[i * columns + j]);
          std::memcpy(narrow + sizeof(float) * (i * columns + j), &value,
                      sizeof(float));
        }
      double residual = residualOf(damped, reinterpret_cast<float *>(a));
      if (residual <= kMaxResidual) {
        result.usedDamping = d;
        result.usedResidual = residual;
        break;
      }
      why = llvm::formatv("the residual of the factor is {0}, more than {1}",
                          digits(residual), digits(kMaxResidual));
    }
    if (d >= kMaxDamping)
      return llvm::createStringError(llvm::formatv(
          "the second moments are not positive definite, even with damping "
          "{0}: {1}",
          digits(d), why));
    result.notes.push_back(llvm::formatv(
        "damping {0} raised to {1}: {2}", digits(d),
        digits(std::min(d == 0 ? 1e-4 : d * 10, kMaxDamping)), why));
  }
  size_t bytes = sizeof(float) * columns * columns;
  void *whole = memory.release();
  void *smaller = std::realloc(whole, bytes);
  result.storage.reset(smaller ? smaller : whole);
  return result;
}
