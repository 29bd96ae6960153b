// What both levels share: the order of columns, and 16-bit values to f32.

#include "compiler/Lower/Cpu/Expand.h"

using namespace mlir;
using namespace sdc;

namespace {

constexpr int64_t kHalf = kLanes;

/// 32 stored 16-bit values, as i16, to f32.
std::array<Value, 2> widen16(KernelBuilder &k, ElementType type,
                             WordOrder order, Value bits) {
  if (type == ElementType::F16) {
    Value halves = k.bitcast(bits, k.vec(kWordColumns, k.b.getF16Type()));
    std::array<Value, 2> natural;
    for (int64_t i = 0; i < 2; ++i)
      natural[i] = k.widenFloat(k.slice(halves, i * kHalf, kHalf), k.vecF32());
    return orderWord(k, order, natural);
  }
  Type pairs = k.vec(kHalf, k.i32());
  if (order == WordOrder::EvenOdd) {
    Value both = k.bitcast(bits, pairs);
    Value odd = k.andBits(both, k.constantInt(pairs, -0x10000));
    return {k.bitcast(k.shl(both, 16), k.vecF32()), k.bitcast(odd, k.vecF32())};
  }
  std::array<Value, 2> natural;
  for (int64_t i = 0; i < 2; ++i)
    natural[i] = k.bitcast(
        k.shl(k.zeroExtend(k.slice(bits, i * kHalf, kHalf), pairs), 16),
        k.vecF32());
  return natural;
}

} // namespace

std::array<Value, 2> sdc::orderWord(KernelBuilder &k, WordOrder order,
                                    std::array<Value, 2> natural) {
  if (order == WordOrder::Natural)
    return natural;
  std::array<Value, 2> result;
  for (int64_t odd = 0; odd < 2; ++odd) {
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < kHalf; ++i)
      lanes.push_back(2 * i + odd);
    result[odd] = k.shuffle(natural[0], natural[1], lanes);
  }
  return result;
}

std::array<Value, 2> sdc::naturalWord(KernelBuilder &k, WordOrder order,
                                      std::array<Value, 2> ordered) {
  if (order == WordOrder::Natural)
    return ordered;
  std::array<Value, 2> result;
  for (int64_t high = 0; high < 2; ++high) {
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < kHalf; ++i) {
      int64_t column = high * kHalf + i;
      lanes.push_back(column / 2 + column % 2 * kHalf);
    }
    result[high] = k.shuffle(ordered[0], ordered[1], lanes);
  }
  return result;
}

std::array<Value, 2> sdc::loadWord(KernelBuilder &k, ElementType type,
                                   WordOrder order, Value address,
                                   int64_t count) {
  if (type != ElementType::F32)
    return widen16(k, type, order,
                   k.loadExact(k.b.getI16Type(), address, count, kWordColumns));
  std::array<Value, 2> natural;
  for (int64_t i = 0; i < 2; ++i)
    natural[i] = k.loadExact(
        k.f32(), k.at(address, i * kHalf * 4),
        std::min(std::max<int64_t>(count - i * kHalf, 0), kHalf), kHalf);
  return orderWord(k, order, natural);
}

std::array<Value, 2> sdc::expandWord(KernelBuilder &k,
                                     const PackedLayout &layout,
                                     WordOrder order, Value address,
                                     int64_t lane) {
  Value values = k.at(address, layout.valueOffset(lane, 0));
  if (layout.pattern.isDense())
    return loadWord(k, layout.type, order, values);
  Value mask = k.load(k.i32(), k.at(address, layout.maskOffset(lane, 0)));
  bool avx512 = k.level == CpuLevel::Avx512Vbmi2;
  if (layout.type == ElementType::F32)
    return orderWord(k, order,
                     avx512 ? expand32Avx512(k, layout, mask, values)
                            : expand32Avx2(k, layout, mask, values));
  return widen16(k, layout.type, order,
                 avx512 ? expand16Avx512(k, layout, mask, values)
                        : expand16Avx2(k, layout, mask, values));
}
