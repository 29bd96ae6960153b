// RMS and layer normalisation in f32: sums in 16 lanes, one square root and one
// division a row.

#include "compiler/Lower/Cpu/Norms.h"

#include "compiler/Lower/Cpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sdc;

namespace {

/// Sums `term(lanes, count)` over the row x and gives the sum in all lanes.
Value sumRow(KernelBuilder &k, Value x, int64_t columns,
             function_ref<Value(Value lanes, int64_t count, Value sum)> term) {
  // Four sums, so that additions don't wait for each other.
  constexpr int64_t sums = 4, step = sums * kLanes;
  SmallVector<Value> carried(sums, k.zeros());
  int64_t whole = columns / step * step;
  SmallVector<Value> total = k.loop(
      k.i64(0), k.i64(whole), step, carried, [&](Value i, ValueRange carry) {
        Value at = k.at(x, k.shl(i, 2));
        KernelBuilder::Values next;
        for (int64_t j = 0; j < sums; ++j)
          next.push_back(term(k.load(k.vecF32(), k.at(at, j * kLanes * 4)),
                              kLanes, carry[j]));
        return next;
      });
  for (int64_t done = whole, j = 0; done < columns; done += kLanes, ++j) {
    int64_t count = std::min(kLanes, columns - done);
    Value lanes = k.loadExact(k.f32(), k.at(x, done * 4), count, kLanes);
    total[j] = term(lanes, count, total[j]);
  }
  Value sum = k.add(k.add(total[0], total[1]), k.add(total[2], total[3]));
  return k.broadcast(k.sumLanes(sum));
}

/// Zeroes the lanes from `count` on.
Value keepFirst(KernelBuilder &k, Value lanes, int64_t count) {
  if (count == kLanes)
    return lanes;
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < kLanes; ++i)
    from.push_back(i < count ? i : kLanes + i);
  return k.shuffle(lanes, k.zeros(), from);
}

} // namespace

void sdc::forColumns(KernelBuilder &k, int64_t columns, int64_t step,
                     function_ref<void(Value, int64_t)> body) {
  int64_t whole = columns / step * step;
  if (whole > 0)
    k.loop(k.i64(0), k.i64(whole), step, [&](Value i) { body(i, step); });
  if (whole < columns)
    body(k.i64(whole), columns - whole);
}

void RowNorm::prepare(Value x) {
  if (!spec.present())
    return;
  Value count = k.constant(k.vecF32(), static_cast<double>(columns));
  if (spec.kind == NormSpec::Kind::Layer)
    mean = k.div(sumRow(k, x, columns,
                        [&](Value lanes, int64_t, Value sum) {
                          return k.add(sum, lanes);
                        }),
                 count);
  Value squares =
      sumRow(k, x, columns, [&](Value lanes, int64_t count, Value sum) {
        Value centred = mean ? keepFirst(k, k.sub(lanes, mean), count) : lanes;
        return k.fma(centred, centred, sum);
      });
  Value variance = k.add(k.div(squares, count), k.same(squares, spec.eps));
  scale = k.div(k.same(squares, 1), k.sqrt(variance));
}

Value RowNorm::apply(Value lanes, Value column, int64_t count) {
  if (!spec.present())
    return lanes;
  auto parameter = [&](Value base) {
    Value at = k.at(base, k.mul(column, k.i64(elementBytes(spec.type))));
    return k.loadFloats(spec.type, at, count, kLanes);
  };
  if (mean)
    lanes = k.sub(lanes, mean);
  Value result = k.mul(k.mul(lanes, scale), parameter(weight));
  if (spec.bias)
    result = k.add(result, parameter(bias));
  return mean ? keepFirst(k, result, count) : result;
}

void sdc::buildKernel(KernelBuilder &k, const RowNormSpec &s,
                      KernelArguments &args) {
  Value x = args.next(), weight = args.next();
  Value bias = s.norm.bias ? args.next() : Value();
  Value out = args.next();
  k.loop(args.begin, args.end, 1, [&](Value row) {
    Value offset = k.mul(row, k.i64(s.columns * 4));
    Value from = k.at(x, offset), to = k.at(out, offset);
    RowNorm norm(k, s.norm, s.columns, weight, bias);
    norm.prepare(from);
    forColumns(k, s.columns, kLanes, [&](Value column, int64_t count) {
      Value bytes = k.shl(column, 2);
      Value lanes = k.loadExact(k.f32(), k.at(from, bytes), count, kLanes);
      k.storeExact(norm.apply(lanes, column, count), k.at(to, bytes), count);
    });
  });
}
