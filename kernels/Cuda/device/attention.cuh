// Attention of a row to its slot's cache. A CTA takes up to eight query heads
// that share a cache head, and one split of the positions, so keys and values
// are read once for all of these heads. Positions go by in tiles of 64: scores
// (eight lanes a key), softmax so far, then values (a thread a column). All
// sums have a fixed order.

#pragma once

#include "memory.cuh"
#include "rotary.cuh"

namespace sdc {

template <int kHeads_, int kCacheHeads_, int kSize_, int kValueSize_,
          class KeyType_, class ValueType_, u32 kScale, int kWindow_,
          u32 kSoftcap, int kSplits_, int kChunk_>
struct Attention {
  static constexpr int kHeads = kHeads_, kCacheHeads = kCacheHeads_,
                       kSize = kSize_, kValueSize = kValueSize_,
                       kWindow = kWindow_, kSplits = kSplits_, kChunk = kChunk_;
  using KeyType = KeyType_;
  using ValueType = ValueType_;
  /// Query heads of a cache head, those of one CTA, and CTAs of a cache head.
  static constexpr int kShare = kHeads / kCacheHeads;
  static constexpr int kGroup = kShare < 8 ? kShare : 8;
  static constexpr int kGroups = (kShare + kGroup - 1) / kGroup;
  static constexpr int kTile = 64;
  static constexpr int kColumnsEach =
      (kValueSize + kHeadThreads - 1) / kHeadThreads;

  static SDC_DEVICE float cap(float score) {
    if constexpr (kSoftcap == 0)
      return score;
    float c = __uint_as_float(kSoftcap);
    return c * tanhf(score / c);
  }

  /// Grid: splits, cache heads x groups, rows.
  static SDC_DEVICE void run(const float *q, const void *keys,
                             const void *values, const int *positions,
                             const int *slots, const Params *params,
                             float *out) {
    __shared__ __align__(16) float query[kGroup][(kSize + 3) / 4 * 4];
    __shared__ float weight[kGroup][kTile];
    __shared__ float rescale[kGroup], total[kGroup], highest[kGroup];
    launchDependents();
    waitForPredecessors();
    int split = blockIdx.x, row = blockIdx.z;
    int cacheHead = blockIdx.y / kGroups;
    int firstHead = cacheHead * kShare + blockIdx.y % kGroups * kGroup;
    int headsHere = kShare - blockIdx.y % kGroups * kGroup;
    headsHere = headsHere < kGroup ? headsHere : kGroup;
    int position = __ldcg(positions + row);
    int begin = kSplits > 1 ? split * kChunk : 0;
    int end = position + 1;
    if (kSplits > 1 && split + 1 < kSplits && end > begin + kChunk)
      end = begin + kChunk;
    if (kWindow > 0 && begin < position + 1 - kWindow)
      begin = position + 1 - kWindow;

    for (int i = threadIdx.x; i < kGroup * kSize; i += kHeadThreads) {
      int g = i / kSize, d = i % kSize;
      query[g][d] =
          g < headsHere && position >= 0
              ? __ldcg(q +
                       (static_cast<long long>(row) * kHeads + firstHead + g) *
                           kSize +
                       d) *
                    __uint_as_float(kScale)
              : 0;
    }
    if (threadIdx.x < kGroup) {
      total[threadIdx.x] = 0;
      highest[threadIdx.x] = -__int_as_float(0x7f800000);
    }
    __syncthreads();

    long long cacheRow =
        position < 0
            ? 0
            : (static_cast<long long>(__ldcg(slots + row)) * kCacheHeads +
               cacheHead) *
                  params->context;
    float sum[kGroup][kColumnsEach] = {};
    for (int tile = begin; tile < end; tile += kTile) {
      int count = end - tile < kTile ? end - tile : kTile;
      scores(query, keys, cacheRow + tile, count, weight);
      __syncthreads();
      soften(weight, count, rescale, total, highest);
      __syncthreads();
      accumulate(weight, rescale, values, cacheRow + tile, count, sum);
      __syncthreads();
    }
    store(out, sum, total, highest, row, firstHead, headsHere, split);
  }

private:
  static SDC_DEVICE void
  scores(const float (&query)[kGroup][(kSize + 3) / 4 * 4], const void *keys,
         long long first, int count, float (&weight)[kGroup][kTile]) {
    using Part = Piece<KeyType, kSize>;
    int lane = threadIdx.x & 7, key = threadIdx.x >> 3;
    for (int base = 0; base < kTile; base += kHeadThreads / 8) {
      int at = base + key;
      float dot[kGroup] = {};
      if (at < count)
        for (int piece = lane; piece < Part::kPieces; piece += 8) {
          Part part;
          part.load(keys, (first + at) * kSize, piece);
#pragma unroll
          for (int g = 0; g < kGroup; ++g)
#pragma unroll
            for (int i = 0; i < Part::kEach; ++i)
              dot[g] = fmaf(part.value[i], query[g][piece * Part::kEach + i],
                            dot[g]);
        }
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
#pragma unroll
        for (int offset = 4; offset; offset >>= 1)
          dot[g] += __shfl_xor_sync(0xffffffffu, dot[g], offset);
        if (lane == 0)
          weight[g][at] =
              at < count ? cap(dot[g]) : -__int_as_float(0x7f800000);
      }
    }
  }

  /// Scores become weights relative to the highest score so far.
  static SDC_DEVICE void soften(float (&weight)[kGroup][kTile], int count,
                                float *rescale, float *total, float *highest) {
    int lane = threadIdx.x & 31;
    for (int g = threadIdx.x >> 5; g < kGroup; g += kHeadWarps) {
      float a = weight[g][lane], b = weight[g][lane + 32];
      float most = fmaxf(a, b);
#pragma unroll
      for (int offset = 16; offset; offset >>= 1)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
      float before = highest[g];
      most = fmaxf(most, before);
      a = lane < count ? __expf(a - most) : 0;
      b = lane + 32 < count ? __expf(b - most) : 0;
      weight[g][lane] = a;
      weight[g][lane + 32] = b;
      float sum = a + b;
#pragma unroll
      for (int offset = 16; offset; offset >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      __syncwarp();
      if (lane == 0) {
        float factor = __expf(before - most);
        rescale[g] = factor;
        total[g] = fmaf(total[g], factor, sum);
        highest[g] = most;
      }
    }
  }

  static SDC_DEVICE void accumulate(const float (&weight)[kGroup][kTile],
                                    const float *rescale, const void *values,
                                    long long first, int count,
                                    float (&sum)[kGroup][kColumnsEach]) {
#pragma unroll
    for (int g = 0; g < kGroup; ++g)
#pragma unroll
      for (int c = 0; c < kColumnsEach; ++c)
        sum[g][c] *= rescale[g];
#pragma unroll
    for (int c = 0; c < kColumnsEach; ++c) {
      int column = c * kHeadThreads + threadIdx.x;
      if (column < kValueSize) {
#pragma unroll 16
        for (int at = 0; at < count; ++at) {
          float v =
              loadShared<ValueType>(values, (first + at) * kValueSize + column);
#pragma unroll
          for (int g = 0; g < kGroup; ++g)
            sum[g][c] = fmaf(weight[g][at], v, sum[g][c]);
        }
      }
    }
  }

  static SDC_DEVICE void store(float *out,
                               const float (&sum)[kGroup][kColumnsEach],
                               const float *total, const float *highest,
                               int row, int firstHead, int headsHere,
                               int split) {
    constexpr int kStride = kSplits > 1 ? kValueSize + 2 : kValueSize;
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      if (g >= headsHere)
        continue;
      float *to =
          out +
          ((static_cast<long long>(row) * kHeads + firstHead + g) * kSplits +
           split) *
              kStride;
      float scale = kSplits > 1 ? 1 : total[g] > 0 ? 1 / total[g] : 0;
#pragma unroll
      for (int c = 0; c < kColumnsEach; ++c)
        if (int column = c * kHeadThreads + threadIdx.x; column < kValueSize)
          to[column] = sum[g][c] * scale;
      if (kSplits > 1 && threadIdx.x == 0) {
        to[kValueSize] = highest[g];
        to[kValueSize + 1] = total[g];
      }
    }
  }
};

/// Merges splits in their order. Grid: heads, rows.
template <int kHeads, int kValueSize, int kSplits>
SDC_DEVICE void combine(const float *partials, float *out) {
  __shared__ float share[kSplits];
  constexpr int kStride = kValueSize + 2;
  launchDependents();
  waitForPredecessors();
  long long head = static_cast<long long>(blockIdx.y) * kHeads + blockIdx.x;
  const float *from = partials + head * kSplits * kStride;
  float most = -__int_as_float(0x7f800000);
  for (int i = 0; i < kSplits; ++i)
    if (__ldcg(from + i * kStride + kValueSize + 1) > 0)
      most = fmaxf(most, __ldcg(from + i * kStride + kValueSize));
  float total = 0;
  for (int i = 0; i < kSplits; ++i) {
    float sum = __ldcg(from + i * kStride + kValueSize + 1);
    float factor =
        sum > 0 ? __expf(__ldcg(from + i * kStride + kValueSize) - most) : 0;
    total = fmaf(sum, factor, total);
    if (threadIdx.x == 0)
      share[i] = factor;
  }
  __syncthreads();
  float scale = total > 0 ? 1 / total : 0;
  for (int column = threadIdx.x; column < kValueSize; column += kHeadThreads) {
    float sum = 0;
    for (int i = 0; i < kSplits; ++i)
      if (share[i] != 0)
        sum = fmaf(__ldcg(from + i * kStride + column), share[i], sum);
    out[head * kValueSize + column] = sum * scale;
  }
}

} // namespace sdc
