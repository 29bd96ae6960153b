// Products in double, one multiplication at a time.

#include "kernels/Reference/Reference.h"

using namespace sdc;

void sdc::reference::linear(int64_t batch, int64_t rows, int64_t columns,
                            const float *x, const float *w, const float *bias,
                            double *y) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r) {
      double sum = bias ? bias[r] : 0.0;
      for (int64_t k = 0; k < columns; ++k)
        sum += double(x[b * columns + k]) * double(w[r * columns + k]);
      y[b * rows + r] = sum;
    }
}

double sdc::reference::packedWeight(const PackedLayout &layout,
                                    const uint8_t *packed, int64_t row,
                                    int64_t column) {
  int64_t lanes = layout.tile.rows;
  int64_t bytes = elementBytes(layout.type);
  int64_t masks = layout.pattern.isDense() ? 0 : lanes;
  int64_t stored =
      layout.pattern.isDense() ? 32 : 32 / layout.pattern.m * layout.pattern.n;
  int64_t words = (layout.columns + 31) / 32;
  int64_t wordBytes = 4 * masks + lanes * stored * bytes;
  int64_t blockBytes = (words * wordBytes + 63) / 64 * 64;

  const uint8_t *word =
      packed + row / lanes * blockBytes + column / 32 * wordBytes;
  int64_t lane = row % lanes, bit = column % 32, rank = bit;
  if (masks != 0) {
    const uint8_t *m = word + 4 * lane;
    uint32_t mask = uint32_t(m[0]) | uint32_t(m[1]) << 8 |
                    uint32_t(m[2]) << 16 | uint32_t(m[3]) << 24;
    if ((mask >> bit & 1u) == 0)
      return 0;
    rank = 0;
    for (int64_t j = 0; j < bit; ++j)
      rank += mask >> j & 1u;
  }
  float value;
  loadValues(layout.type, word + 4 * masks + (lane * stored + rank) * bytes, 1,
             &value);
  return value;
}

void sdc::reference::packedLinear(const PackedLayout &layout, int64_t batch,
                                  const float *x, const uint8_t *packed,
                                  const float *bias, double *y) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < layout.rows; ++r) {
      double sum = bias ? bias[r] : 0.0;
      for (int64_t k = 0; k < layout.columns; ++k)
        sum += double(x[b * layout.columns + k]) *
               packedWeight(layout, packed, r, k);
      y[b * layout.rows + r] = sum;
    }
}
