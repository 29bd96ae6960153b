// Head norms, rotary embedding, and the append of keys and values to their
// caches: one CTA a head of a row.

#pragma once

#include "memory.cuh"
#include "norm.cuh"

namespace sdc {

constexpr int kHeadWarps = 4;
constexpr int kHeadThreads = kHeadWarps * 32;

struct Params {
  long long context, slots;
};

/// R rotated columns, none with 0; the scale by its bits.
template <int kRotated_, bool kPairs_, u32 kScale> struct Rotation {
  static constexpr int kRotated = kRotated_;
  static constexpr bool kPairs = kPairs_;
  static SDC_DEVICE float scale() { return __uint_as_float(kScale); }
};

/// Norm, then rotation, of one head of `kSize` values; `store` is given column
/// and value.
template <int kSize, class Norm, class Turn, class Store>
SDC_DEVICE void turnHead(const float *x, const void *weight, const void *bias,
                         const float *frequencies, int position, float *head,
                         float *scratch, Store store) {
  for (int i = threadIdx.x; i < kSize; i += kHeadThreads)
    head[i] = __ldcg(x + i);
  __syncthreads();
  if constexpr (Norm::kPresent) {
    float mean = 0;
    if constexpr (Norm::kCentred) {
      float sum = 0;
      for (int i = threadIdx.x; i < kSize; i += kHeadThreads)
        sum += head[i];
      mean = sumOfBlock<kHeadWarps>(sum, scratch) / kSize;
    }
    float squares = 0;
    for (int i = threadIdx.x; i < kSize; i += kHeadThreads)
      squares = fmaf(head[i] - mean, head[i] - mean, squares);
    squares = sumOfBlock<kHeadWarps>(squares, scratch);
    float scale = rsqrtf(squares / kSize + Norm::epsilon());
    for (int i = threadIdx.x; i < kSize; i += kHeadThreads) {
      float v =
          (head[i] - mean) * scale * loadValue<typename Norm::Type>(weight, i);
      if constexpr (Norm::kBias)
        v += loadValue<typename Norm::Type>(bias, i);
      head[i] = v;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < kSize; i += kHeadThreads) {
    float v = head[i];
    if constexpr (Turn::kRotated > 0) {
      constexpr int kHalf = Turn::kRotated / 2;
      if (i < Turn::kRotated) {
        int pair = Turn::kPairs ? i / 2 : i % kHalf;
        bool second = Turn::kPairs ? i % 2 : i >= kHalf;
        float other = head[Turn::kPairs ? i ^ 1
                           : second     ? i - kHalf
                                        : i + kHalf];
        float angle =
            static_cast<float>(position) * loadValue<F32>(frequencies, pair);
        float s, c;
        sincosf(angle, &s, &c);
        s *= Turn::scale();
        c *= Turn::scale();
        v = second ? fmaf(v, c, other * s) : fmaf(v, c, -(other * s));
      }
    }
    store(i, v);
  }
}

template <int kHeads_, int kSize_, class Type_ = F32, class Norm_ = NoNorm>
struct Heads {
  static constexpr int kHeads = kHeads_, kSize = kSize_;
  using Type = Type_;
  using Norm = Norm_;
};

/// Grid: heads of queries, then of keys and values; rows.
template <class Queries, class Keys, class Values, class Turn> struct Rotary {
  static constexpr int kSize =
      Queries::kSize > Keys::kSize ? Queries::kSize : Keys::kSize;

  struct Operands {
    const int *positions, *slots;
    const Params *params;
    const float *frequencies;
    const void *queryWeight, *queryBias, *keyWeight, *keyBias;
    const float *q;
    float *rotated;
    const float *k;
    void *keys;
    const float *v;
    void *values;
  };

  template <class Kind>
  static SDC_DEVICE long long place(const Operands &o, int row, int head,
                                    int position) {
    return ((static_cast<long long>(__ldcg(o.slots + row)) * Kind::kHeads +
             head) *
                o.params->context +
            position) *
           Kind::kSize;
  }

  static SDC_DEVICE void run(const Operands &o) {
    __shared__ float head[kSize > 0 ? kSize : 1], scratch[kHeadWarps];
    launchDependents();
    waitForPredecessors();
    int row = blockIdx.y, index = blockIdx.x;
    int position = __ldcg(o.positions + row);
    if (position < 0)
      return;
    if (index < Queries::kHeads) {
      if constexpr (Queries::kHeads > 0) {
        long long at = (static_cast<long long>(row) * Queries::kHeads + index) *
                       Queries::kSize;
        turnHead<Queries::kSize, typename Queries::Norm, Turn>(
            o.q + at, o.queryWeight, o.queryBias, o.frequencies, position, head,
            scratch, [&](int i, float v) { o.rotated[at + i] = v; });
      }
      return;
    }
    index -= Queries::kHeads;
    if constexpr (Keys::kHeads > 0)
      if (index < Keys::kHeads) {
        long long to = place<Keys>(o, row, index, position);
        turnHead<Keys::kSize, typename Keys::Norm, Turn>(
            o.k + (static_cast<long long>(row) * Keys::kHeads + index) *
                      Keys::kSize,
            o.keyWeight, o.keyBias, o.frequencies, position, head, scratch,
            [&](int i, float v) {
              storeValue<typename Keys::Type>(o.keys, to + i, v);
            });
      }
    if constexpr (Values::kHeads > 0)
      if (index < Values::kHeads) {
        long long to = place<Values>(o, row, index, position);
        const float *from =
            o.v + (static_cast<long long>(row) * Values::kHeads + index) *
                      Values::kSize;
        for (int i = threadIdx.x; i < Values::kSize; i += kHeadThreads)
          storeValue<typename Values::Type>(o.values, to + i, __ldcg(from + i));
      }
  }
};

} // namespace sdc
