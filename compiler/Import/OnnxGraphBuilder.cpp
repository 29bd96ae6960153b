// Builds the onnx.graph of one entry from a graph whose values have types.

#include "compiler/Import/OnnxGraphBuilder.h"

#include "compiler/Import/OnnxModel.h"
#include "compiler/Import/OnnxOperators.h"
#include "compiler/Import/OnnxTypes.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace {

class GraphBuilder {
public:
  GraphBuilder(const onnx::ModelProto &model, const OnnxRoles &roles,
               const EntryShape &entry, const WeightSymbols &weights,
               ModuleOp module, ImportDiagnostics &diagnostics)
      : model(model), graph(model.graph()), roles(roles), entry(entry),
        weights(weights), module(module), diagnostics(diagnostics),
        builder(module.getContext()) {}

  void build();

private:
  void collectTypes();
  Type typeOf(StringRef value, StringRef node);
  DictionaryAttr describe(const Port &port, const PastDims *dims);
  std::optional<PastDims> outputDims(const Port &port, Type type);
  void checkLogits(const Port &port, RankedTensorType type);
  void addConstant(StringRef name, const onnx::TensorProto &tensor);
  void addConstantNode(const onnx::NodeProto &node);
  void addNode(const onnx::NodeProto &node);
  Value lookup(StringRef name);
  Value none();

  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  const OnnxRoles &roles;
  const EntryShape &entry;
  const WeightSymbols &weights;
  ModuleOp module;
  ImportDiagnostics &diagnostics;
  OpBuilder builder;
  Block *body = nullptr;
  Value noneValue;
  llvm::StringMap<const onnx::TypeProto *> types;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<Value> values;
};

} // namespace

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

void GraphBuilder::collectTypes() {
  for (const onnx::ValueInfoProto &value : graph.value_info())
    types[value.name()] = &value.type();
  for (const onnx::ValueInfoProto &value : graph.output())
    types[value.name()] = &value.type();
  for (const onnx::ValueInfoProto &value : graph.input())
    types[value.name()] = &value.type();
}

/// The type of a value, which is a result of `node`; null after an error.
Type GraphBuilder::typeOf(StringRef value, StringRef node) {
  if (const onnx::TensorProto *tensor = initializers.lookup(value))
    return convertType(*tensor, *module.getContext());
  const onnx::TypeProto *type = types.lookup(value);
  if (!type || type->value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    diagnostics.errorAt(node, "no type can be inferred for '" + value + "'");
    return {};
  }
  TensorType result = convertType(*type, *module.getContext());
  if (!result) {
    int element = type->tensor_type().elem_type();
    diagnostics.errorAt(
        node,
        "'" + value + "' is not a tensor of a supported type, but " +
            (type->has_tensor_type() ? "of type " + nameDataType(element)
                                     : std::string("no tensor")),
        hintForDataType(element));
  }
  return result;
}

DictionaryAttr GraphBuilder::describe(const Port &port, const PastDims *dims) {
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(GraphOp::kName,
                           builder.getStringAttr(port.value->name())),
      builder.getNamedAttr(GraphOp::kRole,
                           builder.getStringAttr(port.roleName()))};
  if (dims) {
    AffineExpr past = builder.getAffineSymbolExpr(0);
    SmallVector<AffineExpr> exprs;
    for (const PastDim &dim : *dims)
      exprs.push_back(dim.hasPast
                          ? past + dim.constant
                          : builder.getAffineConstantExpr(dim.constant));
    AffineMap map = AffineMap::get(0, 1, exprs, builder.getContext());
    attributes.push_back(
        builder.getNamedAttr(GraphOp::kDims, AffineMapAttr::get(map)));
  }
  return builder.getDictionaryAttr(attributes);
}

/// The dimensions of an output, where its role says them. Reports an inferred
/// type that contradicts.
std::optional<PastDims> GraphBuilder::outputDims(const Port &port, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (port.role == Role::Logits && roles.hasPast() && tensor)
    checkLogits(port, tensor);
  if (!port.isPresent() || !tensor)
    return std::nullopt;
  Role role = port.role == Role::PresentKey ? Role::PastKey : Role::PastValue;
  const Port *past = roles.findInput(role, port.layer);
  if (!past)
    return std::nullopt;
  PastDims dims = entry.inputs[past - roles.inputs.data()];
  dims[2].constant += entry.sequence;
  bool agrees = tensor.getRank() == 4;
  for (auto [dim, size] : llvm::zip(dims, tensor.getShape()))
    agrees &=
        ShapedType::isDynamic(size) || (!dim.hasPast && dim.constant == size);
  if (agrees)
    return dims;
  diagnostics.errorAt(port.value->name(),
                      "expected the shape of '" + past->value->name() +
                          "' with " + Twine(entry.sequence) +
                          " more rows, got " + text(tensor) + " in " +
                          entry.name);
  return std::nullopt;
}

/// Logits are those of every position or of the last one. A batch or length
/// that the exporter has fixed somewhere inside the graph shows here.
void GraphBuilder::checkLogits(const Port &port, RankedTensorType type) {
  auto fits = [&](int axis, int64_t size) {
    return type.isDynamicDim(axis) || type.getDimSize(axis) == size;
  };
  if (type.getRank() == 3 && fits(0, entry.batch) &&
      (fits(1, entry.sequence) || fits(1, 1)))
    return;
  diagnostics.errorAt(
      port.value->name(),
      "expected logits of " + Twine(entry.batch) + " sequences and " +
          Twine(entry.sequence) + " positions, got " + text(type) + " in " +
          entry.name,
      "export the model with symbolic batch, sequence and past lengths");
}

Value GraphBuilder::none() {
  if (!noneValue) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body);
    noneValue = NoneOp::create(builder, diagnostics.locate(entry.name),
                               builder.getNoneType());
  }
  return noneValue;
}

void GraphBuilder::addConstant(StringRef name,
                               const onnx::TensorProto &tensor) {
  llvm::Expected<DenseElementsAttr> value =
      convertTensor(tensor, *module.getContext());
  if (!value) {
    diagnostics.errorAt(name, llvm::toString(value.takeError()));
    return;
  }
  values[name] = ConstantOp::create(builder, diagnostics.locate(name), *value,
                                    builder.getStringAttr(name));
}

/// A Constant node has its value in one of several attributes.
void GraphBuilder::addConstantNode(const onnx::NodeProto &node) {
  if (node.attribute_size() != 1 || node.output_size() != 1) {
    diagnostics.errorAt(nodeName(node),
                        "expected one attribute of a Constant, got " +
                            Twine(node.attribute_size()));
    return;
  }
  const onnx::AttributeProto &attribute = node.attribute(0);
  StringRef name = node.output(0);
  onnx::TensorProto tensor;
  switch (attribute.type()) {
  case onnx::AttributeProto::TENSOR:
    addConstant(name, attribute.t());
    return;
  case onnx::AttributeProto::FLOAT:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
    break;
  case onnx::AttributeProto::FLOATS:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
    break;
  case onnx::AttributeProto::INT:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
    break;
  case onnx::AttributeProto::INTS:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    *tensor.mutable_int64_data() = attribute.ints();
    break;
  default:
    diagnostics.errorAt(nodeName(node), "a Constant with attribute '" +
                                            attribute.name() +
                                            "' is not supported");
    return;
  }
  addConstant(name, tensor);
}

/// The value of a name; constants and weights come in when they are first used.
Value GraphBuilder::lookup(StringRef name) {
  if (name.empty())
    return none();
  if (Value value = values.lookup(name))
    return value;
  if (auto weight = weights.find(name); weight != weights.end()) {
    auto [symbol, type] = weight->second;
    Value value =
        WeightRefOp::create(builder, diagnostics.locate(name), type, symbol);
    values[name] = value;
    return value;
  }
  if (const onnx::TensorProto *tensor = initializers.lookup(name))
    addConstant(name, *tensor);
  return values.lookup(name);
}

void GraphBuilder::addNode(const onnx::NodeProto &node) {
  StringRef name = nodeName(node);
  SmallVector<Value> inputs;
  for (const std::string &input : node.input())
    inputs.push_back(lookup(input));
  SmallVector<Type> outputs;
  for (const std::string &output : node.output())
    outputs.push_back(output.empty() ? builder.getNoneType()
                                     : typeOf(output, name));
  SmallVector<NamedAttribute> attributes;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      diagnostics.errorAt(name, "attribute '" + attribute.name() +
                                    "' refers to one of a function");
      continue;
    }
    llvm::Expected<Attribute> value =
        convertAttribute(attribute, *module.getContext());
    if (value)
      attributes.push_back(builder.getNamedAttr(attribute.name(), *value));
    else
      diagnostics.errorAt(name, "attribute '" + attribute.name() +
                                    "': " + llvm::toString(value.takeError()));
  }
  StringRef domain = node.domain() == "ai.onnx" ? "" : StringRef(node.domain());
  int since =
      schemaVersion(node.op_type(), domain, importedOpset(model, domain));
  if (diagnostics.hasErrors())
    return; // an input or a type may be missing
  auto op = NodeOp::create(
      builder, diagnostics.locate(name), outputs, inputs,
      builder.getStringAttr(node.op_type()),
      domain.empty() ? StringAttr() : builder.getStringAttr(domain),
      builder.getI64IntegerAttr(since), builder.getStringAttr(name),
      attributes.empty() ? DictionaryAttr()
                         : builder.getDictionaryAttr(attributes));
  for (auto [output, value] : llvm::zip(node.output(), op.getOutputs()))
    if (!output.empty())
      values[output] = value;
}

void GraphBuilder::build() {
  collectTypes();
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;

  SmallVector<Type> arguments, results;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  for (auto [port, dims] : llvm::zip(roles.inputs, entry.inputs)) {
    arguments.push_back(typeOf(port.value->name(), port.value->name()));
    argumentAttrs.push_back(describe(port, &dims));
  }
  for (const Port &port : roles.outputs) {
    Type type = typeOf(port.value->name(), port.value->name());
    std::optional<PastDims> dims;
    if (type)
      dims = outputDims(port, type);
    results.push_back(type);
    resultAttrs.push_back(describe(port, dims ? &*dims : nullptr));
  }
  if (diagnostics.hasErrors())
    return;

  builder.setInsertionPointToEnd(module.getBody());
  Location loc = diagnostics.locate(entry.name);
  auto op = GraphOp::create(
      builder, loc, builder.getStringAttr(entry.name),
      TypeAttr::get(builder.getFunctionType(arguments, results)),
      builder.getArrayAttr(argumentAttrs), builder.getArrayAttr(resultAttrs));
  body = builder.createBlock(&op.getBody());
  for (auto [port, type] : llvm::zip(roles.inputs, arguments)) {
    StringRef name = port.value->name();
    values[name] = body->addArgument(type, diagnostics.locate(name));
  }
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type() == "Constant" && node.domain().empty())
      addConstantNode(node);
    else
      addNode(node);
  }
  SmallVector<Value> operands;
  for (const Port &port : roles.outputs)
    operands.push_back(lookup(port.value->name()));
  if (!diagnostics.hasErrors())
    ReturnOp::create(builder, loc, operands);
}

void sdc::buildGraph(const onnx::ModelProto &model, const OnnxRoles &roles,
                     const EntryShape &entry, const WeightSymbols &weights,
                     ModuleOp module, ImportDiagnostics &diagnostics) {
  GraphBuilder(model, roles, entry, weights, module, diagnostics).build();
}
