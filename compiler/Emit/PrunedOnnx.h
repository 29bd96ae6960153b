// --emit onnx: the original graph with the pruned weights in it, for whatever
// reads ONNX. Every weight lies in the orientation and in the type that the
// original has; its values are those of the compiled type. What was not pruned
// is copied from file to file.
//
// What it refuses: a pruned weight that the graph has no tensor for, and one
// whose tensor something else reads too (a pruned head of tied embeddings),
// since an ONNX initializer can't be two.

#ifndef SDC_COMPILER_EMIT_PRUNEDONNX_H
#define SDC_COMPILER_EMIT_PRUNEDONNX_H

#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sdc {

/// Where a weight was before it was pruned.
struct WeightOrigin {
  std::string name;
  mlir::Attribute source;
  decode::ViewAttr view;
  mlir::RankedTensorType type;
};

/// The weights of a module that is not pruned yet.
std::vector<WeightOrigin> captureOrigins(mlir::ModuleOp module);

/// Writes `output` (a .onnx file) and beside it `output` + ".data". `model` is
/// the original file; `pruned` what the prune room left, whose relative paths
/// start from `folder`, as those of the origins do. Both files are written
/// under other names and renamed at the end.
llvm::Error writePrunedOnnx(llvm::StringRef model,
                            llvm::ArrayRef<WeightOrigin> origins,
                            mlir::ModuleOp pruned, llvm::StringRef folder,
                            llvm::StringRef output);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_PRUNEDONNX_H
