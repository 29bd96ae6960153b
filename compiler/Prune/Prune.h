// What the pruning methods share: their input, their settings, their report.
//
// All of them take one weight at a time as [rows, columns], y = x W^T, groups
// of M along the columns, and give back new weights and a mask. They know
// nothing of IR, of files or of other weights, so that a model is pruned weight
// by weight in the memory of its largest one.
//
// Results are bit-identical whatever the number of threads and the CPU.
//
// Masks: one row after the other, words() words in each; bit j of word w is
// column 32 w + j. Every group has exactly N bits. Columns at or beyond
// `columns` are kept only where N demands it (see kernels/Format/Bitmask.h,
// whose packBlocks takes such a mask).
//
// Errors are llvm::Errors of one line without the name of the weight, which the
// caller adds: weights that are not finite, shapes that do not fit, a pattern
// that is none.

#ifndef SDC_COMPILER_PRUNE_PRUNE_H
#define SDC_COMPILER_PRUNE_PRUNE_H

#include "kernels/Format/ElementType.h"
#include "kernels/Format/Pattern.h"

#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

enum class PruneMethod : uint8_t { SparseGpt, Wanda, Magnitude, KeepSparsity };

/// "sparsegpt", "wanda", "magnitude", "keep-sparsity"; and back.
llvm::StringRef pruneMethodName(PruneMethod method);
std::optional<PruneMethod> parsePruneMethod(llvm::StringRef name);

/// The weight to prune: row-major, contiguous, owned by the caller.
struct DenseWeight {
  const float *values;
  int64_t rows;
  int64_t columns;

  int64_t words() const { return (columns + kWordColumns - 1) / kWordColumns; }
};

struct PruneSettings {
  Pattern pattern;
  /// New weights are rounded to this type; SparseGPT compensates for it.
  ElementType type = ElementType::F32;
  unsigned threads = 1;
};

/// Where the result goes, owned by the caller. `weights` has the shape of the
/// input and must not overlap it; `mask` has rows x words() words.
struct PrunedWeight {
  float *weights;
  uint32_t *mask;
};

/// What a method did. Losses are sums of squares over all positions that H sums
/// up, hence in the unit of H; NaN where there is no H.
struct PruneReport {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  /// Sum of ((W - W^) x)^2 = tr((W - W^) H (W - W^)^T).
  double loss = kUnknown;
  /// loss / sum of (W x)^2; 0 if both are 0.
  double relativeLoss = kUnknown;
  /// Sum of (W - W^)^2 / sum of W^2, known to every method.
  double relativeChange = 0;
  /// SparseGPT: what was added to the diagonal of H, relative to its mean.
  double damping = 0;
  /// SparseGPT: columns that no position excited.
  int64_t deadColumns = 0;
  /// Everything that was not done as asked, for the report: raised damping.
  std::vector<std::string> reasons;
};

/// |w|: keeps the N largest of each group. `h` is null or [columns, columns],
/// symmetric, for the losses only.
llvm::Expected<PruneReport> pruneMagnitude(const DenseWeight &weight,
                                           const float *h,
                                           const PruneSettings &settings,
                                           PrunedWeight out);

/// |w| sqrt(H[j, j]) (Wanda, arXiv:2306.11695): keeps the N largest of each
/// group and changes no weight. `h` is [columns, columns], symmetric.
llvm::Expected<PruneReport> pruneWanda(const DenseWeight &weight,
                                       const float *h,
                                       const PruneSettings &settings,
                                       PrunedWeight out);

/// Keeps every non-zero of a weight that is N:M already, and refuses another,
/// naming the row and column of the first group that has too many.
llvm::Expected<PruneReport> keepSparsity(const DenseWeight &weight,
                                         const float *h,
                                         const PruneSettings &settings,
                                         PrunedWeight out);

/// The sparsest pattern that the weight obeys: the least N/M, and of equals the
/// least M. None if every M has a full group. A last group that is cut short by
/// the end of the row counts like a whole one.
std::optional<Pattern> detectPattern(const DenseWeight &weight);

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_PRUNE_H
