// Who uses which weight: the linears that pruning and packing change, and the
// others, which read plain tensors.

#ifndef SDC_COMPILER_WEIGHTS_WEIGHTUSES_H
#define SDC_COMPILER_WEIGHTS_WEIGHTUSES_H

#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

#include <string>

namespace sdc {

/// The users of one weight in all entries, in program order.
struct WeightUses {
  decode::WeightOp weight;
  llvm::SmallVector<decode::LoadOp> loads;
  /// decode.linear and nm.linear ops that multiply by it.
  llvm::SmallVector<mlir::Operation *> linears;
};

/// The uses of every decode.weight, in the order of their symbols in the
/// module. A weight that a linear and another op share (an embedding and its
/// head) is made two symbols of one source first: the linear's keeps its name.
llvm::MapVector<mlir::StringAttr, WeightUses>
collectWeightUses(mlir::ModuleOp module);

/// The type in which a weight of `type` is stored by a build with `--dtype`
/// `dtype`: auto keeps 16-bit types and makes bf16 of wider ones. Of a vector
/// f32 always. None if `type` is no float or `dtype` none of auto, f32, f16 and
/// bf16.
std::optional<ElementType> storedTypeFor(llvm::StringRef dtype,
                                         mlir::RankedTensorType type);

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_WEIGHTUSES_H
