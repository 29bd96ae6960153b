// The root of an executable: a walk over exec ops, one table for each.

#ifndef SDC_COMPILER_EMIT_ROOTBUILDER_H
#define SDC_COMPILER_EMIT_ROOTBUILDER_H

#include "compiler/Emit/FileLayout.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace sdc {

/// The FlatBuffer of a planned module whose segments are placed as `layout`
/// says, with zeros behind it up to rootSizeOf(module). Its size does not
/// depend on the numbers in `layout`, except rootSize, which must be that.
std::vector<uint8_t> buildRoot(mlir::ModuleOp module, const FileLayout &layout);

/// Bytes of the root. What pruning finds out while it runs (its method, notes
/// on damping) has room reserved, so that the size is known before: a module
/// that was not pruned for real gives the same size, if notes stay below
/// kReservedBytes for each weight on average.
int64_t rootSizeOf(mlir::ModuleOp module);
constexpr int64_t kReservedBytes = 192;

} // namespace sdc

#endif // SDC_COMPILER_EMIT_ROOTBUILDER_H
