// Places of tensors, and the launches of one entry; see EntryBuilder.h.

#include "compiler/Lower/EntryBuilder.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sdc {

std::optional<ElementType> formatType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// ModuleWords
//===----------------------------------------------------------------------===//

ModuleWords::ModuleWords(ModuleOp module)
    : module(module), symbols(module), builder(module.getContext()) {
  builder.setInsertionPointToStart(module.getBody());
  // Kernels and constants come behind the numbers of the model.
  for (auto model : module.getOps<exec::ModelOp>())
    builder.setInsertionPointAfter(model);
}

FailureOr<FlatSymbolRefAttr> ModuleWords::kernel(Location loc,
                                                 const KernelSpec &spec) {
  std::string problem = spec.problem();
  if (!problem.empty())
    return emitError(loc) << "no kernel computes this: " << problem;
  std::string name = spec.name();
  if (!symbols.lookup(name)) {
    auto kernel =
        exec::KernelOp::create(builder, loc, name, spec.scratchSize());
    symbols.insert(kernel, Block::iterator(kernel));
  }
  return FlatSymbolRefAttr::get(module.getContext(), name);
}

FlatSymbolRefAttr ModuleWords::constant(Location loc, ElementsAttr elements) {
  FlatSymbolRefAttr &symbol = constants[elements];
  if (symbol)
    return symbol;
  auto type = cast<RankedTensorType>(elements.getType());
  auto weight = exec::WeightOp::create(
      builder, loc, builder.getStringAttr("constant"), TypeAttr::get(type),
      IntegerAttr(), IntegerAttr(), StringAttr(),
      builder.getI64IntegerAttr(exec::tensorBytes(type)), elements, Attribute(),
      FlatSymbolRefAttr(), IntegerAttr(), ArrayAttr(), exec::PruningAttr());
  symbol =
      FlatSymbolRefAttr::get(symbols.insert(weight, Block::iterator(weight)));
  return symbol;
}

//===----------------------------------------------------------------------===//
// EntryBuilder
//===----------------------------------------------------------------------===//

EntryBuilder::EntryBuilder(ModuleWords &words, exec::EntryOp entry)
    : words(words), builder(OpBuilder::atBlockEnd(&entry.getBody().front())),
      operandType(exec::OperandType::get(entry.getContext())),
      numRows(entry.getBatch() * entry.getRows()) {}

Value EntryBuilder::placeOf(Value tensor) {
  // Null in the table: reported before.
  if (auto found = places.find(tensor); found != places.end())
    return found->second;
  Operation *op = tensor.getDefiningOp();
  if (!op) {
    emitError(tensor.getLoc(), "an argument has no place in the executable");
    return Value();
  }

  auto weight = [&](FlatSymbolRefAttr name) {
    Value &reference = references[name.getValue()];
    if (!reference)
      reference =
          exec::WeightRefOp::create(builder, op->getLoc(), operandType, name);
    return reference;
  };
  Value place;
  DenseElementsAttr elements;
  if (auto load = dyn_cast<decode::LoadOp>(op)) {
    words.useWeight(load.getWeight());
    place = weight(load.getWeightAttr());
  } else if (matchPattern(tensor, m_Constant(&elements))) {
    place = weight(words.constant(op->getLoc(), elements));
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                 decode::RecordOp>(op)) {
    // The same bytes by another name.
    place = placeOf(op->getOperand(0));
  } else {
    op->emitOpError("no kernel computes it");
  }
  places[tensor] = place;
  return place;
}

Value EntryBuilder::buffer(Location loc, int64_t bytes) {
  return exec::BufferOp::create(builder, loc, operandType, bytes,
                                IntegerAttr());
}

LaunchOperand EntryBuilder::out(Value tensor) {
  Value place =
      buffer(tensor.getLoc(),
             exec::tensorBytes(cast<RankedTensorType>(tensor.getType())));
  bind(tensor, place);
  return {place, exec::Access::Out};
}

LaunchOperand EntryBuilder::state(Location loc, StringRef name) {
  Value &reference = references[name];
  if (!reference)
    reference = exec::StateRefOp::create(
        builder, loc, operandType,
        FlatSymbolRefAttr::get(loc.getContext(), name));
  return {reference, exec::Access::InOut};
}

LaunchOperand EntryBuilder::params(Location loc) {
  if (!parameters)
    parameters = exec::ParamsOp::create(builder, loc, operandType);
  return {parameters, exec::Access::In};
}

LogicalResult EntryBuilder::launch(Location loc, const KernelSpec &spec,
                                   ArrayRef<LaunchOperand> operands,
                                   const Twine &label) {
  SmallVector<Value> places;
  SmallVector<int32_t> access;
  for (const LaunchOperand &operand : operands) {
    if (!operand.place) // Reported by placeOf.
      return failure();
    places.push_back(operand.place);
    access.push_back(static_cast<int32_t>(operand.access));
  }
  FailureOr<FlatSymbolRefAttr> kernel = words.kernel(loc, spec);
  if (failed(kernel))
    return failure();
  assert(spec.numOperands() == static_cast<int64_t>(operands.size()));
  exec::LaunchOp::create(builder, loc, *kernel,
                         builder.getI64IntegerAttr(spec.unitCount()), places,
                         builder.getDenseI32ArrayAttr(access),
                         builder.getStringAttr(label));
  return success();
}

void EntryBuilder::bindToHost(Location loc, exec::Role role, Value place,
                              StringRef name, RankedTensorType type) {
  exec::BindOp::create(builder, loc, role, place, name, type);
}

} // namespace sdc
