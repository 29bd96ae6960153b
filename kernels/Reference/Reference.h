// Slow, obvious products with packed and dense weights in double: the oracle
// of all tests. Decodes the packed bytes by itself, straight from the grammar
// of kernels/Format, so that it does not share a fault with unpackBlocks.

#ifndef SDC_KERNELS_REFERENCE_REFERENCE_H
#define SDC_KERNELS_REFERENCE_REFERENCE_H

#include "kernels/Format/Bitmask.h"

#include <cstdint>

namespace sdc::reference {

/// y[b, r] = sum over k of x[b, k] * w[r, k], for `batch` rows of x. All are
/// row-major and contiguous; `bias` is null or has `rows` values.
void linear(int64_t batch, int64_t rows, int64_t columns, const float *x,
            const float *w, const float *bias, double *y);

/// The same with packed weights; `packed` holds layout.packedSize() bytes.
void packedLinear(const PackedLayout &layout, int64_t batch, const float *x,
                  const uint8_t *packed, const float *bias, double *y);

/// The weight at (row, column) as the packed bytes have it.
double packedWeight(const PackedLayout &layout, const uint8_t *packed,
                    int64_t row, int64_t column);

} // namespace sdc::reference

#endif // SDC_KERNELS_REFERENCE_REFERENCE_H
