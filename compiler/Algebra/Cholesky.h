// The one factor that OBS pruning needs: U, upper triangular, with
// U^T U = H^-1. Instead of Cholesky, inverse and Cholesky again it takes the
// reversed Cholesky factor R (upper, R R^T = H) and inverts the triangle:
// H^-1 = R^-T R^-1, so U = R^-1. 2 n^3 / 3 operations in all, in place.

#ifndef SDC_COMPILER_ALGEBRA_CHOLESKY_H
#define SDC_COMPILER_ALGEBRA_CHOLESKY_H

#include <cstdint>
#include <optional>

namespace sdc {

/// Where a factorisation stopped: the matrix is not positive definite within
/// the precision of its type.
struct BadPivot {
  int64_t column;
  double value;
};

/// Replaces the upper triangle of `a` (n x n, row-major, rows `stride` apart)
/// by that of U; what is below the diagonal is neither read nor written. Stops
/// at a pivot that is not finite or not above `tolerance` times the diagonal
/// element that it comes from; the triangle is then spoilt.
[[nodiscard]] std::optional<BadPivot> inverseFactor(int64_t n, double *a,
                                                    int64_t stride,
                                                    double tolerance,
                                                    unsigned threads);
[[nodiscard]] std::optional<BadPivot> inverseFactor(int64_t n, float *a,
                                                    int64_t stride,
                                                    double tolerance,
                                                    unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_CHOLESKY_H
