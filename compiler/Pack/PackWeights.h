// The pack pass with what TableGen can't hold: the spool that it shares with
// the passes before it, and whom to tell of progress.

#ifndef SDC_COMPILER_PACK_PACKWEIGHTS_H
#define SDC_COMPILER_PACK_PACKWEIGHTS_H

#include "compiler/Pack/PackJobs.h"
#include "compiler/Passes.h"
#include "compiler/Weights/MemoryNeed.h"

#include <memory>

namespace sdc {

struct PackHooks {
  /// Where new bytes go; must live as long as the module names it. Null: the
  /// option spool.
  std::shared_ptr<Spool> spool;
  PackProgress progress;
  /// Null, or told what takes the most memory at a time on one thread.
  MemoryNeed *need = nullptr;
};

std::unique_ptr<mlir::Pass>
createPackWeightsPass(PackWeightsPassOptions options, PackHooks hooks);

} // namespace sdc

#endif // SDC_COMPILER_PACK_PACKWEIGHTS_H
