// The discrepancy of two second moments.

#include "compiler/Record/Discrepancy.h"
#include "compiler/Algebra/Eigen.h"
#include "compiler/Algebra/Gemm.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

using namespace sdc;

double sdc::discrepancy(int64_t n, const std::vector<double> &reference,
                        const std::vector<double> &other, int64_t directions,
                        unsigned threads) {
  using View = MatrixView<double>;
  Eigenpairs top = largestEigen(n, reference, directions, threads);
  // A direction without any energy is none.
  int64_t k = 0;
  while (k < static_cast<int64_t>(top.values.size()) &&
         top.values[k] > 1e-12 * top.values[0])
    ++k;
  if (k == 0)
    return 0;
  auto u = View::rowMajor(top.vectors.data(), n);
  std::vector<double> half(k * n, 0.0), whole(k * k, 0.0);
  gemm(k, n, n, u, View::rowMajor(other.data(), n), half.data(), n,
       GemmSign::Add, GemmPart::All, threads);
  gemm(k, k, n, View::rowMajor(half.data(), n), u.transposed(), whole.data(), k,
       GemmSign::Add, GemmPart::All, threads);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < k; ++j)
      whole[i * k + j] /= std::sqrt(top.values[i] * top.values[j]);
  for (int64_t i = 0; i < k; ++i)
    whole[i * k + i] -= 1;
  Eigenpairs all = symmetricEigen(k, std::move(whole));
  return std::max(std::fabs(all.values.front()), std::fabs(all.values.back()));
}

/// The weighed moments of `key`, per position.
static llvm::Expected<std::vector<double>>
momentsOf(const Calibration &file, const CalibrationKey &key,
          const PositionWeights &weights, int64_t columns) {
  std::vector<float> h(columns * columns);
  if (llvm::Error error = file.weigh(key.name, columns, weights, h.data()))
    return error;
  double positions = 0;
  for (unsigned c = 0; c < kPositionClasses; ++c)
    positions += weights.weights[c] * static_cast<double>(key.counts[c]);
  std::vector<double> moments(h.begin(), h.end());
  for (double &value : moments)
    value /= positions;
  return moments;
}

llvm::Expected<std::vector<Discrepancy>>
sdc::compareCalibrations(const Calibration &reference, const Calibration &other,
                         const PositionWeights &weights, double share,
                         unsigned threads) {
  std::vector<Discrepancy> result;
  for (const CalibrationKey &key : reference.info().keys) {
    const CalibrationKey *partner = other.info().findKey(key.name);
    if (!partner)
      continue;
    auto a = momentsOf(reference, key, weights, key.columns);
    if (!a)
      return a.takeError();
    auto b = momentsOf(other, *partner, weights, key.columns);
    if (!b)
      return b.takeError();
    Discrepancy entry;
    entry.key = key.name;
    entry.columns = key.columns;
    entry.directions = std::clamp<int64_t>(
        std::llround(share * static_cast<double>(key.columns)), 1, key.columns);
    entry.value = discrepancy(key.columns, *a, *b, entry.directions, threads);
    result.push_back(std::move(entry));
  }
  if (result.empty())
    return llvm::createStringError(other.path() +
                                   ": has no input in common "
                                   "with " +
                                   reference.path());
  return result;
}
