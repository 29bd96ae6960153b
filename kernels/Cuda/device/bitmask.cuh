// Multiplies one unit of the tile `lanes32`: any N:M, lane = row.
//
// A lane walks the mask of a word from its highest bit down: FLO finds the bit,
// SGXT cuts it off, x is gathered from 32 banks, so never with a conflict. Four
// words are walked in turn to hide the latency of each walk. The number of
// steps is N, whatever the mask.

#pragma once

#include "vector.cuh"

namespace sdc {

/// The highest set bit; of 0 it is 2^32 - 1.
SDC_DEVICE u32 highestBit(u32 mask) {
  u32 bit;
  asm("bfind.u32 %0, %1;" : "=r"(bit) : "r"(mask));
  return bit;
}

/// The `count` lowest bits of `mask`, count < 32.
SDC_DEVICE u32 lowBits(u32 mask, u32 count) {
  u32 low;
  asm("szext.wrap.u32 %0, %1, %2;" : "=r"(low) : "r"(mask), "r"(count));
  return low;
}

/// The f32 at `window` + 128 kWord + 4 column, in shared memory: one
/// instruction for the address. Not volatile: the column comes from a mask that
/// was read after x was staged, so no load can move above the barrier.
template <int kWord> SDC_DEVICE float gather(u32 window, u32 column) {
  float value;
  asm("ld.shared.f32 %0, [%1 + %2];"
      : "=f"(value)
      : "r"(window + 4 * column), "n"(kWord * 128));
  return value;
}

/// 32 rows x 128 columns, `kValues` stored for each 32 columns. With 32 no
/// masks are stored: the weight is dense.
template <class Type, int kValues> struct Lanes32 {
  static constexpr int kRows = 32, kColumns = 128;
  static constexpr bool kDense = kValues == 32;
  static constexpr int kPlanes = (4 * kValues * Type::kBits / 8 + 15) / 16;
  static constexpr int kMaskBytes = kDense ? 0 : 512;
  static constexpr int kUnitBytes = kMaskBytes + kPlanes * 512;
  template <int K> using Vector = PlainVector<K>;

  float sum[4];
  uint4 masks, planes[kPlanes];

  SDC_DEVICE void clear() { sum[0] = sum[1] = sum[2] = sum[3] = 0; }

  SDC_DEVICE void read(const char *unit, int lane) {
    const uint4 *from = reinterpret_cast<const uint4 *>(unit) + lane;
    if constexpr (!kDense)
      masks = from[0];
#pragma unroll
    for (int i = 0; i < kPlanes; ++i)
      planes[i] = from[kMaskBytes / 16 + i * 32];
  }

  /// Value `index` of the lane's 4 kValues.
  SDC_DEVICE float value(int index) const {
    constexpr int kEach = 128 / Type::kBits;
    const uint4 &plane = planes[index / kEach];
    int word = index % kEach * Type::kBits / 32;
    u32 bits = word == 0   ? plane.x
               : word == 1 ? plane.y
               : word == 2 ? plane.z
                           : plane.w;
    if constexpr (Type::kBits == 32)
      return __uint_as_float(bits);
    else
      return index % 2 ? Type::high(bits) : Type::low(bits);
  }

  SDC_DEVICE void multiply(const char *x, int unit, int) {
    if constexpr (kDense) {
      const float4 *window =
          reinterpret_cast<const float4 *>(x) + unit * (kColumns / 4);
#pragma unroll
      for (int i = 0; i < kColumns / 4; ++i) {
        float4 four = window[i];
        sum[0] = fmaf(value(4 * i), four.x, sum[0]);
        sum[1] = fmaf(value(4 * i + 1), four.y, sum[1]);
        sum[2] = fmaf(value(4 * i + 2), four.z, sum[2]);
        sum[3] = fmaf(value(4 * i + 3), four.w, sum[3]);
      }
    } else {
      u32 window = sharedAddress(x) + unit * (kColumns * 4);
#pragma unroll
      for (int step = 0; step < kValues; ++step) {
        walk<0>(masks.x, window, step);
        walk<1>(masks.y, window, step);
        walk<2>(masks.z, window, step);
        walk<3>(masks.w, window, step);
      }
    }
  }

  template <int kWord> SDC_DEVICE void walk(u32 &mask, u32 window, int step) {
    u32 column = highestBit(mask);
    mask = lowBits(mask, column);
    sum[kWord] = fmaf(value(kWord * kValues + step),
                      gather<kWord>(window, column), sum[kWord]);
  }

  /// Leaves the warp's share of the 32 rows in shared memory.
  SDC_DEVICE void finish(float *out, int lane) {
    out[lane] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
};

} // namespace sdc
