// Multiplies one unit of the tile `mma16`: 2:4 by mma.sp, dense by mma. Stored
// in the order of fragments, so that one 16-byte load is one instruction's A.

#pragma once

#include "vector.cuh"

namespace sdc {

/// d[16 x 8] += a[16 x 32, 2:4] b[32 x 8].
template <class Type>
SDC_DEVICE void multiplySparse(float *d, uint4 a, uint4 b, u32 metadata) {
#define SDC_MMA(TYPE)                                                          \
  asm volatile(                                                                \
      "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32." TYPE       \
      "." TYPE ".f32 {%0,%1,%2,%3},{%4,%5,%6,%7},"                             \
      "{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;"                                 \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                         \
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z),  \
        "r"(b.w), "r"(metadata))
  if constexpr (kSame<Type, BF16>)
    SDC_MMA("bf16");
  else
    SDC_MMA("f16");
#undef SDC_MMA
}

/// d[16 x 8] += a[16 x 16] b[16 x 8].
template <class Type>
SDC_DEVICE void multiplyDense(float *d, uint4 a, u32 b0, u32 b1) {
#define SDC_MMA(TYPE)                                                          \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE          \
               ".f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"       \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                \
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1))
  if constexpr (kSame<Type, BF16>)
    SDC_MMA("bf16");
  else
    SDC_MMA("f16");
#undef SDC_MMA
}

/// The two sums of 16 rows that both kinds share: even columns of D hold the
/// products with roundings of x, odd ones those with the rests.
struct FragmentSums {
  float sum[2][4];

  SDC_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum[i / 4][i % 4] = 0;
  }

  SDC_DEVICE void finish(float *out, int lane) {
    if ((lane & 3) == 0) {
      out[lane >> 2] = (sum[0][0] + sum[1][0]) + (sum[0][1] + sum[1][1]);
      out[(lane >> 2) + 8] = (sum[0][2] + sum[1][2]) + (sum[0][3] + sum[1][3]);
    }
  }
};

template <class Type> struct Sparse24 : FragmentSums {
  static constexpr int kRows = 16, kColumns = 128;
  static constexpr int kUnitBytes = 4 * 512 + 256;
  template <int K> using Vector = PairVector<Type, K>;

  uint4 a[4], metadata;

  SDC_DEVICE void read(const char *unit, int lane) {
    const uint4 *from = reinterpret_cast<const uint4 *>(unit);
    metadata = from[128 + (lane >> 2) * 2 + (lane & 1)];
#pragma unroll
    for (int word = 0; word < 4; ++word)
      a[word] = from[word * 32 + lane];
  }

  SDC_DEVICE void multiply(const char *x, int unit, int lane) {
    u32 codes[4] = {metadata.x, metadata.y, metadata.z, metadata.w};
#pragma unroll
    for (int word = 0; word < 4; ++word)
      multiplySparse<Type>(sum[word & 1], a[word],
                           Vector<128>::operand(x + unit * 512, word, lane),
                           codes[word]);
  }
};

template <class Type> struct DenseFragment : FragmentSums {
  static constexpr int kRows = 16, kColumns = 128;
  static constexpr int kUnitBytes = 8 * 512;
  template <int K> using Vector = PairVector<Type, K>;

  uint4 a[8];

  SDC_DEVICE void read(const char *unit, int lane) {
    const uint4 *from = reinterpret_cast<const uint4 *>(unit);
#pragma unroll
    for (int step = 0; step < 8; ++step)
      a[step] = from[step * 32 + lane];
  }

  SDC_DEVICE void multiply(const char *x, int unit, int lane) {
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      uint4 b = Vector<128>::operand(x + unit * 512, word, lane);
      multiplyDense<Type>(sum[0], a[2 * word], b.x, b.y);
      multiplyDense<Type>(sum[1], a[2 * word + 1], b.z, b.w);
    }
  }
};

} // namespace sdc
