// Operations of the Onnx dialect: verifiers, accessors, the graph's syntax.
// (Cx) are the constraints numbered in OnnxOps.td.

#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sdc::onnxir;

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"

//===----------------------------------------------------------------------===//
// GraphOp
//===----------------------------------------------------------------------===//

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void GraphOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

static AffineMap dimsOf(Attribute attribute) {
  auto map = dyn_cast_or_null<AffineMapAttr>(attribute);
  return map ? map.getValue() : AffineMap();
}

static StringRef stringOf(Attribute attribute) {
  auto string = dyn_cast_or_null<StringAttr>(attribute);
  return string ? string.getValue() : StringRef();
}

StringRef GraphOp::getArgRole(unsigned index) {
  return stringOf(getArgAttr(index, kRole));
}

StringRef GraphOp::getResultRole(unsigned index) {
  return stringOf(getResultAttr(index, kRole));
}

AffineMap GraphOp::getArgDims(unsigned index) {
  return dimsOf(getArgAttr(index, kDims));
}

AffineMap GraphOp::getResultDims(unsigned index) {
  return dimsOf(getResultAttr(index, kDims));
}

/// Checks `onnx.dims` against the type that it describes (C4).
static LogicalResult verifyDims(GraphOp graph, const Twine &what, Type type,
                                Attribute attribute) {
  if (!attribute)
    return success();
  AffineMap map = dimsOf(attribute);
  if (!map)
    return graph.emitOpError() << what << ": onnx.dims is not an affine map";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return graph.emitOpError() << what << ": onnx.dims on an unranked value";
  if (map.getNumDims() != 0 || map.getNumSymbols() != 1)
    return graph.emitOpError()
           << what << ": expected onnx.dims over one symbol, got "
           << map.getNumDims() << " dimensions and " << map.getNumSymbols()
           << " symbols";
  if (map.getNumResults() != tensor.getRank())
    return graph.emitOpError()
           << what << ": expected " << tensor.getRank()
           << " results of onnx.dims, got " << map.getNumResults();
  for (auto [expr, size] : llvm::zip(map.getResults(), tensor.getShape())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (constant ? size != constant.getValue() : !ShapedType::isDynamic(size))
      return graph.emitOpError()
             << what << ": onnx.dims and " << tensor << " disagree";
  }
  return success();
}

LogicalResult GraphOp::verify() {
  auto verifyPorts = [&](StringRef kind, ArrayRef<Type> types,
                         auto attributeOf) -> LogicalResult {
    llvm::StringSet<> names, roles;
    for (auto [index, type] : llvm::enumerate(types)) {
      std::string what = (kind + " " + Twine(index)).str();
      StringRef name = stringOf(attributeOf(index, kName));
      if (name.empty()) // (C2)
        return emitOpError() << what << ": expected a string onnx.name";
      if (!names.insert(name).second) // (C2)
        return emitOpError() << what << ": name '" << name << "' is taken";
      StringRef role = stringOf(attributeOf(index, kRole));
      if (role.empty()) // (C3)
        return emitOpError() << what << ": expected a string onnx.role";
      if (role != "other" && !roles.insert(role).second) // (C3)
        return emitOpError() << what << ": role '" << role << "' is taken";
      if (failed(verifyDims(*this, what, type, attributeOf(index, kDims))))
        return failure();
    }
    return success();
  };
  if (failed(verifyPorts("argument", getArgumentTypes(),
                         [&](unsigned index, StringRef name) {
                           return getArgAttr(index, name);
                         })))
    return failure();
  return verifyPorts("result", getResultTypes(),
                     [&](unsigned index, StringRef name) {
                       return getResultAttr(index, name);
                     });
}

LogicalResult ReturnOp::verify() {
  auto graph = cast<GraphOp>((*this)->getParentOp());
  if (getOperandTypes() == TypeRange(graph.getResultTypes())) // (C1)
    return success();
  return emitOpError("expected operands of types ")
         << graph.getResultTypes() << ", got " << getOperandTypes();
}

//===----------------------------------------------------------------------===//
// NodeOp
//===----------------------------------------------------------------------===//

LogicalResult NodeOp::verify() {
  if (getOpType().empty()) // (C1)
    return emitOpError("expected an operator name, got an empty one");
  if (static_cast<int64_t>(getSince()) <= 0) // (C1)
    return emitOpError("expected a positive schema version, got ")
           << static_cast<int64_t>(getSince());
  for (auto [index, output] : llvm::enumerate(getOutputs()))
    if (isa<NoneType>(output.getType()) && !output.use_empty()) // (C2)
      return emitOpError("output ") << index << " is left out but used";
  return success();
}

bool NodeOp::is(StringRef op, StringRef domain) {
  return getOpType() == op && getDomainName() == domain;
}

Value NodeOp::getInput(unsigned index) {
  if (index >= getInputs().size())
    return {};
  Value input = getInputs()[index];
  return isa<NoneType>(input.getType()) ? Value() : input;
}

Attribute NodeOp::getStored(StringRef name) {
  DictionaryAttr attributes = getAttrsAttr();
  return attributes ? attributes.get(name) : Attribute();
}

int64_t NodeOp::getInt(StringRef name, int64_t byDefault) {
  auto value = dyn_cast_or_null<IntegerAttr>(getStored(name));
  return value ? value.getInt() : byDefault;
}

double NodeOp::getFloat(StringRef name, double byDefault) {
  auto value = dyn_cast_or_null<FloatAttr>(getStored(name));
  return value ? value.getValueAsDouble() : byDefault;
}

StringRef NodeOp::getString(StringRef name, StringRef byDefault) {
  auto value = dyn_cast_or_null<StringAttr>(getStored(name));
  return value ? value.getValue() : byDefault;
}

ArrayRef<int64_t> NodeOp::getInts(StringRef name) {
  auto value = dyn_cast_or_null<DenseI64ArrayAttr>(getStored(name));
  return value ? value.asArrayRef() : ArrayRef<int64_t>();
}

//===----------------------------------------------------------------------===//
// ConstantOp, WeightRefOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           ConstantOp::Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::verify() {
  ShapedType type = getValue().getShapedType();
  int64_t bits =
      type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 8;
  int64_t bytes = type.getNumElements() * ((bits + 7) / 8);
  if (bytes > kMaxBytes) // (C1)
    return emitOpError("expected at most ")
           << kMaxBytes << " bytes, got " << bytes;
  return success();
}

LogicalResult WeightRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *weight = symbols.lookupNearestSymbolFrom(*this, getWeightAttr());
  if (!weight) // (C1)
    return emitOpError("names no symbol: ") << getWeightAttr();
  auto type = weight->getAttrOfType<TypeAttr>("type");
  if (!type) // (C1)
    return emitOpError() << getWeightAttr() << " is not a weight";
  if (type.getValue() != getType()) // (C1)
    return emitOpError("expected the type of ")
           << getWeightAttr() << ", " << type.getValue() << ", got "
           << getType();
  return success();
}
