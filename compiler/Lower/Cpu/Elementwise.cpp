// Kernels without a product: embedding rows, the last row, activations, gates,
// additions.

#include "compiler/Lower/Cpu/Kernels.h"
#include "compiler/Lower/Cpu/MathApprox.h"
#include "compiler/Lower/Cpu/Norms.h"

using namespace mlir;
using namespace sdc;

/// The address of the first column of a row of the table.
static Value rowOfTable(KernelBuilder &k, const EmbedSpec &s, Value table,
                        Value row) {
  int64_t width = elementBytes(s.type);
  if (!s.tile)
    return k.at(table, k.mul(row, k.i64(s.hidden * width)));
  PackedLayout layout = s.layout();
  Value tileRows = k.i64(s.tile->rows);
  Value block = k.mul(k.divInt(row, tileRows), k.i64(layout.blockBytes()));
  Value lane = k.mul(k.remInt(row, tileRows), k.i64(kWordColumns * width));
  return k.at(k.at(table, block), lane);
}

void sdc::buildKernel(KernelBuilder &k, const EmbedSpec &s,
                      KernelArguments &args) {
  Value tokens = args.next(), table = args.next(), out = args.next();
  int64_t width = elementBytes(s.type);
  k.loop(args.begin, args.end, 1, [&](Value row) {
    Value token = k.load(k.i32(), k.at(tokens, k.shl(row, 2)), 4);
    Value known = k.lessUnsigned(token, k.i32(s.vocabulary));
    token = k.zeroExtend(k.select(known, token, k.i32(0)), k.i64());
    Value to = k.at(out, k.mul(row, k.i64(s.hidden * 4)));
    Value from = rowOfTable(k, s, table, token);
    forColumns(k, s.hidden, kLanes, [&](Value column, int64_t count) {
      Value at = k.at(from, k.mul(column, k.i64(width)));
      // Words of 32 columns lie apart in a packed table.
      if (s.tile)
        at = k.at(at,
                  k.mul(k.shrUnsigned(column, 5),
                        k.i64(s.layout().wordBytes() - kWordColumns * width)));
      Value lanes = k.loadFloats(s.type, at, count, kLanes);
      if (s.scale != 1)
        lanes = k.mul(lanes, k.same(lanes, s.scale));
      k.storeExact(lanes, k.at(to, k.shl(column, 2)), count);
    });
  });
}

Value sdc::buildLastActiveRow(KernelBuilder &k, Value positions, int64_t rows) {
  auto last = k.loop(
      k.i64(0), k.i64(rows), 1, {k.i64(0)}, [&](Value row, ValueRange carry) {
        Value position = k.load(k.i32(), k.at(positions, k.shl(row, 2)), 4);
        Value active = k.less(k.i32(-1), position);
        return KernelBuilder::Values{k.select(active, row, carry[0])};
      });
  return last[0];
}

void sdc::buildKernel(KernelBuilder &k, const LastRowSpec &s,
                      KernelArguments &args) {
  Value x = args.next(), positions = args.next(), out = args.next();
  // One unit: an empty range copies nothing.
  k.loop(args.begin, args.end, 1, [&](Value) {
    Value row = buildLastActiveRow(k, positions, s.rows);
    Value from = k.at(x, k.mul(row, k.i64(s.columns * 4)));
    forColumns(k, s.columns, kLanes, [&](Value column, int64_t count) {
      Value bytes = k.shl(column, 2);
      k.storeExact(k.loadExact(k.f32(), k.at(from, bytes), count, kLanes),
                   k.at(out, bytes), count);
    });
  });
}

void sdc::buildKernel(KernelBuilder &k, const ElementwiseSpec &s,
                      KernelArguments &args) {
  using Kind = ElementwiseSpec::Kind;
  constexpr int64_t block = 1024;
  Value x = args.next();
  Value y = s.kind == Kind::Activate ? Value() : args.next();
  Value out = args.next();
  int64_t blocks = (s.columns + block - 1) / block;
  int64_t width = s.rowwise ? elementBytes(s.type) : 4;

  // Columns [column, column + count) of a row.
  auto step = [&](Value row, Value column, int64_t count) {
    Value index = k.add(k.mul(row, k.i64(s.columns)), column);
    Value bytes = k.shl(index, 2);
    Value value = k.loadExact(k.f32(), k.at(x, bytes), count, kLanes);
    if (s.kind != Kind::Add)
      value = buildActivation(k, s.act, value);
    if (y) {
      Value from = k.at(y, k.mul(s.rowwise ? column : index, k.i64(width)));
      Value other = s.rowwise ? k.loadFloats(s.type, from, count, kLanes)
                              : k.loadExact(k.f32(), from, count, kLanes);
      value = s.kind == Kind::Gate ? k.mul(value, other) : k.add(value, other);
    }
    k.storeExact(value, k.at(out, bytes), count);
  };
  int64_t whole = s.columns / kLanes * kLanes;
  k.loop(args.begin, args.end, 1, [&](Value unit) {
    Value row = k.divInt(unit, k.i64(blocks));
    Value first = k.mul(k.remInt(unit, k.i64(blocks)), k.i64(block));
    Value end = k.add(first, k.i64(block));
    k.loop(first, k.minInt(end, k.i64(whole)), kLanes,
           [&](Value column) { step(row, column, kLanes); });
    // The columns that fill no vector belong to the last block of the row.
    if (whole < s.columns)
      k.when(k.less(k.i64(s.columns - 1), end),
             [&] { step(row, k.i64(whole), s.columns - whole); });
  });
}
