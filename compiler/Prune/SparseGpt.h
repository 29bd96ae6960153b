// SparseGPT (arXiv:2301.00774) for N:M patterns: weights go column by column,
// and what a pruned weight did is made up for by those to its right.
//
// The algorithm is that of the paper and of its code, with U from
// HessianFactor: at the first column of each group the mask keeps the N largest
// w^2 / U[j,j]^2 of the weights as updated so far; then for each column
//   q = w or 0,  e = (w - q) / U[j,j],  W[:, j+1:] -= e U[j, j+1:].
// Columns are blocked by 128 and rows by 64, the latter in parallel; updates
// beyond four blocks are one product. All sums keep the order of columns.
//
// Two identities replace products with H: with D = W - W^ = E U on live columns
// tr(D (s H + d I) D^T) = |E|^2, hence the loss is (|E|^2 - d |D|^2) / s.

#ifndef SDC_COMPILER_PRUNE_SPARSEGPT_H
#define SDC_COMPILER_PRUNE_SPARSEGPT_H

#include "compiler/Prune/HessianFactor.h"
#include "compiler/Prune/Prune.h"

namespace sdc {

/// Prunes `weight`. `factor` was computed from `h`; `h` itself is read for the
/// relative loss and may be null, which then stays unknown. Dead columns become
/// zero. A last group cut short by the end of the row keeps min(N, its size).
llvm::Expected<PruneReport> pruneSparseGpt(const DenseWeight &weight,
                                           const float *h,
                                           const HessianFactor &factor,
                                           const PruneSettings &settings,
                                           PrunedWeight out);

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_SPARSEGPT_H
