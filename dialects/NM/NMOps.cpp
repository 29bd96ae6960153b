// Operations of the nm dialect: verifiers. (Cx) are the constraints numbered
// in NMOps.td.

#include "dialects/NM/NMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sdc::nm;

#define GET_OP_CLASSES
#include "dialects/NM/NMOps.cpp.inc"

/// [rows, K] of a weight, packed or not.
static RankedTensorType tensorOf(Value weight) {
  if (auto packed = dyn_cast<PackedType>(weight.getType()))
    return packed.getTensorType();
  return cast<RankedTensorType>(weight.getType());
}

static int64_t wordsOf(int64_t columns) {
  return (columns + sdc::kWordColumns - 1) / sdc::kWordColumns;
}

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<PackedType>(getType());
  if (!type) // (C1)
    return emitOpError("expected a !nm.packed, got ") << getType();
  int64_t bytes = type.getLayout().packedSize(), got = -1;
  if (auto file = dyn_cast<decode::FileAttr>(getSource()))
    got = file.getLength();
  else if (auto elements = dyn_cast<ElementsAttr>(getSource());
           elements && elements.getElementType().isInteger(8))
    got = elements.getNumElements();
  else // (C2)
    return emitOpError("expected #decode.file or elements of i8 as the source, "
                       "got ")
           << getSource();
  if (got != bytes) // (C2)
    return emitOpError("the source has ")
           << got << " bytes, " << type << " takes " << bytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

PatternAttr LinearOp::getWeightPattern() {
  if (auto packed = dyn_cast<PackedType>(getWeight().getType()))
    return packed.getPattern();
  return getPatternAttr();
}

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  RankedTensorType weight = tensorOf(getWeight());
  ArrayRef<int64_t> result = getType().getShape();
  if (x[2] != weight.getDimSize(1)) // (C1)
    return emitOpError("K is ")
           << x[2] << " in x and " << weight.getDimSize(1) << " in the weight";
  int64_t rows = weight.getDimSize(0);
  if (result[0] != x[0] || result[1] != x[1] || result[2] != rows) // (C1)
    return emitOpError("expected a result of ")
           << x[0] << "x" << x[1] << "x" << rows;
  if (getBias() && getBias().getType().getDimSize(0) != rows) // (C2)
    return emitOpError("expected a bias of ") << rows << " elements";

  if (isa<PackedType>(getWeight().getType())) {
    if (getPatternAttr()) // (C3)
      return emitOpError(
          "the type of a packed weight says its pattern; expected "
          "no pattern beside it");
    return success();
  }
  if (!getPatternAttr()) // (C3)
    return emitOpError("expected a pattern for a weight that is not packed");
  if (getPatternAttr().isDense()) // (C3)
    return emitOpError("a dense weight that is not packed belongs to "
                       "decode.linear");
  return success();
}

LogicalResult EmbedOp::verify() {
  RankedTensorType tokens = getTokens().getType();
  PackedType table = getTable().getType();
  auto expected = RankedTensorType::get(
      {tokens.getDimSize(0), tokens.getDimSize(1), table.getColumns()},
      Float32Type::get(getContext()));
  if (getType() != expected) // (C1)
    return emitOpError("expected a result of ") << expected;
  if (!table.getPattern().isDense()) // (C2)
    return emitOpError("expected a dense table, got ") << table;
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult MaskOp::verify() {
  RankedTensorType weight = tensorOf(getWeight());
  int64_t words = wordsOf(weight.getDimSize(1));
  if (getType().getShape() !=
      ArrayRef<int64_t>({weight.getDimSize(0), words})) // (C1)
    return emitOpError("expected a result of ")
           << weight.getDimSize(0) << "x" << words << "xi32";
  bool packed = isa<PackedType>(getWeight().getType());
  if (packed == static_cast<bool>(getPatternAttr())) // (C2)
    return packed ? emitOpError("the type of a packed weight says its pattern; "
                                "expected no pattern beside it")
                  : emitOpError("expected a pattern for a weight that is not "
                                "packed");
  return success();
}

LogicalResult PackOp::verify() {
  PackedType packed = getType();
  if (getWeight().getType().getShape() !=
      packed.getTensorType().getShape()) // (C1)
    return emitOpError("expected a weight of ")
           << packed.getRows() << "x" << packed.getColumns() << ", got "
           << getWeight().getType();
  if (!getMask())
    return success();
  int64_t words = wordsOf(packed.getColumns());
  if (packed.getPattern().isDense()) // (C2)
    return emitOpError("a dense pattern has no mask");
  if (getMask().getType().getShape() !=
      ArrayRef<int64_t>({packed.getRows(), words})) // (C2)
    return emitOpError("expected a mask of ")
           << packed.getRows() << "x" << words << "xi32";
  return success();
}

LogicalResult UnpackOp::verify() {
  RankedTensorType expected = getPacked().getType().getTensorType();
  if (getType() != expected) // (C1)
    return emitOpError("expected a result of ") << expected;
  return success();
}
