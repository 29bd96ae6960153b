// Operations of the decode dialect: verifiers. (Cx) are the constraints
// numbered in DecodeOps.td.

#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sdc::decode;

#define GET_OP_CLASSES
#include "dialects/Decode/DecodeOps.cpp.inc"

/// The bits that `type` takes in a file.
static int64_t storedBytes(RankedTensorType type) {
  unsigned bits =
      type.getElementType().isInteger(1) ? 8 : type.getElementTypeBitWidth();
  return type.getNumElements() * static_cast<int64_t>(bits) / 8;
}

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape()) // (C1)
    return emitOpError("expected a ranked tensor with a static shape, got ")
           << getType();

  ViewAttr view = getViewAttr();
  RankedTensorType stored = view ? view.getStored() : type;
  if (!stored.hasStaticShape()) // (C3)
    return emitOpError("expected a static stored shape, got ") << stored;
  if (auto file = dyn_cast<FileAttr>(getSource())) { // (C2)
    if (file.getLength() != storedBytes(stored))
      return emitOpError("the source has ")
             << file.getLength() << " bytes, " << stored << " takes "
             << storedBytes(stored);
  } else if (auto elements = dyn_cast<ElementsAttr>(getSource())) {
    if (elements.getNumElements() != stored.getNumElements())
      return emitOpError("the source has ")
             << elements.getNumElements() << " elements, " << stored << " has "
             << stored.getNumElements();
  } else if (!isa<RandomAttr>(getSource())) {
    return emitOpError("expected #decode.file, #decode.random or elements as "
                       "the source, got ")
           << getSource();
  }
  if (!view)
    return success();

  if (type.getRank() == 1) { // (C3)
    if (view.getFirst() < 0 ||
        view.getFirst() + type.getDimSize(0) > stored.getNumElements())
      return emitOpError("elements ") << view.getFirst() << " to "
                                      << view.getFirst() + type.getDimSize(0)
                                      << " are not in " << stored;
    return success();
  }
  if (type.getRank() != 2 || stored.getRank() != 2)
    return emitOpError("a view has rank 1 or 2");
  bool transposed = view.getTransposed();
  int64_t storedRows = stored.getDimSize(transposed ? 1 : 0);
  int64_t storedK = stored.getDimSize(transposed ? 0 : 1);
  if (storedK != type.getDimSize(1)) // (C3)
    return emitOpError("K is ")
           << type.getDimSize(1) << " but " << storedK << " is stored";
  if (view.getFirst() < 0 ||
      view.getFirst() + type.getDimSize(0) > storedRows) // (C3)
    return emitOpError("rows ")
           << view.getFirst() << " to " << view.getFirst() + type.getDimSize(0)
           << " are not among the " << storedRows << " stored";
  return success();
}

LogicalResult StateOp::verify() {
  if (!isa<CacheType>(getType()))
    return emitOpError("expected a !decode.cache, got ") << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Constants and rows
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getWeightAttr());
  if (!symbol) // (C1)
    return emitOpError("no weight of the name ") << getWeightAttr();
  auto type = symbol->getAttrOfType<TypeAttr>("type");
  if (!type || type.getValue() != getType()) // (C1)
    return emitOpError("gives ")
           << getType() << " but the weight is "
           << (type ? Attribute(type) : Attribute(getWeightAttr()));
  return success();
}

LogicalResult EmbedOp::verify() {
  RankedTensorType tokens = getTokens().getType();
  RankedTensorType table = getTable().getType();
  RankedTensorType expected = RankedTensorType::get(
      {tokens.getDimSize(0), tokens.getDimSize(1), table.getDimSize(1)},
      Float32Type::get(getContext()));
  if (getType() != expected) // (C1)
    return emitOpError("expected a result of ") << expected;
  return success();
}

LogicalResult LastRowOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  ArrayRef<int64_t> result = getType().getShape();
  if (x[0] != 1 || result[0] != 1 || result[1] != 1 || result[2] != x[2] ||
      getPositions().getType().getShape() != x.take_front(2))
    return emitOpError("expected x [1, S, H], positions [1, S] and a result "
                       "[1, 1, H]");
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// (C1) of the norms.
static LogicalResult verifyNormSize(Operation *op, Value x, Value vector,
                                    StringRef what) {
  int64_t size = cast<RankedTensorType>(x.getType()).getShape().back();
  int64_t got = cast<RankedTensorType>(vector.getType()).getDimSize(0);
  if (got != size)
    return op->emitOpError("expected a ")
           << what << " of " << size << " elements, got " << got;
  return success();
}

LogicalResult RmsNormOp::verify() {
  return verifyNormSize(*this, getX(), getWeight(), "weight");
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNormSize(*this, getX(), getWeight(), "weight")))
    return failure();
  return getBias() ? verifyNormSize(*this, getX(), getBias(), "bias")
                   : success();
}

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  ArrayRef<int64_t> weight = getWeight().getType().getShape();
  ArrayRef<int64_t> result = getType().getShape();
  if (x[2] != weight[1]) // (C1)
    return emitOpError("K is ")
           << x[2] << " in x and " << weight[1] << " in the weight";
  if (result[0] != x[0] || result[1] != x[1] || result[2] != weight[0]) // (C1)
    return emitOpError("expected a result of ")
           << x[0] << "x" << x[1] << "x" << weight[0];
  if (getBias() && getBias().getType().getDimSize(0) != weight[0]) // (C2)
    return emitOpError("expected a bias of ") << weight[0] << " elements";
  return success();
}

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  if (getPositions().getType().getShape() != x.take_front(2)) // (C1)
    return emitOpError("expected positions of ") << x[0] << "x" << x[1];
  int64_t rotated = 2 * getFrequencies().getType().getDimSize(0);
  if (rotated > x[3]) // (C2)
    return emitOpError("rotates ")
           << rotated << " elements of a head of " << x[3];
  return success();
}

LogicalResult AppendOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  CacheType cache = getType();
  if (x[2] != cache.getHeads() || x[3] != cache.getHeadSize()) // (C2)
    return emitOpError("x has ")
           << x[2] << " heads of " << x[3] << ", the cache " << cache.getHeads()
           << " of " << cache.getHeadSize();
  return success();
}

LogicalResult AppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state) // (C1)
    return emitOpError("no state of the name ") << getStateAttr();
  if (state.getType() != getType()) // (C1)
    return emitOpError("gives ")
           << getType() << " but the state is " << state.getType();
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> q = getQ().getType().getShape();
  ArrayRef<int64_t> result = getType().getShape();
  CacheType keys = getKeys().getType(), values = getValues().getType();
  if (q[3] != keys.getHeadSize() || result.take_front(3) != q.take_front(3) ||
      result[3] != values.getHeadSize()) // (C1)
    return emitOpError("expected q of head size ")
           << keys.getHeadSize() << " and a result of " << q[0] << "x" << q[1]
           << "x" << q[2] << "x" << values.getHeadSize();
  if (keys.getSlots() != values.getSlots() ||
      keys.getHeads() != values.getHeads() ||
      keys.getPositions() != values.getPositions()) // (C2)
    return emitOpError("keys and values differ: ") << keys << ", " << values;
  if (q[2] % keys.getHeads() != 0) // (C3)
    return emitOpError() << q[2] << " heads are not a multiple of "
                         << keys.getHeads();
  return success();
}
