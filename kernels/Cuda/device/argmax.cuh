// Ends a greedy decode step on the device: chooses the token and makes it the
// input of the next step. Image.greedy of runtime/schema/executable.fbs says
// what it must do, and gives TokenLoop.
//
// Any number of blocks: each reduces its share of the logits to one key, the
// blocks meet in one word by an integer maximum (so the order does not matter),
// and the last to come writes. The key of a logit orders first by value, then
// lower tokens first.

#pragma once

namespace sdc {

struct TokenLoop {
  unsigned long long best;
  unsigned long long *ring;
  unsigned ringSize;
  unsigned step;
  unsigned arrived;
  unsigned rows;
  unsigned row;
  unsigned position;
};

/// Larger for a larger logit, and among equals for a lower token. NaN counts as
/// minus infinity, and the two zeros are equal. Never 0.
__device__ __forceinline__ unsigned long long greedyKey(float logit,
                                                        unsigned token) {
  logit = logit != logit ? -__int_as_float(0x7f800000) : logit + 0.0f;
  unsigned bits = __float_as_uint(logit);
  unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (unsigned long long)ordered << 32 | ~token;
}

__device__ __forceinline__ unsigned long long larger(unsigned long long a,
                                                     unsigned long long b) {
  return a > b ? a : b;
}

/// The largest key of a row that this block looks at; valid in thread 0. Needs
/// a whole number of warps, at most 32.
__device__ __forceinline__ unsigned long long largestKey(const float *logits,
                                                         unsigned vocabulary) {
  __shared__ unsigned long long perWarp[32];
  unsigned long long key = 0;
  // One row may start anywhere, so values are read singly, warp by warp.
  for (unsigned token = blockIdx.x * blockDim.x + threadIdx.x;
       token < vocabulary; token += gridDim.x * blockDim.x)
    key = larger(key, greedyKey(logits[token], token));
  for (int offset = 16; offset > 0; offset /= 2)
    key = larger(key, __shfl_xor_sync(0xffffffffu, key, offset));
  if (threadIdx.x % 32 == 0)
    perWarp[threadIdx.x / 32] = key;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp)
      key = larger(key, perWarp[warp]);
  return key;
}

/// Writes the token to the host and to the inputs of the next step.
__device__ __forceinline__ void feedToken(unsigned token, int *tokens,
                                          int *positions, int *slots,
                                          TokenLoop *loop) {
  unsigned position = loop->position + 1, step = loop->step;
  for (unsigned row = 0; row < loop->rows; ++row) {
    bool goesOn = row == loop->row;
    tokens[row] = goesOn ? (int)token : 0;
    positions[row] = goesOn ? (int)position : -1;
    slots[row] = (int)row;
  }
  loop->position = position;
  loop->step = step + 1;
  loop->best = 0;
  loop->arrived = 0;
  unsigned long long entry = (unsigned long long)(step + 1) << 32 | token;
  asm volatile("st.release.sys.global.u64 [%0], %1;"
               :
               : "l"(loop->ring + step % loop->ringSize), "l"(entry)
               : "memory");
}

/// The body of the kernel, of as many blocks as it is launched with.
__device__ __forceinline__ void chooseGreedily(const float *logits,
                                               long long vocabulary,
                                               int *tokens, int *positions,
                                               int *slots, TokenLoop *loop) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  unsigned long long key =
      largestKey(logits + loop->row * vocabulary, (unsigned)vocabulary);
  if (threadIdx.x != 0)
    return;
  atomicMax(&loop->best, key);
  __threadfence();
  if (atomicAdd(&loop->arrived, 1) + 1 < gridDim.x)
    return;
  __threadfence();
  key = atomicMax(&loop->best, 0ull);
  feedToken(~(unsigned)key, tokens, positions, slots, loop);
}

} // namespace sdc
