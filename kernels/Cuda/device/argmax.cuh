// Ends a greedy decode step on the device: chooses the token and makes it the
// input of the next step. Image.greedy of runtime/schema/executable.fbs says
// what it must do, and gives TokenLoop.
//
// Any number of blocks: each reduces its share of the logits to one key, the
// blocks meet in one word by an integer maximum (so the order does not matter),
// and the last to come writes. The key of a logit orders first by value, then
// lower tokens first.

#pragma once

#include "dependency.cuh"

namespace sdc {

struct TokenLoop {
  u64 best;
  u64 *ring;
  u32 ringSize;
  u32 step;
  u32 arrived;
  u32 rows;
  u32 row;
  u32 position;
};

/// Larger for a larger logit, and among equals for a lower token. NaN counts as
/// minus infinity, and the two zeros are equal. Never 0.
SDC_DEVICE u64 greedyKey(float logit, u32 token) {
  logit = logit != logit ? -__int_as_float(0x7f800000) : logit + 0.0f;
  u32 bits = __float_as_uint(logit);
  u32 ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (u64)ordered << 32 | ~token;
}

SDC_DEVICE u64 larger(u64 a, u64 b) { return a > b ? a : b; }

/// The largest key of a row that this block looks at; valid in thread 0. Needs
/// a whole number of warps, at most 32.
SDC_DEVICE u64 largestKey(const float *logits, u32 vocabulary) {
  __shared__ u64 perWarp[32];
  u64 key = 0;
  // One row may start anywhere, so values are read singly, warp by warp.
  for (u32 token = blockIdx.x * blockDim.x + threadIdx.x; token < vocabulary;
       token += gridDim.x * blockDim.x)
    key = larger(key, greedyKey(logits[token], token));
  for (int offset = 16; offset > 0; offset /= 2)
    key = larger(key, __shfl_xor_sync(0xffffffffu, key, offset));
  if (threadIdx.x % 32 == 0)
    perWarp[threadIdx.x / 32] = key;
  __syncthreads();
  if (threadIdx.x == 0)
    for (u32 warp = 1; warp < blockDim.x / 32; ++warp)
      key = larger(key, perWarp[warp]);
  return key;
}

/// Writes the token to the host and to the inputs of the next step.
SDC_DEVICE void feedToken(u32 token, int *tokens, int *positions, int *slots,
                          TokenLoop *loop) {
  u32 position = loop->position + 1, step = loop->step;
  for (u32 row = 0; row < loop->rows; ++row) {
    bool goesOn = row == loop->row;
    tokens[row] = goesOn ? (int)token : 0;
    positions[row] = goesOn ? (int)position : -1;
    slots[row] = (int)row;
  }
  loop->position = position;
  loop->step = step + 1;
  loop->best = 0;
  loop->arrived = 0;
  u64 entry = (u64)(step + 1) << 32 | token;
  asm volatile("st.release.sys.global.u64 [%0], %1;"
               :
               : "l"(loop->ring + step % loop->ringSize), "l"(entry)
               : "memory");
}

/// The body of the kernel, of as many blocks as it is launched with.
SDC_DEVICE void chooseGreedily(const float *logits, long long vocabulary,
                               int *tokens, int *positions, int *slots,
                               TokenLoop *loop) {
  launchDependents();
  waitForPredecessors();
  u64 key = largestKey(logits + loop->row * vocabulary, (u32)vocabulary);
  if (threadIdx.x != 0)
    return;
  atomicMax(&loop->best, key);
  __threadfence();
  if (atomicAdd(&loop->arrived, 1) + 1 < gridDim.x)
    return;
  __threadfence();
  key = atomicMax(&loop->best, 0ull);
  feedToken(~(u32)key, tokens, positions, slots, loop);
}

} // namespace sdc
