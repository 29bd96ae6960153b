// The pack pass with what TableGen can't hold: the spool that it shares with
// the passes before it, and whom to tell of progress.

#ifndef SDC_COMPILER_PACK_PACKWEIGHTS_H
#define SDC_COMPILER_PACK_PACKWEIGHTS_H

#include "compiler/Pack/PackJobs.h"
#include "compiler/Passes.h"

#include <memory>

namespace sdc {

/// As createPackWeightsPass(options), but into `spool`, which must live as long
/// as the module names it.
std::unique_ptr<mlir::Pass>
createPackWeightsPass(PackWeightsPassOptions options,
                      std::shared_ptr<Spool> spool, PackProgress progress = {});

} // namespace sdc

#endif // SDC_COMPILER_PACK_PACKWEIGHTS_H
