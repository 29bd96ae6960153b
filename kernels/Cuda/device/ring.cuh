// A warp's ring of stages in shared memory. Units of weights in flight cost no
// registers, and loads run ahead over the borders of tiles.
//
// A stage is filled again right after the whole warp has read it, so one cursor
// serves both ends. From sm_90 on lane 0 starts a bulk copy that completes on
// the stage's mbarrier; before, all lanes copy 16 bytes at a time and wait by
// groups, one group for each stage, empty ones at the end.

#pragma once

#include "types.cuh"

namespace sdc {

template <int kStages, int kBytes> struct Ring {
  static constexpr int kDataBytes = kStages * kBytes;
  static constexpr int kBarrierBytes = kStages * 8;
  static_assert(kBytes % 16 == 0, "bulk copies move 16 bytes at a time");

  const char *data;
  u32 base, barriers;
  int stage = 0;
  u32 phase = 0;
  int lane;

  /// `memory` is this warp's kDataBytes, `barrier` its kStages words.
  SDC_DEVICE Ring(char *memory, u64 *barrier, int lane)
      : data(memory), base(sharedAddress(memory)),
        barriers(sharedAddress(barrier)), lane(lane) {
#if __CUDA_ARCH__ >= 900
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kStages; ++i)
        asm volatile(
            "mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + i * 8));
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
#endif
  }

  /// Starts to fill stage `at` from `source`; nothing if `any` is false. The
  /// whole warp calls it.
  SDC_DEVICE void fill(int at, const char *source, bool any) {
    u32 to = base + at * kBytes;
#if __CUDA_ARCH__ >= 900
    if (lane == 0 && any) {
      u32 barrier = barriers + at * 8;
      asm volatile(
          "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
          "r"(kBytes)
          : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
                   "::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                   "l"(source), "r"(kBytes), "r"(barrier)
                   : "memory");
    }
#else
    if (any) {
#pragma unroll
      for (int i = 0; i < (kBytes + 511) / 512; ++i) {
        int offset = (i * 32 + lane) * 16;
        if (kBytes % 512 == 0 || offset < kBytes)
          asm volatile(
              "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                  to + offset),
              "l"(source + offset)
              : "memory");
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }

  /// Waits for the current stage and returns its bytes.
  SDC_DEVICE const char *wait() {
#if __CUDA_ARCH__ >= 900
    u32 done = 0;
    do {
      asm volatile("{ .reg .pred p;\n"
                   "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                   "selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(barriers + stage * 8), "r"(phase)
                   : "memory");
    } while (!done);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    __syncwarp();
#endif
    return data + stage * kBytes;
  }

  /// The warp has read the current stage: fills it again and goes on.
  SDC_DEVICE void advance(const char *source, bool any) {
    __syncwarp();
    fill(stage, source, any);
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

} // namespace sdc
