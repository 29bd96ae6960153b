// Moves ops into an exec.group, which is how fusion says that one launch will
// compute them.

#ifndef SDC_COMPILER_LOWER_GROUPING_H
#define SDC_COMPILER_LOWER_GROUPING_H

#include "dialects/Exec/ExecDialect.h"

namespace sdc {

/// Whether `ops` can be one group at the place of the last of them: all are in
/// one block, in order, and what they give is used only among them or behind
/// the last one.
bool canGroupAtLast(llvm::ArrayRef<mlir::Operation *> ops);

/// Gathers `ops` in one new group at the place of the last one. Groups among
/// them dissolve into it. Demands canGroupAtLast.
exec::GroupOp groupAtLast(llvm::ArrayRef<mlir::Operation *> ops);

/// The same at the place of the first op. The operands of the others must be
/// there already, or come from ops without operands, which are moved up.
bool canGroupAtFirst(llvm::ArrayRef<mlir::Operation *> ops);
exec::GroupOp groupAtFirst(llvm::ArrayRef<mlir::Operation *> ops);

/// The ops that a future launch computes: those of a group, or `op` itself.
llvm::SmallVector<mlir::Operation *> launchOps(mlir::Operation *op);

/// The op or the group in `block` that `op` is part of; `op` itself if it is
/// not in a group.
mlir::Operation *launchOf(mlir::Operation *op);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_GROUPING_H
