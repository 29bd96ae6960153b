// The loss of a change of weights under a second moment matrix.

#ifndef SDC_COMPILER_ALGEBRA_QUADRATICFORM_H
#define SDC_COMPILER_ALGEBRA_QUADRATICFORM_H

#include <cstdint>

namespace sdc {

/// tr(D H D^T) for d [rows, n] and the symmetric h [n, n], both row-major and
/// contiguous: the sum of squares of D x over the x that H sums up. Products in
/// f32, sums in f64: exact to about 1e-6 of tr(|D| |H| |D|^T).
double quadraticForm(int64_t rows, int64_t n, const float *d, const float *h,
                     unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_QUADRATICFORM_H
