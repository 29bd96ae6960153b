// Builds the onnx.graph of one entry from a graph whose values have types.

#ifndef SDC_COMPILER_IMPORT_ONNXGRAPHBUILDER_H
#define SDC_COMPILER_IMPORT_ONNXGRAPHBUILDER_H

#include "compiler/Import/ImportDiagnostics.h"
#include "compiler/Import/OnnxEntries.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace sdc {

/// Names of weights in the file, to their symbols and types.
using WeightSymbols =
    llvm::StringMap<std::pair<mlir::FlatSymbolRefAttr, mlir::RankedTensorType>>;

/// Adds the graph of `entry` to `module`. `model` has been bound to the entry
/// and its shapes have been inferred. Reports values without a type and
/// attributes that are not supported.
void buildGraph(const onnx::ModelProto &model, const OnnxRoles &roles,
                const EntryShape &entry, const WeightSymbols &weights,
                mlir::ModuleOp module, ImportDiagnostics &diagnostics);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXGRAPHBUILDER_H
