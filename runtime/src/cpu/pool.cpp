// A fixed team of threads with a spinning barrier.

#include "runtime/src/cpu/pool.h"

#include "runtime/src/cpu/level.h"
#include "runtime/src/status.h"

#include <climits>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sdc::rt;
using namespace sdc::rt::cpu;

/// Kernels keep large things in their scratch memory; the rest is frames.
static constexpr size_t kStackSize = size_t{1} << 20;
/// Looks at a word between two looks at the clock.
static constexpr unsigned kLooks = 32;

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void futexWait(std::atomic<uint32_t> &word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

static void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Pool::wait(std::atomic<uint32_t> &word, uint32_t seen, Patience patience) {
  auto changed = [&] { return word.load(std::memory_order_acquire) != seen; };
  uint64_t start = nanoseconds(), waited = 0;
  while (waited < patience.yield) {
    if (crowded || waited >= patience.spin) {
      if (changed())
        return;
      sched_yield();
    } else {
      for (unsigned i = 0; i < kLooks; ++i) {
        if (changed())
          return;
        relax();
      }
    }
    waited = nanoseconds() - start;
  }
  // Whoever changes the word does so before it looks at `sleepers`, and the
  // kernel looks at the word after `sleepers` has been raised.
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (!changed())
    futexWait(word, seen);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Pool::advance(std::atomic<uint32_t> &word) {
  word.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    futexWakeAll(word);
}

void *Pool::work(void *argument) {
  Worker &worker = *static_cast<Worker *>(argument);
  Pool &pool = *worker.pool;
  // Jobs are counted from 0: a worker that starts late misses none.
  for (uint32_t seen = 0;; ++seen) {
    pool.wait(pool.job, seen, kJobPatience);
    if (pool.stopping)
      return nullptr;
    pool.body(pool.context, worker.thread);
    pool.barrier([] { return false; });
  }
}

void Pool::run(Body newBody, void *newContext) {
  body = newBody;
  context = newContext;
  if (threads > 1)
    advance(job);
  body(context, 0);
  barrier([] { return false; });
}

sdc_status Pool::start(uint32_t count, Worker *places, sdc_error *error) {
  threads = count;
  workers = places;
  crowded = count > availableProcessors();
  if (count == 1)
    return SDC_OK;
  // Signals are the host's business: its threads take them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  int problem = 0;
  for (uint32_t i = 0; i + 1 < count && problem == 0; ++i) {
    workers[i].pool = this;
    workers[i].thread = i + 1;
    problem =
        pthread_create(&workers[i].handle, &attributes, work, &workers[i]);
    started += problem == 0;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem == 0)
    return SDC_OK;
  uint32_t got = started;
  stop();
  return fail(error, SDC_NO_THREADS,
              "only %u of %u threads could be started: %s", got + 1, count,
              systemError(problem));
}

void Pool::stop() {
  if (started == 0)
    return;
  stopping = true;
  advance(job);
  for (uint32_t i = 0; i < started; ++i)
    pthread_join(workers[i].handle, nullptr);
  started = 0;
}
