// Linear kernels: normalise and order x once for each call, then, unit by unit,
// the sums of a block and what follows them.

#include "compiler/Lower/Cpu/Linear.h"

#include "compiler/Lower/Cpu/MathApprox.h"
#include "compiler/Lower/Cpu/Norms.h"

using namespace mlir;
using namespace sdc;

namespace {

class LinearKernel {
public:
  LinearKernel(KernelBuilder &k, const LinearSpec &s, KernelArguments &args)
      : k(k), s(s), args(args) {
    rows.words = (s.columns + kWordColumns - 1) / kWordColumns;
    // EvenOdd suits bf16 alone; among other types everything is natural.
    rows.order = WordOrder::EvenOdd;
    for (const LinearPart &part : s.parts)
      if (part.type != ElementType::BF16)
        rows.order = WordOrder::Natural;
    takeOperands();
  }

  void build() {
    // An empty range does nothing, not even the preparation of x.
    k.when(k.less(args.begin, args.end), [&] {
      prefetchStart();
      prepareRows();
      if (s.pair) {
        forBlocks(0, 0, [&](Value block) { unit({0, 1}, block); });
        return;
      }
      int64_t first = 0;
      for (size_t part = 0; part < s.parts.size(); ++part) {
        forBlocks(part, first, [&](Value block) { unit({part}, block); });
        first += s.layout(part).numBlocks();
      }
    });
  }

private:
  KernelBuilder &k;
  const LinearSpec &s;
  KernelArguments &args;
  PreparedRows rows;
  Value x, normWeight, normBias, positions, residual;
  SmallVector<Value> weights, biases, outs;
  /// Scratch behind the prepared rows; sums of a second part behind those of
  /// the first.
  Value expanded, sums;

  bool single() const { return s.outputRows() == 1; }

  void takeOperands() {
    x = args.next();
    if (s.norm.present())
      normWeight = args.next();
    if (s.norm.bias)
      normBias = args.next();
    if (s.select != LinearSpec::Select::All)
      positions = args.next();
    for (const LinearPart &part : s.parts) {
      weights.push_back(args.next());
      biases.push_back(part.bias ? args.next() : Value());
    }
    if (s.residual)
      residual = args.next();
    for (size_t i = 0; i < s.numOutputs(); ++i)
      outs.push_back(args.next());
  }

  //===--------------------------------------------------------------------===//
  // x
  //===--------------------------------------------------------------------===//

  void prepareRow(Value from, Value to) {
    RowNorm norm(k, s.norm, s.columns, normWeight, normBias);
    norm.prepare(from);
    forColumns(k, s.columns, kWordColumns, [&](Value column, int64_t count) {
      Value bytes = k.shl(column, 2);
      auto word = loadWord(k, ElementType::F32, WordOrder::Natural,
                           k.at(from, bytes), count);
      for (int64_t half = 0; half < 2; ++half) {
        int64_t here =
            std::min(std::max<int64_t>(count - half * kLanes, 0), kLanes);
        if (here > 0)
          word[half] =
              norm.apply(word[half], k.add(column, k.i64(half * kLanes)), here);
      }
      word = orderWord(k, rows.order, word);
      for (int64_t half = 0; half < 2; ++half)
        k.store(word[half], k.at(to, k.add(bytes, k.i64(half * 64))), 64);
    });
  }

  Value rowOfX(Value row) { return k.at(x, k.mul(row, k.i64(s.columns * 4))); }

  void prepareRows() {
    rows.base = args.scratch;
    if (single()) {
      Value row = s.select == LinearSpec::Select::Last
                      ? buildLastActiveRow(k, positions, s.rows)
                      : k.i64(0);
      rows.count = k.i64(1);
      prepareRow(rowOfX(row), rows.base);
      return;
    }
    int64_t padded = (s.rows + 7) / 8 * 8;
    Value indices = k.at(args.scratch, padded * rows.rowBytes());
    expanded = k.at(indices, padded * 8);
    int64_t tileRows = 0;
    for (const LinearPart &part : s.parts)
      tileRows = std::max<int64_t>(tileRows, part.tile.rows);
    sums = k.at(expanded, tileRows * rows.rowBytes());
    if (s.select == LinearSpec::Select::All) {
      rows.count = k.i64(s.rows);
      k.loop(k.i64(0), rows.count, 1, [&](Value row) {
        prepareRow(rowOfX(row),
                   k.at(rows.base, k.mul(row, k.i64(rows.rowBytes()))));
      });
      return;
    }
    // Only those that take part, one behind the other.
    rows.indices = indices;
    auto count = k.loop(
        k.i64(0), k.i64(s.rows), 1, {k.i64(0)}, [&](Value row, ValueRange n) {
          Value position = k.load(k.i32(), k.at(positions, k.shl(row, 2)), 4);
          Value active = k.less(k.i32(-1), position);
          k.when(active, [&] {
            prepareRow(rowOfX(row),
                       k.at(rows.base, k.mul(n[0], k.i64(rows.rowBytes()))));
            k.store(row, k.at(indices, k.shl(n[0], 3)), 8);
          });
          return KernelBuilder::Values{
              k.add(n[0], k.zeroExtend(active, k.i64()))};
        });
    rows.count = count[0];
  }

  /// The first weights are on their way while x is prepared.
  void prefetchStart() {
    int64_t first = 0;
    for (size_t part = 0; part < s.parts.size(); ++part) {
      PackedLayout layout = s.layout(part);
      Value block = k.sub(args.begin, k.i64(first));
      k.when(k.lessUnsigned(block, k.i64(layout.numBlocks())),
             [&] { buildPrefetchStart(k, layout, weights[part], block); });
      if (!s.pair)
        first += layout.numBlocks();
    }
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  /// The blocks of a part whose units, from `first` on, are in the range.
  void forBlocks(size_t part, int64_t first, function_ref<void(Value)> body) {
    Value begin = k.maxInt(k.sub(args.begin, k.i64(first)), k.i64(0));
    Value end = k.minInt(k.sub(args.end, k.i64(first)),
                         k.i64(s.layout(part).numBlocks()));
    k.loop(begin, end, 1, body);
  }

  void unit(ArrayRef<size_t> parts, Value block) {
    if (single()) {
      SmallVector<Value> values;
      for (size_t part : parts)
        values.push_back(
            buildVectorBlock(k, s.layout(part), rows, weights[part], block));
      finish(parts, block, k.i64(0), values);
      return;
    }
    int64_t lanes = s.parts[parts[0]].tile.rows;
    int64_t step = (s.rows + 7) / 8 * 8 * lanes * 4;
    int64_t batch = s.select == LinearSpec::Select::All ? s.rows : 0;
    for (size_t i = 0; i < parts.size(); ++i)
      buildBatchBlock(k, s.layout(parts[i]), rows, batch, weights[parts[i]],
                      block, expanded,
                      k.at(sums, static_cast<int64_t>(i) * step));
    k.loop(k.i64(0), rows.count, 1, [&](Value t) {
      SmallVector<Value> values;
      Value at = k.at(sums, k.mul(t, k.i64(lanes * 4)));
      for (size_t i = 0; i < parts.size(); ++i)
        values.push_back(k.load(k.vecF32(lanes),
                                k.at(at, static_cast<int64_t>(i) * step), 4));
      Value row = rows.indices
                      ? k.load(k.i64(), k.at(rows.indices, k.shl(t, 3)), 8)
                      : t;
      finish(parts, block, row, values);
    });
  }

  /// Bias, activation, gate, residual and the store of one row of outputs.
  void finish(ArrayRef<size_t> parts, Value block, Value outRow,
              ArrayRef<Value> values) {
    PackedLayout layout = s.layout(parts[0]);
    int64_t lanes = layout.tile.rows, tail = layout.rows % lanes;
    if (tail == 0) {
      finishLanes(parts, block, outRow, values, lanes);
      return;
    }
    int64_t lastBlock = layout.numBlocks() - 1;
    k.when(k.less(block, k.i64(lastBlock)),
           [&] { finishLanes(parts, block, outRow, values, lanes); });
    k.when(k.equal(block, k.i64(lastBlock)),
           [&] { finishLanes(parts, block, outRow, values, tail); });
  }

  void finishLanes(ArrayRef<size_t> parts, Value block, Value outRow,
                   ArrayRef<Value> values, int64_t count) {
    PackedLayout layout = s.layout(parts[0]);
    int64_t lanes = layout.tile.rows;
    Value first = k.mul(block, k.i64(lanes));
    SmallVector<Value> results;
    for (auto [part, sum] : llvm::zip(parts, values)) {
      Value value = sum;
      const LinearPart &spec = s.parts[part];
      if (spec.bias) {
        Value at = k.at(biases[part],
                        k.mul(first, k.i64(elementBytes(spec.biasType))));
        value = k.add(value, k.loadFloats(spec.biasType, at, count, lanes));
      }
      results.push_back(buildActivation(k, spec.act, value));
    }
    Value result =
        parts.size() == 2 ? k.mul(results[0], results[1]) : results[0];
    Value offset = k.shl(k.add(k.mul(outRow, k.i64(layout.rows)), first), 2);
    if (residual)
      result = k.add(k.loadExact(k.f32(), k.at(residual, offset), count, lanes),
                     result);
    k.storeExact(result, k.at(outs[s.pair ? 0 : parts[0]], offset), count);
  }
};

} // namespace

void sdc::buildKernel(KernelBuilder &k, const LinearSpec &s,
                      KernelArguments &args) {
  LinearKernel(k, s, args).build();
}
