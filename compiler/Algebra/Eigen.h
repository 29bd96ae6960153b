// Eigenpairs of symmetric matrices: all of a small one, the largest of a wide
// one.

#ifndef SDC_COMPILER_ALGEBRA_EIGEN_H
#define SDC_COMPILER_ALGEBRA_EIGEN_H

#include <cstdint>
#include <vector>

namespace sdc {

struct Eigenpairs {
  /// Descending.
  std::vector<double> values;
  /// Row i is the vector of values[i], of norm 1.
  std::vector<double> vectors;
};

/// All pairs of the symmetric a [n, n], by Jacobi rotations: exact to rounding,
/// O(n^3) with a large constant; for n of some hundreds.
Eigenpairs symmetricEigen(int64_t n, std::vector<double> a);

/// The `count` largest pairs of the positive semidefinite a [n, n], by subspace
/// iteration until the values stand still to 1e-7 of the largest. Starts from
/// fixed signs, so the result is reproducible.
Eigenpairs largestEigen(int64_t n, const std::vector<double> &a, int64_t count,
                        unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_EIGEN_H
