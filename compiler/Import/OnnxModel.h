// The ONNX library as the importer uses it. Its source and those in Schemas/
// are the only files that call into the library, and the only ones built with
// exceptions: what it throws ends here, as an llvm::Error.

#ifndef SDC_COMPILER_IMPORT_ONNXMODEL_H
#define SDC_COMPILER_IMPORT_ONNXMODEL_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sdc {

/// The newest versions that the library knows.
inline constexpr int kNewestOpset = 28;
inline constexpr int kNewestIr = 14;
/// The opset to which older models are lifted.
inline constexpr int kLiftedOpset = 25;

/// Parses a serialized model, or ONNX's text form.
llvm::Expected<onnx::ModelProto> parseModel(llvm::StringRef bytes, bool isText);

/// Replaces every call of a model-local function by its body, nested ones too.
llvm::Error inlineFunctions(onnx::ModelProto &model);

/// Runs the checker of the library.
llvm::Error checkModel(const onnx::ModelProto &model);

/// Rewrites a model of an opset below kLiftedOpset to that opset.
llvm::Error liftModel(onnx::ModelProto &model);

/// Infers types and shapes, strictly and with data propagation; the results
/// are in value_info and in the outputs.
llvm::Error inferShapes(onnx::ModelProto &model);

/// The version of the schema that defines `op` in `opset` of its domain; 0 if
/// there is none.
int schemaVersion(llvm::StringRef op, llvm::StringRef domain, int opset);

/// The opset that the model imports for `domain`; 0 if it does not.
int importedOpset(const onnx::ModelProto &model, llvm::StringRef domain);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXMODEL_H
