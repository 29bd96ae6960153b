// Turns an ONNX model into a module: a weight symbol for each large tensor, an
// onnx.graph for each entry, one generic operation for each node. Gives no
// meaning to anything but the inputs and outputs of the graph.

#ifndef SDC_COMPILER_IMPORT_ONNXIMPORTER_H
#define SDC_COMPILER_IMPORT_ONNXIMPORTER_H

#include "compiler/Import/OnnxEntries.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>
#include <vector>

namespace sdc {

struct ImportOptions {
  EntrySizes sizes;
  /// The folder of external data, if it is not the model's.
  std::string weightsDir;
  /// Weights whose file is absent come from a random stream of this seed.
  std::optional<uint64_t> randomSeed;
  /// Null, or given the paths of external data that the model names.
  std::vector<std::string> *dataFiles = nullptr;
};

/// Imports the model in the file `path`, or model.onnx in the folder `path`.
/// All that is wrong with it is reported as diagnostics of `context`, located
/// at the file or at a node, hints as notes; then the result is a failure.
///
/// Paths in the IR are relative to the folder of the model. The module says in
/// attributes what it was made from (sdc.source) and, for a decoder, how large
/// it is (sdc.model).
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(llvm::StringRef path, const ImportOptions &options,
           mlir::MLIRContext &context);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXIMPORTER_H
