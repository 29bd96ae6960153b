// Group choice, error and update, 16 rows at a time.

#include "compiler/Prune/ObsBlock.h"

#include <algorithm>
#include <cstring>

using namespace sdc;
using namespace sdc::detail;

namespace {

constexpr int kLanes = 16;
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
using Doubles = double __attribute__((vector_size(8 * kLanes)));

struct Task {
  ObsBlock &block;
  int64_t columns;
  const float *u;
  int64_t stride;
  Pattern pattern;
  ElementType type;
};

/// Marks what the group that begins at `begin` keeps, as -1, in lanes `lane`
/// and up.
[[gnu::always_inline]] inline void chooseGroup(const Task &task, int64_t begin,
                                               int64_t lane, Ints *keep) {
  int64_t size = std::min<int64_t>(task.pattern.m, task.columns - begin);
  auto n = static_cast<int32_t>(task.pattern.n);
  Floats score[kWordColumns];
  for (int64_t j = 0; j < size; ++j) {
    Floats w;
    std::memcpy(&w, &task.block.weights[begin + j][lane], sizeof(w));
    Floats s = w / task.u[(begin + j) * task.stride + begin + j];
    score[j] = s * s;
  }
  for (int64_t j = 0; j < size; ++j) {
    // Those that go before j: the larger ones, and of equals the lower ones.
    Ints before = {};
    for (int64_t i = 0; i < j; ++i)
      before -= score[i] >= score[j];
    for (int64_t i = j + 1; i < size; ++i)
      before -= score[i] > score[j];
    keep[j] = before < n;
  }
}

[[gnu::always_inline]] inline void runLanes(const Task &task, int64_t lane) {
  ObsBlock &block = task.block;
  Doubles loss;
  std::memcpy(&loss, &block.losses[lane], sizeof(loss));
  Ints keep[kWordColumns];
  int64_t m = task.pattern.m;
  for (int64_t j = 0; j < task.columns; ++j) {
    if (j % m == 0)
      chooseGroup(task, j, lane, keep);
    Ints kept = keep[j % m];
    Ints masks;
    std::memcpy(&masks, &block.masks[j / kWordColumns][lane], sizeof(masks));
    masks |= kept & static_cast<int32_t>(uint32_t(1) << (j % kWordColumns));
    std::memcpy(&block.masks[j / kWordColumns][lane], &masks, sizeof(masks));

    const float *u = task.u + j * task.stride;
    Floats w;
    std::memcpy(&w, &block.weights[j][lane], sizeof(w));
    Floats q = kept ? w : Floats{};
    if (task.type != ElementType::F32)
      for (int i = 0; i < kLanes; ++i)
        q[i] = roundTo(task.type, q[i]);
    Floats error = (w - q) / u[j];
    std::memcpy(&block.weights[j][lane], &q, sizeof(q));
    std::memcpy(&block.errors[j][lane], &error, sizeof(error));
    Doubles wide = __builtin_convertvector(error, Doubles);
    loss = __builtin_elementwise_fma(wide, wide, loss);
    for (int64_t k = j + 1; k < task.columns; ++k) {
      Floats next, factor = u[k] - Floats{};
      std::memcpy(&next, &block.weights[k][lane], sizeof(next));
      next = __builtin_elementwise_fma(-error, factor, next);
      std::memcpy(&block.weights[k][lane], &next, sizeof(next));
    }
  }
  std::memcpy(&block.losses[lane], &loss, sizeof(loss));
}

[[gnu::always_inline]] inline void runTask(const Task &task) {
  for (int64_t lane = 0; lane < kObsRows; lane += kLanes)
    runLanes(task, lane);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void
runAvx512(const Task &task) {
  runTask(task);
}
[[gnu::target("avx2,fma")]] void runAvx2(const Task &task) { runTask(task); }
void runBase(const Task &task) { runTask(task); }

} // namespace

void sdc::detail::pruneObsBlock(ObsBlock &block, int64_t columns,
                                const float *u, int64_t stride, Pattern pattern,
                                ElementType type) {
  Task task = {block, columns, u, stride, pattern, type};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    runAvx512(task);
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    runAvx2(task);
  else
    runBase(task);
}
