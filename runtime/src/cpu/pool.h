// A fixed team of threads that walk through the launches of an entry together,
// with a barrier after each. The caller of run() is one of them.
//
// A thread that waits spins first (the others are about to arrive), then gives
// its processor away between looks, then sleeps: a step costs a microsecond a
// launch, and an idle session nothing.

#ifndef SDC_RUNTIME_SRC_CPU_POOL_H
#define SDC_RUNTIME_SRC_CPU_POOL_H

#include "sdc/sdc.h"

#include <atomic>
#include <pthread.h>

namespace sdc::rt::cpu {

class Pool {
public:
  /// What each thread does in run(); meets the others in barrier().
  using Body = void (*)(void *context, uint32_t thread);

  struct Worker {
    Pool *pool;
    uint32_t thread;
    pthread_t handle;
  };

  /// Starts `threads` - 1 workers, whose places are given. On failure none are
  /// left.
  sdc_status start(uint32_t threads, Worker *workers, sdc_error *error);
  /// Ends the workers; does nothing if there are none.
  void stop();

  uint32_t size() const { return threads; }

  /// Runs `body` on all threads and returns when all have returned.
  void run(Body body, void *context);

  /// Waits until all threads are here. The last to come calls `decide`, whose
  /// answer all get: whether to stop.
  template <typename Decide> bool barrier(Decide decide) {
    if (threads == 1)
      return decide();
    uint32_t seen = generation.load(std::memory_order_acquire);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      decision = decide();
      advance(generation);
    } else {
      wait(generation, seen, kBarrierPatience);
    }
    return decision;
  }

private:
  /// Nanoseconds until a waiting thread gives its processor away, and until it
  /// sleeps. Where all threads run, a barrier is over in 0.2 us; on a machine
  /// with other work, spinning longer than that keeps a processor from the very
  /// thread that is waited for (30 us of it cost 55 us a launch, 2 us cost 3).
  struct Patience {
    uint64_t spin;
    uint64_t yield;
  };
  static constexpr Patience kBarrierPatience = {2'000, 200'000};
  /// Between steps the caller samples, which takes longer than a barrier.
  static constexpr Patience kJobPatience = {2'000, 1'000'000};

  static void *work(void *worker);
  void wait(std::atomic<uint32_t> &word, uint32_t seen, Patience patience);
  void advance(std::atomic<uint32_t> &word);

  uint32_t threads = 1;
  uint32_t started = 0;
  Worker *workers = nullptr;
  /// More threads than processors: spinning would keep the others from coming.
  bool crowded = false;

  Body body = nullptr;
  void *context = nullptr;
  bool stopping = false;

  /// Each on a line of its own: `job` and `generation` are watched, `arrived`
  /// is written by all.
  alignas(64) std::atomic<uint32_t> job{0};
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  alignas(64) bool decision = false;
};

} // namespace sdc::rt::cpu

#endif // SDC_RUNTIME_SRC_CPU_POOL_H
