// The factor of the inverse second moments that SparseGPT prunes with, made
// once for each distinct input of linears (q, k and v share one).

#ifndef SDC_COMPILER_PRUNE_HESSIANFACTOR_H
#define SDC_COMPILER_PRUNE_HESSIANFACTOR_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// U, upper triangular, with U^T U = (s H + d I)^-1, where s = 1 / the mean
/// diagonal of H and d the damping. Dead columns (H[j, j] = 0) have 1 on the
/// diagonal instead and do not count in the mean, so that the unit of H has no
/// influence.
///
/// The factorisation is done in f64 and U is kept in f32. Measured on 576
/// columns with an attention sink, residual() is 4e-7, and 1e-4 if all is done
/// in f32; with a damping of 1e-4 4e-6 and 1e-2. f64 takes twice the time,
/// 2 K^3 / 3 flops at half the rate, and 8 K^2 bytes while it runs.
class HessianFactor {
public:
  /// `h` is [columns, columns], row-major, symmetric, positive semidefinite up
  /// to rounding; `damping` is relative to its mean diagonal, usually 0.01.
  ///
  /// If a pivot is not positive, or U (s H + d I) U^T differs from I on random
  /// vectors by more than 1e-3, damping is raised tenfold, at most to 1, and
  /// each time reasons() gains a line. Then it is an error: never is another
  /// matrix taken in place of H.
  static llvm::Expected<HessianFactor>
  compute(const float *h, int64_t columns, double damping, unsigned threads);

  int64_t columns() const { return size; }
  /// Row i of U; elements left of the diagonal are unspecified.
  const float *row(int64_t i) const { return upper() + i * size; }
  /// The damping that was used, and s.
  double damping() const { return usedDamping; }
  double scale() const { return inverseMean; }
  /// Columns without any excitation, ascending.
  const std::vector<int64_t> &deadColumns() const { return dead; }
  /// |U (s H + d I) U^T v - v| / |v|.
  double residual() const { return usedResidual; }
  const std::vector<std::string> &reasons() const { return notes; }

private:
  struct Release {
    void operator()(void *memory) const;
  };

  const float *upper() const {
    return static_cast<const float *>(storage.get());
  }

  int64_t size = 0;
  /// size x size floats, in what held the doubles of the factorisation.
  std::unique_ptr<void, Release> storage;
  double usedDamping = 0;
  double inverseMean = 1;
  double usedResidual = 0;
  std::vector<int64_t> dead;
  std::vector<std::string> notes;
};

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_HESSIANFACTOR_H
