// The inner loop of SparseGPT: up to 128 columns of 64 rows, one row in each
// lane. Vectors are explicit and products fused, so the bits are those of any
// CPU.

#ifndef SDC_COMPILER_PRUNE_OBSBLOCK_H
#define SDC_COMPILER_PRUNE_OBSBLOCK_H

#include "kernels/Format/ElementType.h"
#include "kernels/Format/Pattern.h"

#include <cstdint>

namespace sdc::detail {

constexpr int64_t kObsRows = 64;
constexpr int64_t kObsColumns = 128;

/// One block; arrays of [column][row].
struct ObsBlock {
  alignas(64) float weights[kObsColumns][kObsRows];
  alignas(64) float errors[kObsColumns][kObsRows];
  /// Bit j of masks[j / 32] is column j of the block.
  alignas(64) uint32_t masks[kObsColumns / kWordColumns][kObsRows];
  /// Sum of squared errors, added to.
  alignas(64) double losses[kObsRows];
};

/// Prunes the first `columns` columns of the block: weights become the kept
/// ones, rounded to `type`. `u` points at U of the block's first column and
/// row, rows `stride` apart.
void pruneObsBlock(ObsBlock &block, int64_t columns, const float *u,
                   int64_t stride, Pattern pattern, ElementType type);

} // namespace sdc::detail

#endif // SDC_COMPILER_PRUNE_OBSBLOCK_H
