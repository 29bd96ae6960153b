// The spool of a pass that was given a file name for it, as in sdc-opt.

#ifndef SDC_COMPILER_WEIGHTS_MODULESPOOL_H
#define SDC_COMPILER_WEIGHTS_MODULESPOOL_H

#include "compiler/Weights/Spool.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace sdc {

/// Makes the named spool `path` for new weights of `module`; null, with an
/// error, if there is no name or a weight of the module lies in that very file.
std::shared_ptr<Spool> createModuleSpool(mlir::ModuleOp module,
                                         llvm::StringRef path,
                                         llvm::StringRef folder);

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_MODULESPOOL_H
