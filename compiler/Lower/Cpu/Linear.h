// The parts of a linear kernel: x in the order that its weights want, sums of
// one row of x (LinearVector.cpp), sums of several (LinearBatch.cpp), and what
// follows the sums (Linear.cpp, which also cuts the units).

#ifndef SDC_COMPILER_LOWER_CPU_LINEAR_H
#define SDC_COMPILER_LOWER_CPU_LINEAR_H

#include "compiler/Lower/Cpu/Expand.h"
#include "compiler/Lower/Cpu/Kernels.h"

namespace sdc {

/// Rows of x as the products read them: whole words, zero behind K.
struct PreparedRows {
  WordOrder order = WordOrder::Natural;
  /// Words of a row; rows are 128 bytes x words apart.
  int64_t words = 0;
  mlir::Value base;
  /// Rows that there are, i64.
  mlir::Value count;
  /// Null, or the index (i64 each) of the row of x that each one came from.
  mlir::Value indices;

  int64_t rowBytes() const { return words * kWordColumns * 4; }
};

/// The sums of all rows of block `block` (i64) with the one prepared row, as
/// the lanes of one vector.
mlir::Value buildVectorBlock(KernelBuilder &k, const PackedLayout &layout,
                             const PreparedRows &rows, mlir::Value weight,
                             mlir::Value block);

/// The same for all prepared rows, written to `sums`, f32
/// [rows.count][tile.rows]. `expanded` has room for tile.rows rows of words.
/// `batch` is the number of rows where it is a constant, else 0.
void buildBatchBlock(KernelBuilder &k, const PackedLayout &layout,
                     const PreparedRows &rows, int64_t batch,
                     mlir::Value weight, mlir::Value block,
                     mlir::Value expanded, mlir::Value sums);

/// Asks for the bytes of one word of a block, ahead of `address`.
void buildPrefetchWord(KernelBuilder &k, const PackedLayout &layout,
                       mlir::Value address);

/// Asks for the first bytes of a block, those that come before the distance at
/// which buildPrefetchWord looks ahead.
void buildPrefetchStart(KernelBuilder &k, const PackedLayout &layout,
                        mlir::Value weight, mlir::Value block);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_CPU_LINEAR_H
