// The entries of a graph: its inputs with numbers for batch and sequence
// length. The past length stays the one symbol. Declared dimensions are unified
// by what the inputs are, not by their symbols, which exporters make up for
// each input anew; head counts and sizes that are symbols too are derived.

#ifndef SDC_COMPILER_IMPORT_ONNXENTRIES_H
#define SDC_COMPILER_IMPORT_ONNXENTRIES_H

#include "compiler/Import/ImportDiagnostics.h"
#include "compiler/Import/OnnxRoles.h"
#include "llvm/ADT/StringMap.h"

namespace sdc {

/// A dimension: `constant`, or `past length + constant`.
struct PastDim {
  int64_t constant = 0;
  bool hasPast = false;
};
using PastDims = llvm::SmallVector<PastDim, 4>;

/// One entry: the dimensions of each input, in the order of the roles.
struct EntryShape {
  std::string name;
  int64_t batch = 1;
  int64_t sequence = 1;
  std::vector<PastDims> inputs;
};

/// What the numbers for the entries are.
struct EntrySizes {
  int64_t batch = 1;
  int64_t prefillChunk = 64;
  /// Values of symbols of a graph without past tensors.
  llvm::StringMap<int64_t> symbols;
};

/// The shapes of the entries `decode` and `prefill`, or of `main`. Reports
/// every dimension that has no number. `model` is used for inference where
/// something must be derived; its types are left as they are.
std::vector<EntryShape> makeEntries(const onnx::ModelProto &model,
                                    const OnnxRoles &roles,
                                    const EntrySizes &sizes,
                                    ImportDiagnostics &diagnostics);

/// The model with its inputs bound to the shape of an entry and its outputs
/// without types, as shape inference wants it.
onnx::ModelProto bindEntry(const onnx::ModelProto &model,
                           const OnnxRoles &roles, const EntryShape &entry);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXENTRIES_H
