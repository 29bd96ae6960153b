// The numbers of a model that a host asks for, read off its entries.

#ifndef SDC_COMPILER_LOWER_MODELNUMBERS_H
#define SDC_COMPILER_LOWER_MODELNUMBERS_H

#include "mlir/IR/BuiltinOps.h"

namespace sdc {

/// Writes the `exec.model` of a module that is about to be lowered, at its
/// begin.
void writeModelNumbers(mlir::ModuleOp module);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_MODELNUMBERS_H
