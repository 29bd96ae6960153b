// The messages of the ONNX library as errors at nodes.

#ifndef SDC_COMPILER_IMPORT_ONNXMESSAGES_H
#define SDC_COMPILER_IMPORT_ONNXMESSAGES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sdc {

/// Splits what the library threw into one error for each node that it names.
/// Shape inference says
///   [ShapeInferenceError] Inference error(s): (op_type:Add, node name: a):
///   [ShapeInferenceError] Incompatible dimensions
/// with a line for each node, and the checker
///   Unrecognized attribute: x
///   ==> Context: Bad node spec for node. Name: a OpType: Add
/// Anything else becomes one error that starts with `what`.
llvm::Error splitMessage(llvm::StringRef what, llvm::StringRef message);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXMESSAGES_H
