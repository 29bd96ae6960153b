// Rotary embedding and append: one head of one row a unit. Cosines and sines
// are computed where they are used, in f64 up to the reduced angle, so that no
// table limits the context.

#include "compiler/Lower/Cpu/Kernels.h"
#include "compiler/Lower/Cpu/MathApprox.h"
#include "compiler/Lower/Cpu/Norms.h"

using namespace mlir;
using namespace sdc;

namespace {

/// One of the three tensors that the kernel may have.
struct Tensor {
  int64_t heads = 0, size = 0;
  ElementType type = ElementType::F32;
  NormSpec norm;
  Value from, to, normWeight, normBias;
};

class RotaryKernel {
public:
  RotaryKernel(KernelBuilder &k, const RotarySpec &s, KernelArguments &args)
      : k(k), s(s), args(args) {
    bool cached = s.keyHeads || s.valueHeads;
    positions = args.next();
    slots = cached ? args.next() : Value();
    params = cached ? args.next() : Value();
    frequencies = s.rotated ? args.next() : Value();
    q = {s.queryHeads, s.querySize, ElementType::F32, s.queryNorm, {}, {},
         {},           {}};
    key = {s.keyHeads, s.keySize, s.keyType, s.keyNorm, {}, {}, {}, {}};
    value = {s.valueHeads, s.valueSize, s.valueType, {}, {}, {}, {}, {}};
    for (Tensor *t : {&q, &key}) {
      t->normWeight = t->norm.present() ? args.next() : Value();
      t->normBias = t->norm.bias ? args.next() : Value();
    }
    for (Tensor *t : {&q, &key, &value})
      if (t->heads) {
        t->from = args.next();
        t->to = args.next();
      }
  }

  void build() {
    int64_t stateHeads = std::max(s.keyHeads, s.valueHeads);
    int64_t perRow = s.queryHeads + stateHeads;
    k.loop(args.begin, args.end, 1, [&](Value unit) {
      Value row = k.divInt(unit, k.i64(perRow));
      Value head = k.remInt(unit, k.i64(perRow));
      Value position = k.load(k.i32(), k.at(positions, k.shl(row, 2)), 4);
      k.when(k.less(k.i32(-1), position), [&] {
        Value isQuery = k.less(head, k.i64(s.queryHeads));
        if (s.queryHeads)
          k.when(isQuery, [&] {
            transform(q, source(q, row, head), position, [&](Value at) {
              return k.at(q.to, k.add(offset(q, row, head), at));
            });
          });
        Value stateHead = k.sub(head, k.i64(s.queryHeads));
        if (s.keyHeads)
          k.when(inside(key, stateHead), [&] {
            Value base = cacheRow(key, row, stateHead, position);
            transform(key, source(key, row, stateHead), position,
                      [&](Value at) { return k.at(base, scaled(key, at)); });
          });
        if (s.valueHeads)
          k.when(inside(value, stateHead),
                 [&] { appendValue(row, stateHead, position); });
      });
    });
  }

private:
  KernelBuilder &k;
  const RotarySpec &s;
  KernelArguments &args;
  Value positions, slots, params, frequencies;
  Tensor q, key, value;

  Value inside(const Tensor &t, Value head) {
    return k.lessUnsigned(head, k.i64(t.heads));
  }

  Value offset(const Tensor &t, Value row, Value head) {
    return k.mul(k.add(k.mul(row, k.i64(t.heads)), head), k.i64(t.size * 4));
  }
  Value source(const Tensor &t, Value row, Value head) {
    return k.at(t.from, offset(t, row, head));
  }

  /// Bytes of f32 to bytes of the tensor's type.
  Value scaled(const Tensor &t, Value bytes) {
    return t.type == ElementType::F32 ? bytes : k.shrUnsigned(bytes, 1);
  }

  /// The address of cache[slot, head, position, :].
  Value cacheRow(const Tensor &t, Value row, Value head, Value position) {
    Value context = k.load(k.i64(), params, 8);
    Value slot =
        k.zeroExtend(k.load(k.i32(), k.at(slots, k.shl(row, 2)), 4), k.i64());
    Value index = k.add(k.mul(slot, k.i64(t.heads)), head);
    index = k.add(k.mul(index, context), k.zeroExtend(position, k.i64()));
    return k.at(t.to, k.mul(index, k.i64(t.size * elementBytes(t.type))));
  }

  void appendValue(Value row, Value head, Value position) {
    Value from = source(value, row, head);
    Value to = cacheRow(value, row, head, position);
    forColumns(k, value.size, kLanes, [&](Value column, int64_t count) {
      Value bytes = k.shl(column, 2);
      k.storeFloats(value.type,
                    k.loadExact(k.f32(), k.at(from, bytes), count, kLanes),
                    k.at(to, scaled(value, bytes)), count);
    });
  }

  /// Norm, then rotation of one head. `place` turns an offset in bytes of f32
  /// into an address of the result.
  void transform(const Tensor &t, Value from, Value position,
                 function_ref<Value(Value)> place) {
    if (t.norm.present()) {
      // Pairs lie apart, so the normed head is stored before it is rotated.
      RowNorm norm(k, t.norm, t.size, t.normWeight, t.normBias);
      norm.prepare(from);
      forColumns(k, t.size, kLanes, [&](Value column, int64_t count) {
        Value bytes = k.shl(column, 2);
        Value lanes = k.loadExact(k.f32(), k.at(from, bytes), count, kLanes);
        k.storeExact(norm.apply(lanes, column, count),
                     k.at(args.scratch, bytes), count);
      });
      from = args.scratch;
    }
    if (s.rotated) {
      Value angle = k.intToFloat(position, k.f32());
      forColumns(k, s.rotated / 2, kLanes, [&](Value pair, int64_t count) {
        rotate(t, from, k.broadcast(angle), pair, count, place);
      });
    }
    // What is not rotated.
    for (int64_t done = s.rotated; done < t.size; done += kLanes) {
      int64_t count = std::min(kLanes, t.size - done);
      k.storeFloats(t.type,
                    k.loadExact(k.f32(), k.at(from, done * 4), count, kLanes),
                    place(k.i64(done * 4)), count);
    }
  }

  /// The pairs [pair, pair + count).
  void rotate(const Tensor &t, Value from, Value position, Value pair,
              int64_t count, function_ref<Value(Value)> place) {
    Value bytes = k.shl(pair, 2);
    Value f = k.loadExact(k.f32(), k.at(frequencies, bytes), count, kLanes);
    auto [sine, cosine] = buildSinCos(k, k.mul(position, f));
    if (s.scale != 1) {
      sine = k.mul(sine, k.same(sine, s.scale));
      cosine = k.mul(cosine, k.same(cosine, s.scale));
    }
    Value x1, x2;
    Value second = k.add(bytes, k.i64(s.rotated / 2 * 4));
    Value both = k.shl(bytes, 1);
    if (s.interleaved) {
      Value pairs =
          k.loadExact(k.f32(), k.at(from, both), 2 * count, 2 * kLanes);
      auto split = orderPairs(pairs);
      x1 = split.first;
      x2 = split.second;
    } else {
      x1 = k.loadExact(k.f32(), k.at(from, bytes), count, kLanes);
      x2 = k.loadExact(k.f32(), k.at(from, second), count, kLanes);
    }
    // Both products are rounded, as in the models' own graphs.
    Value y1 = k.sub(k.mul(x1, cosine), k.mul(x2, sine));
    Value y2 = k.add(k.mul(x2, cosine), k.mul(x1, sine));
    if (s.interleaved) {
      SmallVector<int64_t> lanes;
      for (int64_t i = 0; i < kLanes; ++i) {
        lanes.push_back(i);
        lanes.push_back(kLanes + i);
      }
      k.storeFloats(t.type, k.shuffle(y1, y2, lanes), place(both), 2 * count);
      return;
    }
    k.storeFloats(t.type, y1, place(bytes), count);
    k.storeFloats(t.type, y2, place(second), count);
  }

  std::pair<Value, Value> orderPairs(Value pairs) {
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < kLanes; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
    }
    return {k.shuffle(pairs, pairs, even), k.shuffle(pairs, pairs, odd)};
  }
};

} // namespace

void sdc::buildKernel(KernelBuilder &k, const RotarySpec &s,
                      KernelArguments &args) {
  RotaryKernel(k, s, args).build();
}
