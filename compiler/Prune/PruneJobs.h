// Prunes the weights of a model one after the other or side by side, as far as
// the memory allows: for each input of linears its matrix is read and factored
// once, then its weights stream through.
//
// The bytes depend on nothing but the weights, the matrices and the settings.

#ifndef SDC_COMPILER_PRUNE_PRUNEJOBS_H
#define SDC_COMPILER_PRUNE_PRUNEJOBS_H

#include "compiler/Prune/WorkFolder.h"
#include "compiler/Weights/Spool.h"
#include "compiler/Weights/WeightReader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// One weight: what is asked, and what came of it.
struct PruneJob {
  std::string name;
  WeightReader reader;
  int64_t rows = 0, columns = 0;
  Pattern pattern;
  ElementType type = ElementType::BF16;
  /// Where its values go in the spool, when there is no work folder.
  int64_t offset = 0;

  PruneReport report;
  /// The file in the work folder that holds the values.
  std::string file;
  /// Whether that file was there before.
  bool reused = false;
};

/// The weights that read one input; several keys where linears of different
/// inputs share a weight, whose matrices then add up.
struct PruneGroup {
  std::vector<std::string> keys;
  std::vector<PruneJob> jobs;
};

/// Fills in the matrix [columns, columns] of a key.
using MatrixSource =
    std::function<llvm::Error(llvm::StringRef key, int64_t columns, float *h)>;

/// Called after each weight, by one thread at a time.
using PruneProgress =
    std::function<void(int64_t done, int64_t total, llvm::StringRef name)>;

struct PruneJobSettings {
  PruneMethod method = PruneMethod::SparseGpt;
  double damping = 0.01;
  unsigned threads = 1;
  /// Bytes that matrices and weights may take at any time. 0: what the largest
  /// group takes.
  int64_t memory = 0;
  /// Null: no losses, and no other method than magnitude.
  MatrixSource matrix;
  /// One of these two.
  const Spool *spool = nullptr;
  const WorkFolder *work = nullptr;
  PruneProgress progress;
};

/// Bytes that pruning the weights of a group takes.
int64_t pruneMemory(const PruneGroup &group, const PruneJobSettings &settings);

/// Prunes all of them. Fails with all that went wrong, in order; what was not
/// yet begun then is left out.
llvm::Error runPruneJobs(std::vector<PruneGroup> &groups,
                         const PruneJobSettings &settings);

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_PRUNEJOBS_H
