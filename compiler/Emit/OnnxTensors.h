// The tensors of an ONNX model as ranges of files: where each one's bytes are,
// and where they go in a copy of the model.

#ifndef SDC_COMPILER_EMIT_ONNXTENSORS_H
#define SDC_COMPILER_EMIT_ONNXTENSORS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// A tensor of the model whose bytes lie in one piece of a file.
struct OnnxTensorRange {
  onnx::TensorProto *tensor = nullptr;
  std::string file;
  int64_t offset = 0, length = 0;
  /// An initializer of the graph, which may stay outside the model file.
  bool initializer = false;
};

/// A model without its bulk, and where that is.
struct OnnxTensors {
  std::unique_ptr<onnx::ModelProto> model;
  std::vector<OnnxTensorRange> ranges;

  static llvm::Expected<OnnxTensors> read(llvm::StringRef path);
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_ONNXTENSORS_H
