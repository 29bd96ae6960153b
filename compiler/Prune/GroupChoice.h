// Checks, masks and losses that all methods of Prune.h use.

#ifndef SDC_COMPILER_PRUNE_GROUPCHOICE_H
#define SDC_COMPILER_PRUNE_GROUPCHOICE_H

#include "compiler/Prune/Prune.h"

namespace sdc::detail {

/// An error if the pattern is none or dense, the shape is empty or a weight is
/// not finite.
llvm::Error checkInput(const DenseWeight &weight,
                       const PruneSettings &settings);

/// An error if a value of H is not finite, its diagonal is negative or it is
/// not symmetric.
llvm::Error checkMoments(const float *h, int64_t columns);

/// Keeps the N largest |w| * scale[j] of each group (the lower column of
/// equals), writes mask and rounded weights. `scale` may be null.
void keepLargest(const DenseWeight &weight, const double *scale,
                 const PruneSettings &settings, PrunedWeight out);

/// Fills in relativeChange and, if `h` is not null, loss and relativeLoss. A
/// report whose loss is known already keeps it.
void measure(const DenseWeight &weight, const float *h,
             const PruneSettings &settings, const float *pruned,
             PruneReport &report);

} // namespace sdc::detail

#endif // SDC_COMPILER_PRUNE_GROUPCHOICE_H
