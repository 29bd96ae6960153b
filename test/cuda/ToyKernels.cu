// The kernels of test/runtime/Inputs/ToyKernels.c for a GPU: a block of one
// thread computes what a unit is there. toy_greedy is the real one.

#include "kernels/Cuda/device/argmax.cuh"

namespace {
constexpr int kVocabulary = 37, kHidden = 8, kHeads = 2, kSize = 4, kOther = 3;

struct Params {
  long long context;
  long long slots;
};

/// Every kernel of a chain waits for the one before it.
__device__ void wait() {
  sdc::launchDependents();
  sdc::waitForPredecessors();
}

__device__ void logitOf(const float *hidden, const float *head, float *logit) {
  float sum = 0;
  for (int i = 0; i < kHidden; ++i)
    sum += hidden[i] * head[blockIdx.x * kHidden + i];
  *logit = sum;
}
} // namespace

extern "C" __global__ void toy_append(const int *tokens, const int *positions,
                                      const int *slots, float *keys,
                                      unsigned short *other,
                                      const Params *params,
                                      const float *embedding) {
  wait();
  int row = blockIdx.x;
  long long position = positions[row], slot = slots[row];
  if (position < 0)
    return;
  for (int i = 0; i < kHidden; ++i) {
    long long line = (slot * kHeads + i / kSize) * params->context + position;
    keys[line * kSize + i % kSize] = embedding[tokens[row] * kHidden + i];
  }
  unsigned short *cell = other + (slot * params->context + position) * kOther;
  cell[0] = (unsigned short)tokens[row];
  cell[1] = (unsigned short)position;
  cell[2] = (unsigned short)(tokens[row] + position);
}

extern "C" __global__ void toy_attend(const int *positions, const int *slots,
                                      const float *keys,
                                      const unsigned short *other,
                                      const Params *params, float *hidden) {
  extern __shared__ float sum[];
  wait();
  int row = blockIdx.x;
  long long position = positions[row], slot = slots[row];
  if (position < 0)
    return;
  for (int i = 0; i < kHidden; ++i)
    sum[i] = 0;
  for (long long at = 0; at <= position; ++at)
    for (int i = 0; i < kHidden; ++i) {
      long long line = (slot * kHeads + i / kSize) * params->context + at;
      const unsigned short *cell =
          other + (slot * params->context + at) * kOther;
      sum[i] += keys[line * kSize + i % kSize] * (float)(cell[2] % 5 + 1);
    }
  for (int i = 0; i < kHidden; ++i)
    hidden[row * kHidden + i] = sum[i];
}

extern "C" __global__ void toy_logits_3(const float *hidden, const float *head,
                                        const int *, float *logits) {
  wait();
  for (int row = 0; row < 3; ++row)
    logitOf(hidden + row * kHidden, head,
            logits + row * kVocabulary + blockIdx.x);
}

extern "C" __global__ void toy_logits_4(const float *hidden, const float *head,
                                        const int *, float *logits) {
  wait();
  for (int row = 0; row < 4; ++row)
    logitOf(hidden + row * kHidden, head,
            logits + row * kVocabulary + blockIdx.x);
}

extern "C" __global__ void toy_logits_last_4(const float *hidden,
                                             const float *head,
                                             const int *positions,
                                             float *logits) {
  wait();
  int last = 0;
  for (int row = 0; row < 4; ++row)
    last = positions[row] >= 0 ? row : last;
  logitOf(hidden + last * kHidden, head, logits + blockIdx.x);
}

extern "C" __global__ void toy_generate(float *values, unsigned long long seed,
                                        unsigned long long weight) {
  for (int i = 0; i < kVocabulary * kHidden; ++i)
    values[i] = (float)((i * 7 + seed * 3 + weight * 5) % 16) - 8;
}

extern "C" __global__ void toy_greedy(const float *logits, long long vocabulary,
                                      int *tokens, int *positions, int *slots,
                                      sdc::TokenLoop *loop) {
  sdc::chooseGreedily(logits, vocabulary, tokens, positions, slots, loop);
}
