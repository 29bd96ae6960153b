// Threads live for one loop: the loops of this library take milliseconds or
// more, and there is no pool whose state could outlive a call.

#include "compiler/Algebra/Parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace sdc;

void sdc::parallelFor(unsigned threads, int64_t count,
                      const std::function<void(int64_t)> &body) {
  auto helpers = std::min<int64_t>(threads, count) - 1;
  if (helpers < 1) {
    for (int64_t i = 0; i < count; ++i)
      body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i = next++; i < count; i = next++)
      body(i);
  };
  std::vector<std::thread> pool;
  pool.reserve(helpers);
  for (int64_t i = 0; i < helpers; ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
}
