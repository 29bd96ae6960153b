// From packed words to weights in f32: 32 columns of one row at a time, without
// a branch and without a loop over mask bits. One file for each level.

#ifndef SDC_COMPILER_LOWER_CPU_EXPAND_H
#define SDC_COMPILER_LOWER_CPU_EXPAND_H

#include "compiler/Lower/Cpu/KernelBuilder.h"
#include "kernels/Format/Bitmask.h"

#include <array>

namespace sdc {

/// Which columns of a word the two vectors of 16 lanes hold.
///
///   Natural   0 1 2 ... 15      16 17 18 ... 31
///   EvenOdd   0 2 4 ... 30      1 3 5 ... 31
///
/// EvenOdd costs bf16 one shift and one bit operation: a pair of bf16 in 32
/// bits is two f32 whose low halves are dropped.
enum class WordOrder { Natural, EvenOdd };

/// The 32 columns of two natural vectors in `order`.
std::array<mlir::Value, 2> orderWord(KernelBuilder &k, WordOrder order,
                                     std::array<mlir::Value, 2> natural);
/// The inverse.
std::array<mlir::Value, 2> naturalWord(KernelBuilder &k, WordOrder order,
                                       std::array<mlir::Value, 2> ordered);

/// `count` values of `type` at `address`, as one word in `order`: what is not
/// there is zero.
std::array<mlir::Value, 2> loadWord(KernelBuilder &k, ElementType type,
                                    WordOrder order, mlir::Value address,
                                    int64_t count = kWordColumns);

/// The weights of row `lane` of a block in one word, zero where not kept.
/// `address` is where the word begins.
std::array<mlir::Value, 2> expandWord(KernelBuilder &k,
                                      const PackedLayout &layout,
                                      WordOrder order, mlir::Value address,
                                      int64_t lane);

/// The two ways to spread the kept values of a word over 32 columns. `mask` is
/// an i32, `values` the address of the first value.
mlir::Value expand16Avx512(KernelBuilder &k, const PackedLayout &layout,
                           mlir::Value mask, mlir::Value values);
std::array<mlir::Value, 2> expand32Avx512(KernelBuilder &k,
                                          const PackedLayout &layout,
                                          mlir::Value mask, mlir::Value values);
mlir::Value expand16Avx2(KernelBuilder &k, const PackedLayout &layout,
                         mlir::Value mask, mlir::Value values);
std::array<mlir::Value, 2> expand32Avx2(KernelBuilder &k,
                                        const PackedLayout &layout,
                                        mlir::Value mask, mlir::Value values);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_EXPAND_H
