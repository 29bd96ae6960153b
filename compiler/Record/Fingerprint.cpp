// Projections of weights on random signs.

#include "compiler/Record/Fingerprint.h"
#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/Signs.h"

#include <cmath>

using namespace sdc;

static float signOf(uint64_t hash, int64_t projection) {
  return hash >> projection & 1u ? -1.0f : 1.0f;
}

bool Fingerprint::matches(const Fingerprint &other) const {
  constexpr double tolerance = 3e-3;
  double sum = 0;
  for (int64_t t = 0; t < kProjections; ++t) {
    double d = projections[t] - other.projections[t];
    sum += d * d;
  }
  return std::sqrt(sum / kProjections) <= tolerance &&
         std::fabs(norm - other.norm) <= tolerance * std::fabs(norm);
}

FingerprintBuilder::FingerprintBuilder(int64_t columns)
    : columns(columns), signs(columns * Fingerprint::kProjections) {
  for (int64_t j = 0; j < columns; ++j) {
    uint64_t hash = splitmix64(static_cast<uint64_t>(j));
    for (int64_t t = 0; t < Fingerprint::kProjections; ++t)
      signs[j * Fingerprint::kProjections + t] = signOf(hash, t);
  }
}

void FingerprintBuilder::addRows(const float *rows, int64_t count,
                                 unsigned threads) {
  constexpr int64_t width = Fingerprint::kProjections;
  products.assign(count * width, 0.0f);
  gemm(count, width, columns, MatrixView<float>::rowMajor(rows, columns),
       MatrixView<float>::rowMajor(signs.data(), width), products.data(), width,
       GemmSign::Add, GemmPart::All, threads);
  for (int64_t r = 0; r < count; ++r) {
    uint64_t hash = splitmix64(~static_cast<uint64_t>(nextRow + r));
    for (int64_t t = 0; t < width; ++t)
      sums[t] += static_cast<double>(products[r * width + t] * signOf(hash, t));
    for (int64_t j = 0; j < columns; ++j) {
      double value = rows[r * columns + j];
      squares += value * value;
    }
  }
  nextRow += count;
}

Fingerprint FingerprintBuilder::finish() const {
  Fingerprint result;
  result.norm = std::sqrt(squares);
  if (result.norm > 0)
    for (int64_t t = 0; t < Fingerprint::kProjections; ++t)
      result.projections[t] = sums[t] / result.norm;
  return result;
}
