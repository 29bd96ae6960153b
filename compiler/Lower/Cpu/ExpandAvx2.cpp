// The expansion of AVX2: eight columns at a time, by a table of 256 byte
// shuffles. Where the values of a byte of the mask begin is fixed by the
// pattern, or the number of bits below.

#include "compiler/Lower/Cpu/Expand.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sdc;

namespace {

constexpr int64_t kByte = 8;
constexpr uint8_t kNothing = 0x80;

/// For each of the 256 masks of eight columns: of column j, the index of its
/// value among those kept, in `width` bytes; kNothing where it is not kept.
std::vector<uint8_t> indexTable(int64_t width) {
  std::vector<uint8_t> table;
  for (unsigned mask = 0; mask < 256; ++mask) {
    uint8_t next = 0;
    for (int64_t j = 0; j < kByte; ++j) {
      bool kept = mask >> j & 1;
      for (int64_t i = 0; i < width; ++i)
        table.push_back(kept ? next * width + i : kNothing);
      next += kept;
    }
  }
  return table;
}

/// Where the values of the columns [8 byte, 8 byte + 8) lie.
struct Window {
  /// Address of eight values, or of all of them when there are fewer.
  Value address;
  /// How many of those come before the first one wanted: a vector of i8 or i32
  /// to add to indices, or null for none.
  Value before;
};

/// `scale` is what one value adds to an index of `type`.
Window windowOf(KernelBuilder &k, const PackedLayout &layout, Value mask,
                Value values, int64_t byte, VectorType type, int64_t scale) {
  int64_t count = layout.valuesPerWord(), width = elementBytes(layout.type);
  // The last place from which eight values can be read without reading more
  // than the word's own.
  int64_t last = std::max<int64_t>(count - kByte, 0);
  int64_t columns = byte * kByte;
  if (columns % layout.pattern.m == 0) {
    int64_t first = columns / layout.pattern.m * layout.pattern.n;
    int64_t from = std::min(first, last);
    return {k.at(values, from * width),
            first == from ? Value()
                          : k.constantInt(type, (first - from) * scale)};
  }
  Value below = k.andBits(mask, k.i32((int64_t(1) << columns) - 1));
  Value first = k.intrinsic("llvm.ctpop.i32", k.i32(), {below});
  Value from = k.minInt(first, k.i32(last));
  Value before = k.truncate(k.mul(k.sub(first, from), k.i32(scale)),
                            type.getElementType());
  return {k.at(values, k.mul(k.zeroExtend(from, k.i64()), k.i64(width))),
          k.broadcast(before, type.getNumElements())};
}

Value maskByte(KernelBuilder &k, Value mask, int64_t byte) {
  Value bits = byte == 0 ? mask : k.shrUnsigned(mask, 8 * byte);
  return k.zeroExtend(k.andBits(bits, k.i32(255)), k.i64());
}

} // namespace

namespace sdc {

Value expand16Avx2(KernelBuilder &k, const PackedLayout &layout, Value mask,
                   Value values) {
  VectorType bytes = k.vec(2 * kByte, k.b.getI8Type());
  VectorType eight = k.vec(kByte, k.b.getI16Type());
  Value table = k.table("expand16", indexTable(2));
  int64_t stored = std::min(layout.valuesPerWord(), kByte);
  Value parts[4];
  for (int64_t byte = 0; byte < 4; ++byte) {
    Window window = windowOf(k, layout, mask, values, byte, bytes, 2);
    Value packed = k.bitcast(
        k.loadExact(k.b.getI16Type(), window.address, stored, kByte), bytes);
    Value indices =
        k.load(bytes, k.at(table, k.shl(maskByte(k, mask, byte), 4)), 16);
    // Adding at most 16 leaves kNothing negative, which selects zero.
    if (window.before)
      indices = k.add(indices, window.before);
    parts[byte] = k.bitcast(
        k.intrinsic("llvm.x86.ssse3.pshuf.b.128", bytes, {packed, indices}),
        eight);
  }
  return k.concat(k.concat(parts[0], parts[1]), k.concat(parts[2], parts[3]));
}

std::array<Value, 2> expand32Avx2(KernelBuilder &k, const PackedLayout &layout,
                                  Value mask, Value values) {
  VectorType indexType = k.vec(kByte, k.i32());
  Value table = k.table("expand32", indexTable(1));
  int64_t stored = std::min(layout.valuesPerWord(), kByte);
  Value parts[4];
  for (int64_t byte = 0; byte < 4; ++byte) {
    Window window = windowOf(k, layout, mask, values, byte, indexType, 1);
    Value packed = k.loadExact(k.f32(), window.address, stored, kByte);
    Value indices =
        k.signExtend(k.load(k.vec(kByte, k.b.getI8Type()),
                            k.at(table, k.shl(maskByte(k, mask, byte), 3)), 8),
                     indexType);
    if (window.before)
      indices = k.add(indices, window.before);
    Value moved =
        k.intrinsic("llvm.x86.avx2.permps", k.vecF32(kByte), {packed, indices});
    Value nothing = k.less(indices, k.constantInt(indexType, 0));
    parts[byte] = k.select(nothing, k.zeros(kByte), moved);
  }
  return {k.concat(parts[0], parts[1]), k.concat(parts[2], parts[3])};
}

} // namespace sdc
