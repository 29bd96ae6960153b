// What the inputs and outputs of a graph are to a decoder: found by name,
// confirmed by type, rank and use. Names differ between exporters
// (past_key_values.0.key, past_key_0, past.0.k; present.0.key, ...); what a
// name says and the graph denies is an error, never a guess.

#ifndef SDC_COMPILER_IMPORT_ONNXROLES_H
#define SDC_COMPILER_IMPORT_ONNXROLES_H

#include "compiler/Import/ImportDiagnostics.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace sdc {

enum class Role {
  Other,
  InputIds,
  AttentionMask,
  PositionIds,
  PastKey,
  PastValue,
  Logits,
  PresentKey,
  PresentValue
};

/// A graph input or output.
struct Port {
  const onnx::ValueInfoProto *value;
  Role role = Role::Other;
  unsigned layer = 0; // of a past or present tensor

  /// "input_ids", "past.key.3", ...
  std::string roleName() const;
  bool isPast() const {
    return role == Role::PastKey || role == Role::PastValue;
  }
  bool isPresent() const {
    return role == Role::PresentKey || role == Role::PresentValue;
  }
};

struct OnnxRoles {
  std::vector<Port> inputs; // without weights
  std::vector<Port> outputs;
  unsigned layers = 0; // that have past tensors

  bool hasPast() const { return layers != 0; }
  const Port *findInput(Role role, unsigned layer = 0) const;
  const Port *findOutput(Role role, unsigned layer = 0) const;
};

/// Finds the roles of the inputs and outputs of `graph`; inputs that are
/// `weights` are left out. Reports all that does not fit.
OnnxRoles findRoles(const onnx::GraphProto &graph,
                    const llvm::StringSet<> &weights,
                    ImportDiagnostics &diagnostics);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXROLES_H
