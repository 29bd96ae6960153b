// The expansion of AVX-512 VBMI2: the mask word goes to a mask register, and
// one vpexpandw spreads the values, from a register: the form from memory is
// slower on some CPUs and faster on none that we know.

#include "compiler/Lower/Cpu/Expand.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sdc;

namespace {

/// The stored 16-bit values of one row and word, in the low lanes; reads
/// exactly their bytes.
Value loadKept(KernelBuilder &k, int64_t count, Value address) {
  Type i16 = k.b.getI16Type();
  if ((count & (count - 1)) == 0) {
    Value values = k.load(k.vec(count, i16), address);
    SmallVector<int64_t> lanes(kWordColumns, -1);
    for (int64_t i = 0; i < count; ++i)
      lanes[i] = i;
    return k.shuffle(values, values, lanes);
  }
  // A load under a constant mask.
  SmallVector<bool> kept;
  for (int64_t i = 0; i < kWordColumns; ++i)
    kept.push_back(i < count);
  VectorType bits = k.vec(kWordColumns, k.b.getI1Type());
  Value mask = LLVM::ConstantOp::create(k.b, k.loc, bits,
                                        DenseElementsAttr::get(bits, kept));
  VectorType type = k.vec(kWordColumns, i16);
  return LLVM::MaskedLoadOp::create(k.b, k.loc, type, address, mask,
                                    k.constantInt(type, 0), 1u);
}

} // namespace

Value sdc::expand16Avx512(KernelBuilder &k, const PackedLayout &layout,
                          Value mask, Value values) {
  Value bits =
      k.bitcast(k.broadcast(mask, 1), k.vec(kWordColumns, k.b.getI1Type()));
  VectorType type = k.vec(kWordColumns, k.b.getI16Type());
  Value packed = loadKept(k, layout.valuesPerWord(), values);
  return k.intrinsic("llvm.x86.avx512.mask.expand.v32i16", type,
                     {packed, k.constantInt(type, 0), bits});
}

std::array<Value, 2> sdc::expand32Avx512(KernelBuilder &k,
                                         const PackedLayout &layout, Value mask,
                                         Value values) {
  // Two vectors of 16 columns. The values of the second one begin behind those
  // of the first, whose number the pattern fixes unless a group spans both.
  // From memory, since that form reads no value beyond those kept.
  Type half = k.b.getI16Type();
  Value low = k.truncate(mask, half);
  Value high = k.truncate(k.shrUnsigned(mask, 16), half);
  Value second;
  if (layout.pattern.m <= 16) {
    second = k.at(values, layout.valuesPerWord() / 2 * 4);
  } else {
    Value kept =
        k.intrinsic("llvm.ctpop.i32", k.i32(), {k.zeroExtend(low, k.i32())});
    second = k.at(values, k.shl(k.zeroExtend(kept, k.i64()), 2));
  }
  auto expand = [&](Value bits, Value address) -> Value {
    Value lanes =
        k.bitcast(k.broadcast(bits, 1), k.vec(kLanes, k.b.getI1Type()));
    return LLVM::masked_expandload::create(k.b, k.loc, k.vecF32(), address,
                                           lanes, k.zeros());
  };
  return {expand(low, values), expand(high, second)};
}
