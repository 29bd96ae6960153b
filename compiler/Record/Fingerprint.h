// A fingerprint of a weight that survives rounding to 16 bits and another
// exporter, and nothing else.
//
// Eight projections s^T W c / |W| on vectors of random signs. For given weights
// each is about as large as a normal number; rounding to bf16 moves it by about
// 1e-3, other weights by about 1, a fine-tuning that changes weights by a share
// e of their norm by about e. Two weights count as the same if the root mean
// square of the eight differences is below 3e-3 and the norms differ by less
// than 3e-3 of themselves; unequal ones pass with a chance below 1e-18.
//
// The sign of projection t for row or column i is bit t of splitmix64(i) for
// columns, of splitmix64(~i) for rows (1: minus).

#ifndef SDC_COMPILER_RECORD_FINGERPRINT_H
#define SDC_COMPILER_RECORD_FINGERPRINT_H

#include <array>
#include <cstdint>
#include <vector>

namespace sdc {

struct Fingerprint {
  static constexpr int64_t kProjections = 8;

  /// Frobenius norm, and the projections divided by it (0 for a norm of 0).
  double norm = 0;
  std::array<double, kProjections> projections = {};

  /// Whether both can come from the same weights.
  bool matches(const Fingerprint &other) const;
};

/// Takes a weight [rows, columns], y = x W^T, some rows at a time.
class FingerprintBuilder {
public:
  explicit FingerprintBuilder(int64_t columns);

  /// The next `count` rows, row-major and contiguous.
  void addRows(const float *rows, int64_t count, unsigned threads);

  Fingerprint finish() const;

private:
  int64_t columns;
  int64_t nextRow = 0;
  /// [columns][kProjections].
  std::vector<float> signs;
  std::vector<float> products;
  double squares = 0;
  std::array<double, Fingerprint::kProjections> sums = {};
};

} // namespace sdc

#endif // SDC_COMPILER_RECORD_FINGERPRINT_H
