// The words in which CPU kernels are written: a thin layer over MLIR builders
// that names bytes, lanes and loops. Everything is in vectors of f32; LLVM cuts
// them to the registers of the level, so that both levels add up in the same
// order and give the same bits.

#ifndef SDC_COMPILER_LOWER_CPU_KERNELBUILDER_H
#define SDC_COMPILER_LOWER_CPU_KERNELBUILDER_H

#include "kernels/Cpu/CpuLevel.h"
#include "kernels/Format/ElementType.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace sdc {

/// Lanes of a full vector of f32 in kernels, whatever the level.
constexpr int64_t kLanes = 16;

class KernelBuilder {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, CpuLevel level,
                mlir::ModuleOp module)
      : b(builder), loc(loc), level(level), module(module) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  CpuLevel level;
  mlir::ModuleOp module;

  //===--------------------------------------------------------------------===//
  // Types and constants
  //===--------------------------------------------------------------------===//

  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type i32() { return b.getI32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type ptr();
  mlir::VectorType vec(int64_t lanes, mlir::Type element) {
    return mlir::VectorType::get(lanes, element);
  }
  mlir::VectorType vecF32(int64_t lanes = kLanes) { return vec(lanes, f32()); }
  /// The type of one stored value.
  mlir::Type stored(ElementType type);

  Value i64(int64_t value);
  Value i32(int64_t value);
  /// A constant of `type`, which is a float, an integer or a vector of them.
  Value constant(mlir::Type type, double value);
  Value constantInt(mlir::Type type, int64_t value);
  /// A constant of the same type as `like`.
  Value same(Value like, double value) {
    return constant(like.getType(), value);
  }
  Value zeros(int64_t lanes = kLanes) { return constant(vecF32(lanes), 0); }
  /// 0, 1, 2, ... as i64.
  Value countingLanes(int64_t lanes);

  //===--------------------------------------------------------------------===//
  // Arithmetic; operands are scalars or vectors of one type
  //===--------------------------------------------------------------------===//

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value neg(Value x);
  /// x * y + z, rounded once.
  Value fma(Value x, Value y, Value z);
  Value sqrt(Value x);
  /// The larger one; the second one when either is not a number.
  Value max(Value x, Value y);
  Value minInt(Value x, Value y);
  Value maxInt(Value x, Value y);
  Value divInt(Value x, Value y);
  Value remInt(Value x, Value y);
  Value andBits(Value x, Value y);
  Value orBits(Value x, Value y);
  Value xorBits(Value x, Value y);
  Value shl(Value x, int64_t bits);
  Value shrUnsigned(Value x, int64_t bits);
  Value shrSigned(Value x, int64_t bits);
  Value select(Value condition, Value x, Value y);
  Value greater(Value x, Value y); // floats, ordered
  Value less(Value x, Value y);    // integers, signed
  Value equal(Value x, Value y);   // integers
  Value lessUnsigned(Value x, Value y);
  Value signExtend(Value x, mlir::Type to);
  Value zeroExtend(Value x, mlir::Type to);
  Value truncate(Value x, mlir::Type to);
  Value bitcast(Value x, mlir::Type to);
  Value widenFloat(Value x, mlir::Type to);
  Value narrowFloat(Value x, mlir::Type to);
  Value intToFloat(Value x, mlir::Type to);
  Value floatToInt(Value x, mlir::Type to);

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  Value broadcast(Value scalar, int64_t lanes = kLanes);
  Value shuffle(Value x, Value y, llvm::ArrayRef<int64_t> lanes);
  /// Lanes [first, first + count) of x.
  Value slice(Value x, int64_t first, int64_t count);
  Value concat(Value x, Value y);
  Value extract(Value x, int64_t lane);
  int64_t lanesOf(Value x);

  /// Sums the lanes of each of the vectors (all of the same power of two of
  /// lanes) and gives the sums as lanes of one vector, whose lane count is that
  /// of `vectors` rounded up to a power of two. The order of additions inside a
  /// vector is always the same: halves are added to each other until one lane
  /// remains.
  Value sumLanes(llvm::ArrayRef<Value> vectors);
  /// The same for one vector, as a scalar.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// `base` + `bytes`.
  Value at(Value base, Value bytes);
  Value at(Value base, int64_t bytes);
  Value load(mlir::Type type, Value address, unsigned alignment = 1);
  void store(Value value, Value address, unsigned alignment = 1);
  /// Asks for the line `bytes` behind `address`, into the first or the second
  /// cache; never faults.
  enum class Cache { First, Second };
  void prefetch(Value address, int64_t bytes, Cache cache);

  /// `count` values of `type` as integers or floats of that type, from exactly
  /// their bytes, zeros above up to `lanes` lanes.
  Value loadExact(mlir::Type type, Value address, int64_t count, int64_t lanes);
  /// The first `count` lanes, to exactly their bytes.
  void storeExact(Value vector, Value address, int64_t count);

  /// The same with values stored as `type` and f32 here.
  Value loadFloats(ElementType type, Value address, int64_t count,
                   int64_t lanes);
  Value loadFloat(ElementType type, Value address);
  /// Rounds to nearest even and stores the first `count` lanes.
  void storeFloats(ElementType type, Value vector, Value address,
                   int64_t count);

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//

  /// for (i = begin; i < end; i += step) carried = body(i, carried).
  Values loop(Value begin, Value end, int64_t step, mlir::ValueRange carried,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  /// The same without carried values.
  void loop(Value begin, Value end, int64_t step,
            llvm::function_ref<void(Value)> body);
  /// if (condition) then().
  void when(Value condition, llvm::function_ref<void()> then);

  /// Calls an LLVM intrinsic by its full name.
  Value intrinsic(llvm::StringRef name, mlir::Type result,
                  mlir::ValueRange operands);

  /// The address of a constant table of bytes, made once for each module.
  Value table(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes);
};

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_KERNELBUILDER_H
