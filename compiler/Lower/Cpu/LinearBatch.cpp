// Several rows of x: arithmetic is everything. A tile of rows x rows of sums
// stays in registers for the whole length K; every sum adds up in the order of
// the one-row kernel, so a row's result does not depend on its company.

#include "compiler/Lower/Cpu/Linear.h"

using namespace mlir;
using namespace sdc;

namespace {

class BatchBlock {
public:
  BatchBlock(KernelBuilder &k, const PackedLayout &layout,
             const PreparedRows &rows, Value expanded, Value sums)
      : k(k), layout(layout), rows(rows), expanded(expanded), sums(sums) {}

  /// Address of the packed block when weights are decoded where they are used.
  Value packed;

  void expand(Value block) {
    k.loop(k.i64(0), k.i64(rows.words), 1, [&](Value word) {
      Value at = k.at(block, k.mul(word, k.i64(layout.wordBytes())));
      Value to = k.at(expanded, k.shl(word, 7));
      buildPrefetchWord(k, layout, at);
      for (int64_t lane = 0; lane < layout.tile.rows; ++lane) {
        auto w = expandWord(k, layout, rows.order, at, lane);
        for (int64_t half = 0; half < 2; ++half)
          k.store(w[half], k.at(to, lane * rows.rowBytes() + half * 64), 64);
      }
    });
  }

  /// All sums of `count` rows of x from row `first` on.
  void sumRows(Value first, int64_t count) {
    int64_t tileRows = layout.tile.rows;
    int64_t group = std::min(tileRows, cpuTuning(k.level).tileRows);
    for (int64_t lane = 0; lane < tileRows; lane += group)
      sumTile(first, count, lane, group);
  }

private:
  KernelBuilder &k;
  const PackedLayout &layout;
  const PreparedRows &rows;
  Value expanded, sums;

  void sumTile(Value first, int64_t count, int64_t lane, int64_t group) {
    Value xBase = k.at(rows.base, k.mul(first, k.i64(rows.rowBytes())));
    KernelBuilder::Values zeros(count * group, k.zeros());
    auto tile = k.loop(
        k.i64(0), k.i64(rows.words), 1, zeros, [&](Value word, ValueRange sum) {
          SmallVector<std::array<Value, 2>> w = weights(word, lane, group);
          Value xAt = k.at(xBase, k.shl(word, 7));
          KernelBuilder::Values next(sum);
          for (int64_t half = 0; half < 2; ++half)
            for (int64_t t = 0; t < count; ++t) {
              Value x = k.load(k.vecF32(),
                               k.at(xAt, t * rows.rowBytes() + half * 64), 64);
              for (int64_t row = 0; row < group; ++row) {
                Value &s = next[t * group + row];
                s = k.fma(w[row][half], x, s);
              }
            }
          return next;
        });
    // 16 sums at a time make one vector, which holds whole rows of x.
    int64_t perVector = std::max<int64_t>(kLanes / group, 1);
    Value to = k.at(sums, k.mul(first, k.i64(int64_t(layout.tile.rows) * 4)));
    for (int64_t t = 0; t < count; t += perVector) {
      int64_t here = std::min(perVector, count - t);
      Value lanes =
          k.sumLanes(ArrayRef<Value>(tile).slice(t * group, here * group));
      for (int64_t i = 0; i < here; ++i)
        k.store(k.slice(lanes, i * group, group),
                k.at(to, ((t + i) * layout.tile.rows + lane) * 4));
    }
  }

  SmallVector<std::array<Value, 2>> weights(Value word, int64_t lane,
                                            int64_t group) {
    SmallVector<std::array<Value, 2>> result;
    if (packed) {
      Value at = k.at(packed, k.mul(word, k.i64(layout.wordBytes())));
      if (lane == 0)
        buildPrefetchWord(k, layout, at);
      for (int64_t row = 0; row < group; ++row)
        result.push_back(expandWord(k, layout, rows.order, at, lane + row));
      return result;
    }
    Value at = k.at(expanded, k.shl(word, 7));
    for (int64_t row = 0; row < group; ++row) {
      int64_t offset = (lane + row) * rows.rowBytes();
      result.push_back({k.load(k.vecF32(), k.at(at, offset), 64),
                        k.load(k.vecF32(), k.at(at, offset + 64), 64)});
    }
    return result;
  }
};

} // namespace

void sdc::buildBatchBlock(KernelBuilder &k, const PackedLayout &layout,
                          const PreparedRows &rows, int64_t batch, Value weight,
                          Value block, Value expanded, Value sums) {
  const CpuTuning &tuning = cpuTuning(k.level);
  BatchBlock tile(k, layout, rows, expanded, sums);
  Value base = k.at(weight, k.mul(block, k.i64(layout.blockBytes())));
  if (batch > 0 && batch <= tuning.directBatch) {
    tile.packed = base;
    tile.sumRows(k.i64(0), batch);
    return;
  }
  tile.expand(base);
  int64_t size = tuning.tileBatch;
  Value full = k.sub(rows.count, k.remInt(rows.count, k.i64(size)));
  k.loop(k.i64(0), full, size, [&](Value first) { tile.sumRows(first, size); });
  if (batch > 0) {
    if (int64_t rest = batch % size)
      tile.sumRows(k.i64(batch - rest), rest);
    return;
  }
  // The rest is known at run time only: one tile for each possible size.
  Value rest = k.sub(rows.count, full);
  for (int64_t count = 1; count < size; ++count)
    k.when(k.equal(rest, k.i64(count)), [&] { tile.sumRows(full, count); });
}
