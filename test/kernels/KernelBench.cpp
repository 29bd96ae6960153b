// How fast generated linear kernels read their weights from memory.
//
//   KernelBench LEVEL THREADS ROUNDS NAME...
//
// Each name is a linear of kernels/Spec, or "read", a plain stream of loads.
// The weights of each are copied until they exceed 512 MB, so that no cache
// holds them; in each round every name runs once over all of its copies, one
// after the other, and the table has minimum and median over the rounds, and
// the least CPU time of the first thread, which tells more than the clock when
// the machine is shared. Masks and values are random.

#include "test/unit/KernelRunner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <immintrin.h>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <time.h>

using namespace sdc;

namespace {

constexpr int64_t kBytes = int64_t(512) << 20;

/// Spins; on a machine that is shared it lets others go before.
template <typename Condition> void waitWhile(Condition condition) {
  for (int spins = 0; condition(); ++spins)
    if (spins < 2000)
      _mm_pause();
    else
      std::this_thread::yield();
}

/// Runs one function on all threads, the caller's among them.
class Team {
public:
  explicit Team(int size) {
    for (int i = 1; i < size; ++i)
      threads.emplace_back([this, i] {
        for (int seen = 0;;) {
          waitWhile(
              [&] { return turn.load(std::memory_order_acquire) == seen; });
          ++seen;
          if (!work)
            return;
          work(i);
          left.fetch_sub(1, std::memory_order_release);
        }
      });
  }
  ~Team() {
    work = nullptr;
    turn.fetch_add(1, std::memory_order_release);
    for (std::thread &thread : threads)
      thread.join();
  }
  int size() const { return static_cast<int>(threads.size()) + 1; }
  void run(const std::function<void(int)> &function) {
    work = function;
    left.store(size() - 1);
    turn.fetch_add(1, std::memory_order_release);
    function(0);
    waitWhile([&] { return left.load(std::memory_order_acquire) != 0; });
  }

private:
  std::vector<std::thread> threads;
  std::function<void(int)> work;
  std::atomic<int> turn{0}, left{0};
};

uint8_t *hugePages(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    std::exit(1);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<uint8_t *>(memory);
}

/// Packs random weights a few blocks at a time.
void fill(const PackedLayout &layout, uint8_t *out, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1 / std::sqrt(layout.columns));
  int64_t rows = layout.tile.rows;
  std::vector<float> w(rows * layout.columns);
  std::vector<int64_t> order(layout.pattern.m);
  for (int64_t block = 0; block < layout.numBlocks(); ++block) {
    // A few blocks are made, the others are copies of them.
    uint8_t *to = out + block * layout.blockBytes();
    if (block >= 16) {
      std::memcpy(to, out + (block % 16) * layout.blockBytes(),
                  layout.blockBytes());
      continue;
    }
    for (float &value : w)
      value = normal(random);
    for (int64_t i = 0; i < rows * layout.columns; i += layout.pattern.m) {
      for (size_t j = 0; j < order.size(); ++j)
        order[j] = j;
      std::shuffle(order.begin(), order.end(), random);
      for (size_t j = layout.pattern.n; j < order.size(); ++j)
        if (i + order[j] < static_cast<int64_t>(w.size()))
          w[i + order[j]] = 0;
    }
    PackedLayout one = layout;
    one.rows = rows;
    if (auto problem =
            packBlocks(one, 0, 1, w.data(), layout.columns, nullptr, to)) {
      std::printf("%s\n", problem->str().c_str());
      std::exit(1);
    }
  }
}

/// One thing that is timed: `run(copy, thread, threads)`.
struct Entry {
  std::string name;
  double bytes = 0, flops = 0;
  int64_t copies = 1;
  std::function<void(int64_t, int, int)> run;
  std::vector<double> times;
  double cpu = 1e9;
  std::vector<Buffer> buffers;
  std::vector<uint8_t *> weights;
};

std::atomic<uint64_t> sink{0};

double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

void makeRead(Entry &entry) {
  entry.bytes = 64 << 20;
  entry.copies = kBytes / (64 << 20);
  uint8_t *memory = hugePages(kBytes);
  std::memset(memory, 1, kBytes);
  entry.run = [memory](int64_t copy, int thread, int threads) {
    const int64_t size = (int64_t(64) << 20) / threads;
    const uint8_t *p = memory + copy * (64 << 20) + thread * size;
    uint64_t sums[8] = {};
    for (int64_t i = 0; i < size; i += 64) {
      _mm_prefetch(reinterpret_cast<const char *>(p + i + 4096), _MM_HINT_T0);
      for (int j = 0; j < 8; ++j)
        sums[j] += reinterpret_cast<const uint64_t *>(p + i)[j];
    }
    for (uint64_t sum : sums)
      sink += sum;
  };
}

void makeLinear(Entry &entry, KernelSet &kernels, size_t index, int threads) {
  const KernelSpec &spec = kernels.spec(index);
  auto s = std::get<LinearSpec>(spec.spec);
  double elements = 0;
  for (size_t p = 0; p < s.parts.size(); ++p) {
    entry.bytes += s.layout(p).packedSize();
    elements += double(s.parts[p].rows) * s.columns;
  }
  entry.flops = 2 * elements * s.outputRows();
  entry.copies = std::max<int64_t>(kBytes / entry.bytes, 1);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(std::max<int64_t>(s.rows * s.columns, 1 << 20));
  for (float &value : x)
    value = normal(random);
  entry.buffers.emplace_back(x);
  std::vector<int32_t> positions(s.rows, 1);
  entry.buffers.emplace_back(positions);
  for (size_t o = 0; o < s.numOutputs(); ++o)
    entry.buffers.emplace_back(size_t(s.outputRows() * s.parts[o].rows * 4));
  for (int i = 0; i < threads; ++i)
    entry.buffers.emplace_back(size_t(spec.scratchSize()));

  auto operands = std::make_shared<std::vector<std::vector<void *>>>();
  for (int64_t copy = 0; copy < entry.copies; ++copy) {
    uint8_t *memory = hugePages(static_cast<size_t>(entry.bytes));
    std::vector<void *> list = {entry.buffers[0].data()};
    if (s.norm.present())
      list.push_back(entry.buffers[0].data());
    if (s.norm.bias)
      list.push_back(entry.buffers[0].data());
    if (s.select != LinearSpec::Select::All)
      list.push_back(entry.buffers[1].data());
    for (size_t p = 0; p < s.parts.size(); ++p) {
      fill(s.layout(p), memory, copy + 1);
      list.push_back(memory);
      memory += s.layout(p).packedSize();
      if (s.parts[p].bias)
        list.push_back(entry.buffers[0].data());
    }
    if (s.residual)
      list.push_back(entry.buffers[0].data());
    for (size_t o = 0; o < s.numOutputs(); ++o)
      list.push_back(entry.buffers[2 + o].data());
    operands->push_back(std::move(list));
  }
  size_t scratch = 2 + s.numOutputs();
  KernelSet::Function function = kernels.function(index);
  int64_t units = spec.unitCount();
  Buffer *buffers = entry.buffers.data();
  entry.run = [=](int64_t copy, int thread, int threads) {
    function((*operands)[copy].data(), units * thread / threads,
             units * (thread + 1) / threads, buffers[scratch + thread].data());
  };
}

} // namespace

int main(int argc, char **argv) {
  auto level = argc > 4 ? parseCpuLevel(argv[1]) : std::nullopt;
  if (!level) {
    std::printf("usage: KernelBench avx2|avx512vbmi2 THREADS ROUNDS NAME...\n");
    return 2;
  }
  int threads = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
  std::vector<std::string> names(argv + 4, argv + argc), linears;
  std::copy_if(names.begin(), names.end(), std::back_inserter(linears),
               [](const std::string &name) { return name != "read"; });
  KernelSet kernels(linears, *level);
  if (!kernels.problem.empty()) {
    std::printf("%s\n", kernels.problem.c_str());
    return 1;
  }
  std::vector<Entry> entries(names.size());
  size_t next = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    entries[i].name = names[i];
    if (names[i] == "read")
      makeRead(entries[i]);
    else
      makeLinear(entries[i], kernels, next++, threads);
  }
  Team team(threads);
  for (int round = 0; round < rounds; ++round)
    for (Entry &entry : entries) {
      auto begin = std::chrono::steady_clock::now();
      double cpu = threadSeconds();
      for (int64_t copy = 0; copy < entry.copies; ++copy)
        team.run([&](int thread) { entry.run(copy, thread, threads); });
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - begin;
      entry.cpu = std::min(entry.cpu, (threadSeconds() - cpu) / entry.copies);
      entry.times.push_back(time.count() / entry.copies);
    }
  std::printf("   min us  median us     cpu us   GB/s  GFLOP/s\n");
  for (Entry &entry : entries) {
    std::sort(entry.times.begin(), entry.times.end());
    double least = entry.times.front();
    double median = entry.times[entry.times.size() / 2];
    std::printf("%9.1f %10.1f %10.1f %6.1f %8.1f  %s\n", least * 1e6,
                median * 1e6, entry.cpu * 1e6, entry.bytes / least / 1e9,
                entry.flops / least / 1e9, entry.name.c_str());
  }
  return 0;
}
