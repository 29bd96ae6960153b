// One function for each family of kernels: describes what an op or a group
// computes as a KernelSpec and appends the launch. An op that is not of the
// family is left alone.

#ifndef SDC_COMPILER_LOWER_KERNELCALLS_H
#define SDC_COMPILER_LOWER_KERNELCALLS_H

#include "compiler/Lower/EntryBuilder.h"

namespace sdc {

/// What became of an op. Failed: an error was reported.
enum class Lowered : uint8_t { Done, NotMine, Failed };

/// Products, with what was fused into them.
Lowered lowerLinear(mlir::Operation *launch, EntryBuilder &entry);

/// Rotary embedding and appends, alone or together.
Lowered lowerRotary(mlir::Operation *launch, EntryBuilder &entry);

/// Attention over caches, with its splits.
Lowered lowerAttention(mlir::Operation *launch, EntryBuilder &entry);

/// Embedding, norms, last row, activations, gates and additions, each alone.
Lowered lowerRows(mlir::Operation *launch, EntryBuilder &entry);

/// The spec of `decode.rms_norm` or `decode.layer_norm`, and its operands
/// behind x.
NormSpec normSpec(mlir::Operation *norm);
void appendNormOperands(mlir::Operation *norm, EntryBuilder &entry,
                        llvm::SmallVectorImpl<LaunchOperand> &operands);

/// The symbol that a value is loaded from; empty without one.
llvm::StringRef symbolOf(mlir::Value value);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_KERNELCALLS_H
