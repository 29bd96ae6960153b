// The entries of a graph: its inputs with numbers for batch and sequence.

#include "compiler/Import/OnnxEntries.h"

#include "compiler/Import/OnnxModel.h"

using namespace mlir;
using namespace sdc;
using Dim = onnx::TensorShapeProto::Dimension;

/// The past length, and it plus `constant`, as inference sees them.
static std::string symbolFor(const PastDim &dim) {
  std::string name = "past_length";
  return dim.constant ? name + " + " + std::to_string(dim.constant) : name;
}

static const onnx::TensorShapeProto &shapeOf(const Port &port) {
  return port.value->type().tensor_type().shape();
}

static void setShape(const PastDims &dims, onnx::ValueInfoProto &value) {
  auto *shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  for (const PastDim &dim : dims) {
    Dim *added = shape->add_dim();
    if (dim.hasPast)
      added->set_dim_param(symbolFor(dim));
    else if (dim.constant >= 0)
      added->set_dim_value(dim.constant);
  }
}

onnx::ModelProto sdc::bindEntry(const onnx::ModelProto &model,
                                const OnnxRoles &roles,
                                const EntryShape &entry) {
  onnx::ModelProto bound = model;
  onnx::GraphProto &graph = *bound.mutable_graph();
  llvm::StringMap<const PastDims *> dims;
  for (auto [port, shape] : llvm::zip(roles.inputs, entry.inputs))
    dims[port.value->name()] = &shape;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (const PastDims *shape = dims.lookup(input.name()))
      setShape(*shape, input);
  // What the file says of its outputs is often wrong.
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    output.clear_type();
  graph.clear_value_info();
  return bound;
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

namespace {

/// Numbers for the dimensions of a decoder's inputs.
class DecoderShapes {
public:
  DecoderShapes(const OnnxRoles &roles, ImportDiagnostics &diagnostics)
      : roles(roles), diagnostics(diagnostics) {}

  /// Sizes that the file leaves open are -1.
  EntryShape bind(StringRef name, int64_t batch, int64_t sequence);
  /// Looks up sizes that are open in what inference says of the outputs.
  void derive(EntryShape &entry, const onnx::ModelProto &model);

private:
  void expect(const Port &port, int axis, PastDim &dim, StringRef what,
              StringRef hint);

  const OnnxRoles &roles;
  ImportDiagnostics &diagnostics;
};

} // namespace

/// Compares the number of a dimension with what the file declares.
void DecoderShapes::expect(const Port &port, int axis, PastDim &dim,
                           StringRef what, StringRef hint) {
  if (axis >= shapeOf(port).dim_size() ||
      !shapeOf(port).dim(axis).has_dim_value())
    return;
  int64_t declared = shapeOf(port).dim(axis).dim_value();
  if (!dim.hasPast && declared == dim.constant) {
    diagnostics.warningAt(port.value->name(), what + " is fixed to " +
                                                  Twine(declared) +
                                                  " in the model");
    return;
  }
  std::string wanted =
      dim.hasPast ? std::string("a symbol") : std::to_string(dim.constant);
  diagnostics.errorAt(port.value->name(),
                      what + " is fixed in the model: expected " + wanted +
                          " as dimension " + Twine(axis) + ", got " +
                          Twine(declared),
                      hint);
}

EntryShape DecoderShapes::bind(StringRef name, int64_t batch,
                               int64_t sequence) {
  EntryShape entry{name.str(), batch, sequence, {}};
  auto declared = [](const Port &port, int axis) {
    const onnx::TensorShapeProto &shape = shapeOf(port);
    return PastDim{axis < shape.dim_size() && shape.dim(axis).has_dim_value()
                       ? shape.dim(axis).dim_value()
                       : -1};
  };
  for (const Port &port : roles.inputs) {
    PastDims dims;
    if (port.isPast())
      dims = {{batch}, declared(port, 1), {0, true}, declared(port, 3)};
    else if (port.role == Role::AttentionMask)
      dims = {{batch}, {sequence, true}};
    else
      dims = {{batch}, {sequence}};
    for (auto [axis, dim] : llvm::enumerate(dims)) {
      if (port.isPast() && (axis == 1 || axis == 3))
        continue;
      bool isLength = axis != 0;
      expect(port, static_cast<int>(axis), dim,
             !isLength     ? "the batch"
             : dim.hasPast ? "the past length"
                           : "the sequence length",
             "export the model with symbolic batch, sequence and past "
             "lengths (dynamic_shapes of torch.onnx.export)");
    }
    entry.inputs.push_back(std::move(dims));
  }
  return entry;
}

void DecoderShapes::derive(EntryShape &entry, const onnx::ModelProto &model) {
  auto isOpen = [](const PastDim &dim) { return dim.constant < 0; };
  auto anyOpen = [&] {
    return llvm::any_of(entry.inputs, [&](const PastDims &dims) {
      return llvm::any_of(dims, isOpen);
    });
  };
  if (!anyOpen())
    return;
  onnx::ModelProto bound = bindEntry(model, roles, entry);
  if (llvm::Error error = inferShapes(bound)) {
    diagnostics.error(std::move(error));
    return;
  }
  llvm::StringMap<const onnx::TensorShapeProto *> outputs;
  for (const onnx::ValueInfoProto &output : bound.graph().output())
    outputs[output.name()] = &output.type().tensor_type().shape();
  for (auto [port, dims] : llvm::zip(roles.inputs, entry.inputs)) {
    if (llvm::none_of(dims, isOpen))
      continue;
    Role role =
        port.role == Role::PastKey ? Role::PresentKey : Role::PresentValue;
    const onnx::TensorShapeProto *shape =
        outputs.lookup(roles.findOutput(role, port.layer)->value->name());
    for (int axis : {1, 3}) {
      if (!isOpen(dims[axis]))
        continue;
      if (shape && shape->dim_size() == 4 && shape->dim(axis).has_dim_value())
        dims[axis].constant = shape->dim(axis).dim_value();
      else
        diagnostics.errorAt(
            port.value->name(),
            (axis == 1 ? "the number of heads" : "the head size") +
                Twine(" is a symbol and can't be derived from "
                      "the graph: expected a number as "
                      "dimension ") +
                Twine(axis));
    }
  }
}

//===----------------------------------------------------------------------===//
// Plain graphs
//===----------------------------------------------------------------------===//

/// A graph without past: dimension 0 is the batch where it is open, other
/// symbols get the numbers that they were given.
static EntryShape bindPlain(const OnnxRoles &roles, const EntrySizes &sizes,
                            ImportDiagnostics &diagnostics) {
  EntryShape entry{"main", sizes.batch, sizes.prefillChunk, {}};
  llvm::StringMap<int64_t> symbols;
  for (const auto &symbol : sizes.symbols)
    symbols[symbol.getKey()] = symbol.getValue();
  auto isText = [](const Port &port) {
    return port.role == Role::InputIds || port.role == Role::AttentionMask ||
           port.role == Role::PositionIds;
  };
  for (const Port &port : roles.inputs)
    for (auto [axis, dim] : llvm::enumerate(shapeOf(port).dim())) {
      if (dim.dim_param().empty())
        continue;
      if (axis == 0)
        symbols.try_emplace(dim.dim_param(), sizes.batch);
      else if (axis == 1 && isText(port))
        symbols.try_emplace(dim.dim_param(), sizes.prefillChunk);
    }
  for (const Port &port : roles.inputs) {
    PastDims dims;
    if (!port.value->type().tensor_type().has_shape())
      diagnostics.errorAt(port.value->name(), "the input has no shape");
    for (auto [axis, dim] : llvm::enumerate(shapeOf(port).dim())) {
      auto symbol = symbols.find(dim.dim_param());
      if (dim.has_dim_value())
        dims.push_back({dim.dim_value()});
      else if (symbol != symbols.end())
        dims.push_back({symbol->second});
      else if (axis == 0 || (axis == 1 && isText(port)))
        dims.push_back({axis == 0 ? sizes.batch : sizes.prefillChunk});
      else
        diagnostics.errorAt(
            port.value->name(),
            "expected a number as dimension " + Twine(axis) + ", got " +
                (dim.dim_param().empty() ? std::string("nothing")
                                         : "symbol '" + dim.dim_param() + "'"),
            "export the model with this size fixed");
    }
    entry.inputs.push_back(std::move(dims));
  }
  return entry;
}

std::vector<EntryShape> sdc::makeEntries(const onnx::ModelProto &model,
                                         const OnnxRoles &roles,
                                         const EntrySizes &sizes,
                                         ImportDiagnostics &diagnostics) {
  if (!roles.hasPast())
    return {bindPlain(roles, sizes, diagnostics)};
  DecoderShapes shapes(roles, diagnostics);
  std::vector<EntryShape> entries;
  entries.push_back(shapes.bind("decode", sizes.batch, 1));
  entries.push_back(shapes.bind("prefill", 1, sizes.prefillChunk));
  for (EntryShape &entry : entries)
    if (!diagnostics.hasErrors())
      shapes.derive(entry, model);
  return entries;
}
