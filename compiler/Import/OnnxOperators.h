// Which operators the rooms after import can handle (Operators.def).

#ifndef SDC_COMPILER_IMPORT_ONNXOPERATORS_H
#define SDC_COMPILER_IMPORT_ONNXOPERATORS_H

#include "compiler/Import/ImportDiagnostics.h"
#include "onnx/onnx_pb.h"

namespace sdc {

/// Whether a later room can handle operator `op` of `domain`.
bool isSupportedOperator(llvm::StringRef op, llvm::StringRef domain);

/// The name of a node: its own, or that of its first output.
llvm::StringRef nodeName(const onnx::NodeProto &node);

/// Gives every node that name, so that the library can say it in its errors.
void nameNodes(onnx::GraphProto &graph);

/// Reports every node that no later room can handle, with name, operator,
/// domain and opset, and every node that reads a value which nothing defines.
void checkNodes(const onnx::ModelProto &model, ImportDiagnostics &diagnostics);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXOPERATORS_H
