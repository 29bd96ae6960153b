// The prune pass with what TableGen can't hold: the spool that it shares with
// the passes after it, whom to tell of progress, and where to report.

#ifndef SDC_COMPILER_PRUNE_PRUNEWEIGHTS_H
#define SDC_COMPILER_PRUNE_PRUNEWEIGHTS_H

#include "compiler/Passes.h"
#include "compiler/Prune/PruneJobs.h"
#include "compiler/Weights/MemoryNeed.h"

#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// What became of one linear; its #nm.report with a shape.
struct PruneEntry {
  std::string name;
  int64_t rows = 0, columns = 0;
  Pattern pattern;
  std::string method;
  double damping = 0;
  double loss = PruneReport::kUnknown;
  double relativeLoss = PruneReport::kUnknown;
  std::vector<std::string> notes;
  /// Whether its new values were in the work folder.
  bool reused = false;
};

struct PruneHooks {
  /// Where new values go; must live as long as the module names it. Null: the
  /// option spool.
  std::shared_ptr<Spool> spool;
  PruneProgress progress;
  /// Null, or filled with an entry for every linear, in the order of symbols.
  std::vector<PruneEntry> *entries = nullptr;
  /// Null, or filled in instead of pruning. Neither weights nor the calibration
  /// are looked into then; what keeps its sparsity counts as dense.
  MemoryNeed *plan = nullptr;
};

std::unique_ptr<mlir::Pass>
createPruneWeightsPass(PruneWeightsPassOptions options, PruneHooks hooks);

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_PRUNEWEIGHTS_H
