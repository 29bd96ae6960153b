// The words of kernels in the arith, vector, scf and llvm dialects.

#include "compiler/Lower/Cpu/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace sdc;

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type KernelBuilder::ptr() { return LLVM::LLVMPointerType::get(b.getContext()); }

Type KernelBuilder::stored(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return f32();
  case ElementType::F16:
    return b.getF16Type();
  case ElementType::BF16:
    // LLVM would widen bf16 lane by lane on most CPUs; the bits move as
    // integers here.
    return b.getI16Type();
  }
  return {};
}

Value KernelBuilder::constant(Type type, double value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(vector,
                               b.getFloatAttr(vector.getElementType(), value)));
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value KernelBuilder::constantInt(Type type, int64_t value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(
            vector, b.getIntegerAttr(vector.getElementType(), value)));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value KernelBuilder::countingLanes(int64_t lanes) {
  SmallVector<int64_t> counts(lanes);
  std::iota(counts.begin(), counts.end(), 0);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(vec(lanes, i64()), ArrayRef(counts)));
}

Value KernelBuilder::i64(int64_t value) { return constantInt(i64(), value); }
Value KernelBuilder::i32(int64_t value) { return constantInt(i32(), value); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static bool isFloat(Value x) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType()));
}

Value KernelBuilder::add(Value x, Value y) {
  if (isFloat(x))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}
Value KernelBuilder::sub(Value x, Value y) {
  if (isFloat(x))
    return arith::SubFOp::create(b, loc, x, y);
  return arith::SubIOp::create(b, loc, x, y);
}
Value KernelBuilder::mul(Value x, Value y) {
  if (isFloat(x))
    return arith::MulFOp::create(b, loc, x, y);
  return arith::MulIOp::create(b, loc, x, y);
}
Value KernelBuilder::div(Value x, Value y) {
  return arith::DivFOp::create(b, loc, x, y);
}
Value KernelBuilder::neg(Value x) { return arith::NegFOp::create(b, loc, x); }
Value KernelBuilder::fma(Value x, Value y, Value z) {
  return LLVM::FMAOp::create(b, loc, x.getType(), x, y, z);
}
Value KernelBuilder::sqrt(Value x) {
  return LLVM::SqrtOp::create(b, loc, x.getType(), x);
}
Value KernelBuilder::max(Value x, Value y) {
  return select(greater(x, y), x, y);
}
Value KernelBuilder::minInt(Value x, Value y) {
  return arith::MinSIOp::create(b, loc, x, y);
}
Value KernelBuilder::maxInt(Value x, Value y) {
  return arith::MaxSIOp::create(b, loc, x, y);
}
Value KernelBuilder::divInt(Value x, Value y) {
  return arith::DivUIOp::create(b, loc, x, y);
}
Value KernelBuilder::remInt(Value x, Value y) {
  return arith::RemUIOp::create(b, loc, x, y);
}
Value KernelBuilder::andBits(Value x, Value y) {
  return arith::AndIOp::create(b, loc, x, y);
}
Value KernelBuilder::orBits(Value x, Value y) {
  return arith::OrIOp::create(b, loc, x, y);
}
Value KernelBuilder::xorBits(Value x, Value y) {
  return arith::XOrIOp::create(b, loc, x, y);
}
Value KernelBuilder::shl(Value x, int64_t bits) {
  return arith::ShLIOp::create(b, loc, x, constantInt(x.getType(), bits));
}
Value KernelBuilder::shrUnsigned(Value x, int64_t bits) {
  return arith::ShRUIOp::create(b, loc, x, constantInt(x.getType(), bits));
}
Value KernelBuilder::shrSigned(Value x, int64_t bits) {
  return arith::ShRSIOp::create(b, loc, x, constantInt(x.getType(), bits));
}
Value KernelBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}
Value KernelBuilder::greater(Value x, Value y) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
}
Value KernelBuilder::less(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}
Value KernelBuilder::equal(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
}
Value KernelBuilder::lessUnsigned(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
}
Value KernelBuilder::signExtend(Value x, Type to) {
  return arith::ExtSIOp::create(b, loc, to, x);
}
Value KernelBuilder::zeroExtend(Value x, Type to) {
  return arith::ExtUIOp::create(b, loc, to, x);
}
Value KernelBuilder::truncate(Value x, Type to) {
  if (x.getType() == to)
    return x;
  return arith::TruncIOp::create(b, loc, to, x);
}
Value KernelBuilder::bitcast(Value x, Type to) {
  if (isa<VectorType>(to))
    return vector::BitCastOp::create(b, loc, cast<VectorType>(to), x);
  return arith::BitcastOp::create(b, loc, to, x);
}
Value KernelBuilder::widenFloat(Value x, Type to) {
  return arith::ExtFOp::create(b, loc, to, x);
}
Value KernelBuilder::narrowFloat(Value x, Type to) {
  return arith::TruncFOp::create(b, loc, to, x);
}
Value KernelBuilder::intToFloat(Value x, Type to) {
  return arith::SIToFPOp::create(b, loc, to, x);
}
Value KernelBuilder::floatToInt(Value x, Type to) {
  return arith::FPToSIOp::create(b, loc, to, x);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

int64_t KernelBuilder::lanesOf(Value x) {
  return cast<VectorType>(x.getType()).getNumElements();
}

Value KernelBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, loc, vec(lanes, scalar.getType()),
                                     scalar);
}

Value KernelBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(b, loc, x, y, lanes);
}

Value KernelBuilder::slice(Value x, int64_t first, int64_t count) {
  if (first == 0 && count == lanesOf(x))
    return x;
  SmallVector<int64_t> lanes(count);
  std::iota(lanes.begin(), lanes.end(), first);
  return shuffle(x, x, lanes);
}

Value KernelBuilder::concat(Value x, Value y) {
  SmallVector<int64_t> lanes(lanesOf(x) + lanesOf(y));
  std::iota(lanes.begin(), lanes.end(), 0);
  return shuffle(x, y, lanes);
}

Value KernelBuilder::extract(Value x, int64_t lane) {
  return vector::ExtractOp::create(b, loc, x, lane);
}

Value KernelBuilder::sumLanes(ArrayRef<Value> vectors) {
  Values level(vectors);
  size_t count = llvm::PowerOf2Ceil(vectors.size());
  level.resize(count, level.front());
  int64_t lanes = lanesOf(level.front());
  // Each vector of `level` holds groups of `width` lanes, one for each of the
  // inputs that it stands for.
  int64_t width = lanes;
  while (width > 1) {
    int64_t half = width / 2, groups = lanesOf(level.front()) / width;
    Values next;
    if (level.size() > 1) {
      // Two vectors become one: their lower and upper halves of groups.
      SmallVector<int64_t> low, high;
      for (int64_t g = 0; g < 2 * groups; ++g)
        for (int64_t i = 0; i < half; ++i) {
          low.push_back(g * width + i);
          high.push_back(g * width + half + i);
        }
      for (size_t i = 0; i < level.size(); i += 2)
        next.push_back(add(shuffle(level[i], level[i + 1], low),
                           shuffle(level[i], level[i + 1], high)));
    } else {
      SmallVector<int64_t> low, high;
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t i = 0; i < half; ++i) {
          low.push_back(g * width + i);
          high.push_back(g * width + half + i);
        }
      next.push_back(add(shuffle(level[0], level[0], low),
                         shuffle(level[0], level[0], high)));
    }
    level = std::move(next);
    width = half;
  }
  Value result = level.front();
  for (size_t i = 1; i < level.size(); ++i)
    result = concat(result, level[i]);
  return result;
}

Value KernelBuilder::sumLanes(Value vector) {
  return extract(sumLanes(ArrayRef<Value>(vector)), 0);
}

Value KernelBuilder::maxLanes(Value vector) {
  for (int64_t lanes = lanesOf(vector); lanes > 1; lanes /= 2)
    vector =
        max(slice(vector, 0, lanes / 2), slice(vector, lanes / 2, lanes / 2));
  return extract(vector, 0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::at(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, loc, ptr(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value KernelBuilder::at(Value base, int64_t bytes) {
  return bytes == 0 ? base : at(base, i64(bytes));
}

Value KernelBuilder::load(Type type, Value address, unsigned alignment) {
  return LLVM::LoadOp::create(b, loc, type, address, alignment);
}

void KernelBuilder::store(Value value, Value address, unsigned alignment) {
  LLVM::StoreOp::create(b, loc, value, address, alignment);
}

void KernelBuilder::prefetch(Value address, int64_t bytes, Cache cache) {
  // For reading, with locality 3 (prefetcht0) or 2 (prefetcht1), of data.
  LLVM::Prefetch::create(b, loc, at(address, bytes), 0,
                         cache == Cache::First ? 3 : 2, 1);
}

Value KernelBuilder::loadExact(Type type, Value address, int64_t count,
                               int64_t lanes) {
  int64_t width = type.getIntOrFloatBitWidth() / 8;
  Value zero = isa<FloatType>(type) ? constant(vec(lanes, type), 0)
                                    : constantInt(vec(lanes, type), 0);
  if (count <= 0)
    return zero;
  if (count == lanes)
    return load(vec(lanes, type), address);
  // Parts of powers of two, from the largest, each shuffled into place.
  Value result = zero;
  for (int64_t done = 0; done < count;) {
    auto part = static_cast<int64_t>(
        llvm::bit_floor(static_cast<uint64_t>(count - done)));
    Value piece = load(vec(part, type), at(address, done * width));
    SmallVector<int64_t> widen(lanes, -1);
    for (int64_t i = 0; i < part; ++i)
      widen[i] = i;
    Value wide = part == lanes ? piece : shuffle(piece, piece, widen);
    SmallVector<int64_t> place(lanes);
    for (int64_t i = 0; i < lanes; ++i)
      place[i] = i >= done && i < done + part ? lanes + i - done : i;
    result = shuffle(result, wide, place);
    done += part;
  }
  return result;
}

void KernelBuilder::storeExact(Value vector, Value address, int64_t count) {
  int64_t width =
      cast<VectorType>(vector.getType()).getElementTypeBitWidth() / 8;
  if (count == lanesOf(vector)) {
    store(vector, address);
    return;
  }
  for (int64_t done = 0; done < count;) {
    auto part = static_cast<int64_t>(
        llvm::bit_floor(static_cast<uint64_t>(count - done)));
    store(slice(vector, done, part), at(address, done * width));
    done += part;
  }
}

Value KernelBuilder::loadFloats(ElementType type, Value address, int64_t count,
                                int64_t lanes) {
  Value raw = loadExact(stored(type), address, count, lanes);
  switch (type) {
  case ElementType::F32:
    return raw;
  case ElementType::F16:
    return widenFloat(raw, vecF32(lanes));
  case ElementType::BF16:
    return bitcast(shl(zeroExtend(raw, vec(lanes, i32())), 16), vecF32(lanes));
  }
  return {};
}

Value KernelBuilder::loadFloat(ElementType type, Value address) {
  return extract(loadFloats(type, address, 1, 1), 0);
}

void KernelBuilder::storeFloats(ElementType type, Value vector, Value address,
                                int64_t count) {
  int64_t lanes = lanesOf(vector);
  switch (type) {
  case ElementType::F32:
    break;
  case ElementType::F16:
    vector = narrowFloat(vector, vec(lanes, b.getF16Type()));
    break;
  case ElementType::BF16: {
    Type wide = vec(lanes, i32());
    Value bits = bitcast(vector, wide);
    Value odd = andBits(shrUnsigned(bits, 16), constantInt(wide, 1));
    Value rounded = add(add(bits, constantInt(wide, 0x7fff)), odd);
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                        vector, vector);
    Value quiet = orBits(bits, constantInt(wide, 0x400000));
    vector = truncate(shrUnsigned(select(isNan, quiet, rounded), 16),
                      vec(lanes, b.getI16Type()));
    break;
  }
  }
  storeExact(vector, address, count);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

KernelBuilder::Values
KernelBuilder::loop(Value begin, Value end, int64_t step, ValueRange carried,
                    function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, loc, begin, end, i64(step), carried);
  OpBuilder::InsertionGuard guard(b);
  if (op.getBody()->mightHaveTerminator())
    b.setInsertionPoint(op.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, results);
  return Values(op.getResults());
}

void KernelBuilder::loop(Value begin, Value end, int64_t step,
                         function_ref<void(Value)> body) {
  loop(begin, end, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void KernelBuilder::when(Value condition, function_ref<void()> then) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
}

Value KernelBuilder::intrinsic(StringRef name, Type result,
                               ValueRange operands) {
  auto call = LLVM::CallIntrinsicOp::create(b, loc, result,
                                            b.getStringAttr(name), operands);
  return call.getResult(0);
}

Value KernelBuilder::table(StringRef name, ArrayRef<uint8_t> bytes) {
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    auto value = DenseElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(bytes.size())},
                              b.getI8Type()),
        ArrayRef<int8_t>(reinterpret_cast<const int8_t *>(bytes.data()),
                         bytes.size()));
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name, value,
                           /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(b, loc, ptr(), name);
}
