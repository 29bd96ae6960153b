// The forms in which a vector of activations lies in shared memory, as each
// way of multiplying wants it. A form is cut into tasks of four columns; one
// thread loads, scales and stores a task. Columns from K to the padding are 0.

#pragma once

#include "types.cuh"

namespace sdc {

/// Activations were written by the kernel before: they are read from L2, since
/// a first-level line may be older than this kernel.
template <int kColumns>
SDC_DEVICE void loadPair(const float *x, int column, float *out) {
  if constexpr (kColumns % 2 == 0) {
    float2 pair = {0, 0};
    if (column < kColumns)
      pair = __ldcg(reinterpret_cast<const float2 *>(x + column));
    out[0] = pair.x;
    out[1] = pair.y;
  } else {
    out[0] = column < kColumns ? __ldcg(x + column) : 0;
    out[1] = column + 1 < kColumns ? __ldcg(x + column + 1) : 0;
  }
}

/// Four columns from 4 task on: whole cache lines for a warp.
template <int kColumns>
SDC_DEVICE void loadFour(const float *x, int task, float *out) {
  if constexpr (kColumns % 4 == 0) {
    float4 four = {0, 0, 0, 0};
    if (task * 4 < kColumns)
      four = __ldcg(reinterpret_cast<const float4 *>(x) + task);
    out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
  } else {
    loadPair<kColumns>(x, task * 4, out);
    loadPair<kColumns>(x, task * 4 + 2, out + 2);
  }
}

/// What the forms share: a task is four columns.
template <int kColumns_> struct VectorForm {
  static constexpr int kColumns = kColumns_;
  static constexpr int kPadded = (kColumns + 127) / 128 * 128;
  static constexpr int kBytes = kPadded * 4;
  static constexpr int kTaskColumns = 4;
  static constexpr int kTasks = kPadded / kTaskColumns;

  static SDC_DEVICE void load(const float *x, int task, float *out) {
    loadFour<kColumns>(x, task, out);
  }
};

/// f32, in order: for gathers. All lanes of a warp read the same 32 columns,
/// which are 32 different banks.
template <int kColumns> struct PlainVector : VectorForm<kColumns> {
  static SDC_DEVICE void store(char *memory, int task, const float *v) {
    reinterpret_cast<float4 *>(memory)[task] =
        make_float4(v[0], v[1], v[2], v[3]);
  }
};

/// Operand B of mma: each x as the sum of two values of Type, its rounding and
/// the rounding of the rest, in even and odd columns of B. So a product is as
/// good as with 16 (bf16) or 22 (f16) bits of x, at no cost: the eight columns
/// of B are there anyway.
///
/// 32 columns (a word) are 8 chunks of 16 bytes: chunk t holds the roundings of
/// the pairs t, 4 + t, 8 + t and 12 + t, chunk 4 + t their rests, so that a lane
/// takes its four registers by one load. Chunk c lies at place c ^ swizzle(word)
/// of its word: then neither eight lanes that read one word, nor a warp that
/// writes four, meet in a bank.
template <class Type, int kColumns> struct PairVector : VectorForm<kColumns> {
  static SDC_DEVICE int swizzle(int word) {
    return (word & 1) | (word & 2) << 1;
  }

  static SDC_DEVICE void store(char *memory, int task, const float *v) {
    int word = task >> 3, pair = (task & 7) * 2;
    u32 *to = reinterpret_cast<u32 *>(memory) + word * 32 + (pair >> 2);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 main = Type::pack(v[2 * i], v[2 * i + 1]);
      u32 rest = Type::pack(v[2 * i] - Type::low(main),
                            v[2 * i + 1] - Type::high(main));
      int chunk = ((pair & 3) + i) ^ swizzle(word);
      to[chunk * 4] = main;
      to[(chunk ^ 4) * 4] = rest;
    }
  }

  /// What lane `lane` hands to mma for 32 columns.
  static SDC_DEVICE uint4 operand(const char *memory, int word, int lane) {
    return reinterpret_cast<const uint4 *>(
        memory)[word * 8 + ((lane & 7) ^ swizzle(word))];
  }
};

} // namespace sdc
