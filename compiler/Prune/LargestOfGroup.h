// Which columns of a word have the largest scores of their groups: the inner
// loop of magnitude and Wanda. Integers are compared and nothing is computed
// with, so the bits are those of any CPU.

#ifndef SDC_COMPILER_PRUNE_LARGESTOFGROUP_H
#define SDC_COMPILER_PRUNE_LARGESTOFGROUP_H

#include "kernels/Format/Pattern.h"

#include <cstdint>

namespace sdc::detail {

/// The masks of one row: the N largest |w| * scale[j] of each group of M, and
/// of equals those of lower columns. `scale` may be null and is not negative; w
/// is finite. Groups that `columns` cuts short keep what they have, up to N.
/// `masks` receives one word for each 32 columns.
void keepLargestOfRow(const float *weights, const double *scale,
                      int64_t columns, Pattern pattern, uint32_t *masks);

/// The same without vectors: the definition, for tests and for CPUs without
/// them.
void keepLargestOfRowPlain(const float *weights, const double *scale,
                           int64_t columns, Pattern pattern, uint32_t *masks);

} // namespace sdc::detail

#endif // SDC_COMPILER_PRUNE_LARGESTOFGROUP_H
