// All 32 columns of a word at once: in step d each column meets its partner
// j xor d, and after steps 1 .. M - 1 it has met its whole group and counted
// those that go before it.

#include "compiler/Prune/LargestOfGroup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

using namespace sdc;

namespace {

constexpr int kLanes = kWordColumns;
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Doubles = double __attribute__((vector_size(8 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
using Longs = int64_t __attribute__((vector_size(8 * kLanes)));
using Bits = bool __attribute__((ext_vector_type(kLanes)));

/// One step: adds to `before`, negated, whether the partner goes first.
/// Scores are integers, so "of equals the lower column" is one more for a
/// partner that is lower.
template <typename Keys, int Distance, int... Lane>
[[gnu::always_inline]] inline void meet(const Keys &keys, Keys &before,
                                        std::integer_sequence<int, Lane...>) {
  constexpr Keys lower = {((Lane ^ Distance) < Lane)...};
  Keys partner = __builtin_shufflevector(keys, keys, (Lane ^ Distance)...);
  before += partner + lower > keys;
}

template <typename Keys, int M, int... Step>
[[gnu::always_inline]] inline void
meetAll(const Keys &keys, Keys &before, std::integer_sequence<int, Step...>) {
  (meet<Keys, Step + 1>(keys, before,
                        std::make_integer_sequence<int, kLanes>()),
   ...);
}

/// Bit j: fewer than n columns of its group go before column j.
template <typename Keys, int M>
[[gnu::always_inline]] inline uint32_t choose(const Keys &keys, unsigned n) {
  Keys before = {};
  meetAll<Keys, M>(keys, before, std::make_integer_sequence<int, M - 1>());
  Bits kept = __builtin_convertvector(before > -static_cast<int>(n), Bits);
  uint32_t mask;
  std::memcpy(&mask, &kept, sizeof(mask));
  return mask;
}

template <typename Keys>
[[gnu::always_inline]] inline uint32_t choose(const Keys &keys, Pattern p) {
  switch (p.m) {
  case 2:
    return choose<Keys, 2>(keys, p.n);
  case 4:
    return choose<Keys, 4>(keys, p.n);
  case 8:
    return choose<Keys, 8>(keys, p.n);
  case 16:
    return choose<Keys, 16>(keys, p.n);
  default:
    return choose<Keys, 32>(keys, p.n);
  }
}

/// The same of a word of which only the first `count` columns exist: the others
/// go after all, and none of them is kept.
template <typename Keys>
[[gnu::always_inline]] inline uint32_t choose(Keys &keys, int64_t count,
                                              Pattern pattern) {
  if (count == kLanes)
    return choose(keys, pattern);
  for (int64_t j = count; j < kLanes; ++j)
    keys[j] = -1;
  return choose(keys, pattern) & ((uint32_t(1) << count) - 1);
}

struct Row {
  const float *weights;
  const double *scale;
  int64_t columns;
  Pattern pattern;
  uint32_t *masks;
};

/// Scores of at least 0 order as their bits do.
[[gnu::always_inline]] inline void runRow(const Row &row) {
  for (int64_t first = 0; first < row.columns; first += kLanes) {
    int64_t count = std::min<int64_t>(kLanes, row.columns - first);
    auto bytes = static_cast<size_t>(count);
    uint32_t &mask = row.masks[first / kLanes];
    Ints bits = Ints{} - 1;
    std::memcpy(&bits, row.weights + first, bytes * sizeof(float));
    if (!row.scale) {
      Ints keys = bits & 0x7fffffff;
      mask = choose(keys, count, row.pattern);
      continue;
    }
    bits &= 0x7fffffff;
    Floats magnitude;
    std::memcpy(&magnitude, &bits, sizeof(magnitude));
    Doubles scale = {};
    std::memcpy(&scale, row.scale + first, bytes * sizeof(double));
    Doubles score = __builtin_convertvector(magnitude, Doubles) * scale;
    Longs keys;
    std::memcpy(&keys, &score, sizeof(keys));
    mask = choose(keys, count, row.pattern);
  }
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void
runAvx512(const Row &row) {
  runRow(row);
}
[[gnu::target("avx2")]] void runAvx2(const Row &row) { runRow(row); }

} // namespace

void sdc::detail::keepLargestOfRow(const float *weights, const double *scale,
                                   int64_t columns, Pattern pattern,
                                   uint32_t *masks) {
  Row row = {weights, scale, columns, pattern, masks};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    runAvx512(row);
  else if (__builtin_cpu_supports("avx2"))
    runAvx2(row);
  else
    keepLargestOfRowPlain(weights, scale, columns, pattern, masks);
}

void sdc::detail::keepLargestOfRowPlain(const float *weights,
                                        const double *scale, int64_t columns,
                                        Pattern pattern, uint32_t *masks) {
  std::fill(masks, masks + (columns + kLanes - 1) / kLanes, 0u);
  double score[kLanes];
  for (int64_t begin = 0; begin < columns; begin += pattern.m) {
    int64_t size = std::min<int64_t>(pattern.m, columns - begin);
    for (int64_t j = 0; j < size; ++j)
      score[j] = std::fabs(static_cast<double>(weights[begin + j])) *
                 (scale ? scale[begin + j] : 1.0);
    for (int64_t j = 0; j < size; ++j) {
      unsigned before = 0;
      for (int64_t i = 0; i < size; ++i)
        before += score[i] > score[j] || (score[i] == score[j] && i < j);
      if (before < pattern.n)
        masks[(begin + j) / kLanes] |= uint32_t(1) << ((begin + j) % kLanes);
    }
  }
}
