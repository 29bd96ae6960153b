// Attention of one query head of one row, in one pass over its cache: blocks of
// 16 positions, a running maximum and a running sum. Blocks begin at multiples
// of 16 whatever the window, so the order of additions is fixed by positions
// alone. Splits and their merge are here as well.

#include "compiler/Lower/Cpu/Expand.h"
#include "compiler/Lower/Cpu/Kernels.h"
#include "compiler/Lower/Cpu/MathApprox.h"
#include "compiler/Lower/Cpu/Norms.h"

using namespace mlir;
using namespace sdc;

namespace {

constexpr int64_t kBlock = kLanes;
/// The maximum of no scores: finite, so that differences stay numbers.
constexpr double kLowest = -1e30;

/// Rows of a cache as words of 32 elements.
struct CacheRows {
  ElementType type;
  int64_t size;

  WordOrder order() const {
    return type == ElementType::BF16 ? WordOrder::EvenOdd : WordOrder::Natural;
  }
  int64_t rowBytes() const { return size * elementBytes(type); }
  int64_t words() const { return (size + kWordColumns - 1) / kWordColumns; }
  int64_t count(int64_t word) const {
    return std::min(kWordColumns, size - word * kWordColumns);
  }
  std::array<Value, 2> load(KernelBuilder &k, Value row, int64_t word) const {
    return loadWord(k, type, order(),
                    k.at(row, word * kWordColumns * elementBytes(type)),
                    count(word));
  }
};

/// Stores a row of words in natural order.
void storeRow(KernelBuilder &k, const CacheRows &rows, ArrayRef<Value> lanes,
              Value to) {
  for (int64_t word = 0; word < rows.words(); ++word) {
    auto natural =
        naturalWord(k, rows.order(), {lanes[2 * word], lanes[2 * word + 1]});
    for (int64_t half = 0; half < 2; ++half) {
      int64_t first = word * kWordColumns + half * kLanes;
      k.storeExact(natural[half], k.at(to, first * 4),
                   std::min(std::max<int64_t>(rows.size - first, 0), kLanes));
    }
  }
}

class AttentionKernel {
public:
  AttentionKernel(KernelBuilder &k, const AttentionSpec &s,
                  KernelArguments &args)
      : k(k), s(s), args(args), keys{s.keyType, s.size},
        values{s.valueType, s.valueSize} {
    q = args.next();
    keyCache = args.next();
    valueCache = args.next();
    positions = args.next();
    slots = args.next();
    params = args.next();
    out = args.next();
  }

  void build() {
    k.loop(args.begin, args.end, 1, [&](Value unit) {
      Value split = k.remInt(unit, k.i64(s.splits));
      Value rowHead = k.divInt(unit, k.i64(s.splits));
      Value row = k.divInt(rowHead, k.i64(s.heads));
      Value head = k.remInt(rowHead, k.i64(s.heads));
      setRange(row, split);
      setCacheRows(row, head);
      loadQuery(rowHead);

      SmallVector<Value> state(2 * values.words(), k.zeros());
      state.push_back(k.constant(k.f32(), kLowest));
      state.push_back(k.constant(k.f32(), 0));
      Value first = k.andBits(low, k.i64(-kBlock));
      Value whole = k.maxInt(k.andBits(high, k.i64(-kBlock)), first);
      state =
          k.loop(first, whole, kBlock, state, [&](Value j, ValueRange carry) {
            return block(j, carry, /*partial=*/false);
          });
      // At most one block reaches beyond the last position.
      state =
          k.loop(whole, high, kBlock, state, [&](Value j, ValueRange carry) {
            return block(j, carry, /*partial=*/true);
          });
      finish(unit, rowHead, state);
    });
  }

private:
  KernelBuilder &k;
  const AttentionSpec &s;
  KernelArguments &args;
  CacheRows keys, values;
  Value q, keyCache, valueCache, positions, slots, params, out;

  /// Of the unit: positions [low, high), the first rows of its caches, its
  /// query in the order of the keys.
  Value low, high, keyBase, valueBase;
  SmallVector<Value> query;

  void setRange(Value row, Value split) {
    Value position = k.signExtend(
        k.load(k.i32(), k.at(positions, k.shl(row, 2)), 4), k.i64());
    low = k.i64(0);
    high = k.maxInt(k.add(position, k.i64(1)), k.i64(0));
    if (s.window)
      low = k.maxInt(k.sub(high, k.i64(s.window)), low);
    if (s.splits == 1)
      return;
    Value begin = k.mul(split, k.i64(s.chunk));
    Value isLast = k.equal(split, k.i64(s.splits - 1));
    Value end = k.select(isLast, high, k.add(begin, k.i64(s.chunk)));
    low = k.maxInt(low, begin);
    high = k.minInt(high, end);
  }

  void setCacheRows(Value row, Value head) {
    Value context = k.load(k.i64(), params, 8);
    Value slot =
        k.zeroExtend(k.load(k.i32(), k.at(slots, k.shl(row, 2)), 4), k.i64());
    Value cacheHead = k.divInt(head, k.i64(s.heads / s.cacheHeads));
    Value index =
        k.mul(k.add(k.mul(slot, k.i64(s.cacheHeads)), cacheHead), context);
    keyBase = k.at(keyCache, k.mul(index, k.i64(keys.rowBytes())));
    valueBase = k.at(valueCache, k.mul(index, k.i64(values.rowBytes())));
  }

  void loadQuery(Value rowHead) {
    Value from = k.at(q, k.mul(rowHead, k.i64(s.size * 4)));
    query.clear();
    for (int64_t word = 0; word < keys.words(); ++word)
      for (Value lanes :
           loadWord(k, ElementType::F32, keys.order(),
                    k.at(from, word * kWordColumns * 4), keys.count(word)))
        query.push_back(lanes);
  }

  /// One block of positions from j on; in a partial one the rows beyond the
  /// last position stand in for those that nobody has written.
  KernelBuilder::Values block(Value j, ValueRange carry, bool partial) {
    SmallVector<Value> index;
    for (int64_t i = 0; i < kBlock; ++i) {
      Value at = k.add(j, k.i64(i));
      index.push_back(partial ? k.minInt(at, k.sub(high, k.i64(1))) : at);
    }
    KernelBuilder::Values sums;
    for (int64_t i = 0; i < kBlock; ++i) {
      Value row = k.at(keyBase, k.mul(index[i], k.i64(keys.rowBytes())));
      Value sum = k.zeros();
      for (int64_t word = 0; word < keys.words(); ++word) {
        auto lanes = keys.load(k, row, word);
        sum = k.fma(query[2 * word], lanes[0], sum);
        sum = k.fma(query[2 * word + 1], lanes[1], sum);
      }
      sums.push_back(sum);
    }
    Value score = k.sumLanes(sums);
    score = k.mul(score, k.same(score, s.scale));
    if (s.softcap != 0)
      score = k.mul(buildTanh(k, k.div(score, k.same(score, s.softcap))),
                    k.same(score, s.softcap));
    Value valid = partial || s.window ? validLanes(j) : Value();
    Value bounded =
        valid ? k.select(valid, score, k.same(score, kLowest)) : score;

    Value maximum = carry[carry.size() - 2], sum = carry.back();
    Value higher = k.max(k.maxLanes(bounded), maximum);
    Value fade =
        k.extract(buildExp(k, k.broadcast(k.sub(maximum, higher), kBlock)), 0);
    Value p = buildExp(k, k.sub(score, k.broadcast(higher)));
    if (valid)
      p = k.select(valid, p, k.zeros());

    KernelBuilder::Values next;
    for (Value lanes : carry.drop_back(2))
      next.push_back(k.mul(lanes, k.broadcast(fade)));
    for (int64_t i = 0; i < kBlock; ++i) {
      Value row = k.at(valueBase, k.mul(index[i], k.i64(values.rowBytes())));
      Value weight = k.broadcast(k.extract(p, i));
      for (int64_t word = 0; word < values.words(); ++word) {
        auto lanes = values.load(k, row, word);
        for (int64_t half = 0; half < 2; ++half) {
          Value &acc = next[2 * word + half];
          acc = k.fma(weight, lanes[half], acc);
        }
      }
    }
    next.push_back(higher);
    next.push_back(k.fma(sum, fade, k.sumLanes(p)));
    return next;
  }

  Value validLanes(Value j) {
    Value lane = k.countingLanes(kBlock);
    Value fromLow = k.add(lane, k.broadcast(k.sub(j, low), kBlock));
    return k.lessUnsigned(fromLow, k.broadcast(k.sub(high, low), kBlock));
  }

  void finish(Value unit, Value rowHead, ArrayRef<Value> state) {
    SmallVector<Value> lanes(state.drop_back(2));
    Value maximum = state[state.size() - 2], sum = state.back();
    if (s.splits > 1) {
      Value to = k.at(out, k.mul(unit, k.i64((s.valueSize + 2) * 4)));
      storeRow(k, values, lanes, to);
      k.store(maximum, k.at(to, s.valueSize * 4));
      k.store(sum, k.at(to, s.valueSize * 4 + 4));
      return;
    }
    Value zero = k.same(sum, 0);
    Value any = k.greater(sum, zero);
    Value scale = k.select(any, k.div(k.same(sum, 1), sum), zero);
    for (Value &value : lanes)
      value = k.mul(value, k.broadcast(scale));
    storeRow(k, values, lanes,
             k.at(out, k.mul(rowHead, k.i64(s.valueSize * 4))));
  }
};

} // namespace

void sdc::buildKernel(KernelBuilder &k, const AttentionSpec &s,
                      KernelArguments &args) {
  AttentionKernel(k, s, args).build();
}

void sdc::buildKernel(KernelBuilder &k, const CombineSpec &s,
                      KernelArguments &args) {
  Value partials = args.next(), out = args.next();
  int64_t stride = (s.valueSize + 2) * 4;
  k.loop(args.begin, args.end, 1, [&](Value unit) {
    Value base = k.at(partials, k.mul(unit, k.i64(s.splits * stride)));
    Value to = k.at(out, k.mul(unit, k.i64(s.valueSize * 4)));
    auto part = [&](int64_t split, int64_t element) {
      return k.at(base, split * stride + element * 4);
    };
    Value maximum = k.constant(k.f32(), kLowest);
    for (int64_t i = 0; i < s.splits; ++i)
      maximum = k.max(k.load(k.f32(), part(i, s.valueSize)), maximum);
    SmallVector<Value> weights;
    Value sum = k.constant(k.f32(), 0);
    for (int64_t i = 0; i < s.splits; ++i) {
      Value own = k.load(k.f32(), part(i, s.valueSize));
      Value weight =
          k.extract(buildExp(k, k.broadcast(k.sub(own, maximum), kLanes)), 0);
      sum = k.fma(weight, k.load(k.f32(), part(i, s.valueSize + 1)), sum);
      weights.push_back(k.broadcast(weight));
    }
    Value zero = k.same(sum, 0);
    Value scale = k.broadcast(
        k.select(k.greater(sum, zero), k.div(k.same(sum, 1), sum), zero));
    forColumns(k, s.valueSize, kLanes, [&](Value column, int64_t count) {
      Value bytes = k.shl(column, 2), total = k.zeros();
      for (int64_t i = 0; i < s.splits; ++i)
        total =
            k.fma(weights[i],
                  k.loadExact(k.f32(), k.at(part(i, 0), bytes), count, kLanes),
                  total);
      k.storeExact(k.mul(total, scale), k.at(to, bytes), count);
    });
  });
}
