// One row of x: the bytes of the weights are everything. Rows of a block share
// each load of x, trip counts are constants of the shape, and weights are asked
// for some kilobytes ahead.

#include "compiler/Lower/Cpu/Linear.h"

using namespace mlir;
using namespace sdc;

void sdc::buildPrefetchWord(KernelBuilder &k, const PackedLayout &layout,
                            Value address) {
  using Cache = KernelBuilder::Cache;
  const CpuTuning &tuning = cpuTuning(k.level);
  for (int64_t line = 0; line < layout.wordBytes(); line += 64) {
    k.prefetch(address, tuning.farBytes + line, Cache::Second);
    k.prefetch(address, tuning.nearBytes + line, Cache::First);
  }
}

void sdc::buildPrefetchStart(KernelBuilder &k, const PackedLayout &layout,
                             Value weight, Value block) {
  Value base = k.at(weight, k.mul(block, k.i64(layout.blockBytes())));
  constexpr int64_t step = 512;
  k.loop(k.i64(0), k.i64(cpuTuning(k.level).farBytes), step, [&](Value bytes) {
    Value at = k.at(base, bytes);
    for (int64_t line = 0; line < step; line += 64)
      k.prefetch(at, line, KernelBuilder::Cache::Second);
  });
}

Value sdc::buildVectorBlock(KernelBuilder &k, const PackedLayout &layout,
                            const PreparedRows &rows, Value weight,
                            Value block) {
  int64_t tileRows = layout.tile.rows;
  int64_t group = std::min(tileRows, cpuTuning(k.level).vectorRows);
  Value base = k.at(weight, k.mul(block, k.i64(layout.blockBytes())));

  // Adds the words [begin, end) of the rows [first, first + group).
  auto addWords = [&](Value begin, Value end, int64_t first, ValueRange sums) {
    return k.loop(begin, end, 1, sums, [&](Value word, ValueRange sum) {
      Value at = k.at(base, k.mul(word, k.i64(layout.wordBytes())));
      Value xAt = k.at(rows.base, k.shl(word, 7));
      Value x[2] = {k.load(k.vecF32(), xAt, 64),
                    k.load(k.vecF32(), k.at(xAt, 64), 64)};
      if (first == 0)
        buildPrefetchWord(k, layout, at);
      KernelBuilder::Values next;
      for (int64_t row = 0; row < group; ++row) {
        auto w = expandWord(k, layout, rows.order, at, first + row);
        next.push_back(k.fma(w[1], x[1], k.fma(w[0], x[0], sum[row])));
      }
      return next;
    });
  };

  KernelBuilder::Values zeros(tileRows, k.zeros());
  Value words = k.i64(rows.words);
  if (group == tileRows)
    return k.sumLanes(addWords(k.i64(0), words, 0, zeros));
  // Too few registers for all rows: some words for one group of them, then the
  // same words, which the first cache still holds, for the next one.
  constexpr int64_t step = 16;
  auto sums =
      k.loop(k.i64(0), words, step, zeros, [&](Value begin, ValueRange sum) {
        Value end = k.add(begin, k.i64(step));
        if (rows.words % step != 0)
          end = k.minInt(end, words);
        KernelBuilder::Values next;
        for (int64_t first = 0; first < tileRows; first += group) {
          auto part = addWords(begin, end, first, sum.slice(first, group));
          next.append(part.begin(), part.end());
        }
        return next;
      });
  return k.sumLanes(sums);
}
