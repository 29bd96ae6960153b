// Stages the vector of activations in shared memory, normalised where the
// linear asks for it. Every CTA does it anew: that is cheaper than a kernel.

#pragma once

#include "vector.cuh"

namespace sdc {

/// The sum over all threads of a CTA, in a fixed order.
template <int kWarps> SDC_DEVICE float sumOfBlock(float value, float *scratch) {
#pragma unroll
  for (int offset = 16; offset; offset >>= 1)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  if ((threadIdx.x & 31) == 0)
    scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp)
    sum += scratch[warp];
  __syncthreads();
  return sum;
}

struct NoNorm {
  static constexpr bool kPresent = false;
};

/// `Type` is that of weight and bias. The epsilon is given by its bits, since
/// C++17 has no float parameters of templates.
template <class Type_, u32 kEpsilon> struct RmsNorm {
  using Type = Type_;
  static constexpr bool kPresent = true, kCentred = false, kBias = false;
  static SDC_DEVICE float epsilon() { return __uint_as_float(kEpsilon); }
};
template <class Type_, u32 kEpsilon, bool kBias_> struct LayerNorm {
  using Type = Type_;
  static constexpr bool kPresent = true, kCentred = true, kBias = kBias_;
  static SDC_DEVICE float epsilon() { return __uint_as_float(kEpsilon); }
};

/// x of one row, held in registers where it fits, else read again for each
/// pass.
template <class Form, int kColumns, int kWarps, class Norm> struct Staging {
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRounds = (Form::kTasks + kThreads - 1) / kThreads;
  static constexpr int kEach = Form::kTaskColumns;
  static constexpr bool kHeld = kRounds * kEach <= (Norm::kPresent ? 40 : 64);

  /// Tasks of a thread in flight where they are not held: latency is what
  /// staging costs.
  static constexpr int kTogether = 48 / kEach;

  template <class Body> static SDC_DEVICE void forEachTask(Body body) {
    if constexpr (kHeld) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round)
        if (int task = round * kThreads + threadIdx.x; task < Form::kTasks)
          body(round, task);
    } else {
      for (int task = threadIdx.x; task < Form::kTasks; task += kThreads)
        body(0, task);
    }
  }

  /// What does not depend on the predecessor.
  float gain[Norm::kPresent && kHeld ? kRounds : 1][kEach];

  SDC_DEVICE void loadGain(const void *weight, int round, int task) {
    if constexpr (Norm::kPresent) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        int column = task * kEach + i;
        gain[round][i] = column < kColumns
                             ? loadValue<typename Norm::Type>(weight, column)
                             : 0;
      }
    }
  }

  SDC_DEVICE void before(const void *weight) {
    if constexpr (Norm::kPresent && kHeld)
      forEachTask([&](int round, int task) { loadGain(weight, round, task); });
  }

  /// Reads row `x`, writes the form. The caller synchronises afterwards.
  SDC_DEVICE void stage(const float *x, const void *weight, const void *bias,
                        char *memory, float *scratch) {
    float held[kHeld ? kRounds : 1][kEach];
    if constexpr (!Norm::kPresent) {
      forEachTask(
          [&](int round, int task) { Form::load(x, task, held[round]); });
      if constexpr (kHeld)
        forEachTask([&](int round, int task) {
          Form::store(memory, task, held[round]);
        });
      else
#pragma unroll 1
        for (int first = 0; first < kRounds; first += kTogether) {
          float v[kTogether][kEach];
#pragma unroll
          for (int i = 0; i < kTogether; ++i)
            if (int task = (first + i) * kThreads + threadIdx.x;
                task < Form::kTasks)
              Form::load(x, task, v[i]);
#pragma unroll
          for (int i = 0; i < kTogether; ++i)
            if (int task = (first + i) * kThreads + threadIdx.x;
                task < Form::kTasks)
              Form::store(memory, task, v[i]);
        }
    } else {
      float mean = 0;
      if constexpr (kHeld)
        forEachTask(
            [&](int round, int task) { Form::load(x, task, held[round]); });
      if constexpr (Norm::kCentred) {
        float sum = 0;
        forEachTask([&](int round, int task) {
          if constexpr (!kHeld)
            Form::load(x, task, held[0]);
#pragma unroll
          for (int i = 0; i < kEach; ++i)
            sum += held[round][i];
        });
        mean = sumOfBlock<kWarps>(sum, scratch) / kColumns;
      }
      float squares = 0;
      forEachTask([&](int round, int task) {
        if constexpr (!kHeld)
          Form::load(x, task, held[0]);
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          float v = held[round][i] - mean;
          if (!Norm::kCentred || task * kEach + i < kColumns)
            squares = fmaf(v, v, squares);
        }
      });
      squares = sumOfBlock<kWarps>(squares, scratch);
      float scale = rsqrtf(squares / kColumns + Norm::epsilon());
      forEachTask([&](int round, int task) {
        if constexpr (!kHeld) {
          Form::load(x, task, held[0]);
          loadGain(weight, 0, task);
        }
        float v[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          v[i] = (held[round][i] - mean) * scale * gain[round][i];
          if constexpr (Norm::kBias)
            if (int column = task * kEach + i; column < kColumns)
              v[i] += loadValue<typename Norm::Type>(bias, column);
        }
        Form::store(memory, task, v);
      });
    }
  }
};

} // namespace sdc
