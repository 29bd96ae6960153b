// Numbers in a graph that no model has, and that the ONNX library can't bear: it
// cuts attributes to 32 bits, and keeps an object for each element of a vector
// that might be a shape.

#ifndef SDC_COMPILER_IMPORT_ONNXNUMBERS_H
#define SDC_COMPILER_IMPORT_ONNXNUMBERS_H

#include "compiler/Import/ImportDiagnostics.h"
#include "onnx/onnx_pb.h"

namespace sdc {

/// The largest size that a tensor may be given by a constant, and that a graph
/// input of one dimension may have.
constexpr int64_t kLargestSize = int64_t(1) << 24;

/// Reports attributes beyond 32 bits and sizes beyond kLargestSize. Small
/// tensors must be in the graph already.
void checkNumbers(const onnx::GraphProto &graph,
                  ImportDiagnostics &diagnostics);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXNUMBERS_H
