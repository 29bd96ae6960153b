// The walk from a value to the expression of one of its elements.

#include "compiler/Raise/GraphAlgebra.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

GraphAlgebra::GraphAlgebra(GraphOp graph) : graph(graph) {
  for (BlockArgument argument : graph.getBody().getArguments()) {
    AffineMap dims = graph.getArgDims(argument.getArgNumber());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    AffineShape shape;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        shape.push_back(Affine(type.getDimSize(i)));
        continue;
      }
      if (!dims)
        break;
      // a + b P, read at P = 0 and P = 1.
      SmallVector<int64_t> ends;
      for (int64_t past : {0, 1})
        ends.push_back(
            cast<AffineConstantExpr>(
                simplifyAffineExpr(
                    dims.getResult(i).replaceSymbols(
                        getAffineConstantExpr(past, graph.getContext())),
                    0, 0))
                .getValue());
      shape.push_back(Affine(ends[0], ends[1] - ends[0]));
    }
    if (static_cast<int64_t>(shape.size()) == type.getRank())
      shapes[argument] = shape;
  }
  for (Operation &op : graph.getBody().front())
    inferShapes(&op);
}

/// Whether a derived shape is one that a value of this type can have. In a graph
/// that contradicts itself it need not be; rules may then rely on neither.
static bool fits(const AffineShape &shape, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  if (tensor.getRank() != static_cast<int64_t>(shape.size()))
    return false;
  for (auto [extent, size] : llvm::zip(shape, tensor.getShape()))
    if (extent.isConstant() && !ShapedType::isDynamic(size) &&
        extent.base != size)
      return false;
  return true;
}

void GraphAlgebra::inferShapes(Operation *op) {
  for (OpResult result : op->getResults()) {
    if (auto node = dyn_cast<NodeOp>(op))
      if (std::optional<AffineShape> shape =
              shapeOfResult(*this, node, result.getResultNumber());
          shape && fits(*shape, result.getType())) {
        shapes[result] = *shape;
        continue;
      }
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && type.hasStaticShape())
      shapes[result] =
          AffineShape(type.getShape().begin(), type.getShape().end());
  }
}

const AffineShape *GraphAlgebra::getShape(Value value) const {
  auto found = shapes.find(value);
  return found == shapes.end() ? nullptr : &found->second;
}

SmallVector<Expr> GraphAlgebra::variablesOf(Value value) {
  SmallVector<Expr> variables;
  for (Affine extent : shapes.find(value)->second)
    variables.push_back(context.variable(extent));
  return variables;
}

std::optional<AffineShape> GraphAlgebra::getContents(Value value) {
  const AffineShape *shape = getShape(value);
  if (!shape || shape->size() > 1 ||
      !getElementTypeOrSelf(value.getType()).isIntOrIndex())
    return std::nullopt;
  int64_t size = 1;
  if (!shape->empty()) {
    if (!shape->front().isConstant() || shape->front().base > 64)
      return std::nullopt;
    size = shape->front().base;
  }
  AffineShape contents;
  bool isScalar = shape->empty();
  for (int64_t i = 0; i < size; ++i) {
    Expr index = context.integer(i);
    Expr element = at(value, isScalar ? ExprRange() : ExprRange(index));
    std::optional<Affine> number = context.asAffine(element);
    if (!number)
      return std::nullopt;
    contents.push_back(*number);
  }
  return contents;
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// Equal constants and weights are one root, whichever operation reads them.
static const void *rootKey(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue().getAsOpaquePointer();
  if (auto weight = value.getDefiningOp<WeightRefOp>())
    return weight.getWeightAttr().getAsOpaquePointer();
  if (auto load = value.getDefiningOp<decode::LoadOp>())
    return load.getWeightAttr().getAsOpaquePointer();
  return value.getAsOpaquePointer();
}

static bool holdsIntegers(Value value) {
  return getElementTypeOrSelf(value.getType()).isIntOrIndex();
}

Expr GraphAlgebra::loadOf(Value root, ExprRange indices) {
  const void *key = rootKey(root);
  roots.try_emplace(key, root);
  return context.load(key, indices, holdsIntegers(root));
}

/// Numbers beyond this stand for "to the end" in Slice.
static constexpr int64_t kFar = int64_t(1) << 61;

static double toDouble(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

static int64_t toInteger(const APInt &value, Type element) {
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  int64_t number = isUnsigned
                       ? static_cast<int64_t>(value.getLimitedValue(kFar))
                       : value.getSExtValue();
  return std::clamp(number, -kFar, kFar);
}

/// Element `indices` of integers that are first + step x index along each
/// axis, as positions are; null if they are not.
static Expr elementOfProgression(ExprContext &context, ElementsAttr elements,
                                 ExprRange indices) {
  auto type = cast<ShapedType>(elements.getType());
  Type element = type.getElementType();
  auto values = elements.tryGetValues<APInt>();
  if (!values || type.getNumElements() == 0)
    return nullptr;
  auto begin = values->begin();
  auto at = [&](int64_t flat) { return toInteger(*(begin + flat), element); };
  SmallVector<int64_t> strides(type.getRank(), 1), steps(type.getRank(), 0);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * type.getDimSize(i + 1);
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) > 1)
      steps[i] = at(strides[i]) - at(0);
  for (int64_t flat = 0; flat < type.getNumElements(); ++flat) {
    int64_t expected = at(0);
    for (auto [stride, step, size] : llvm::zip(strides, steps, type.getShape()))
      expected += flat / stride % size * step;
    if (at(flat) != expected)
      return nullptr;
  }
  Expr result = context.integer(at(0));
  for (auto [index, step] : llvm::zip(indices, steps))
    result =
        context.add(result, context.scale(index, static_cast<double>(step)));
  return result;
}

/// Element `indices` of a constant; null if it is not known.
static Expr elementOfConstant(ExprContext &context, ElementsAttr elements,
                              ExprRange indices) {
  auto type = cast<ShapedType>(elements.getType());
  Type element = type.getElementType();
  // A vector or matrix of equal floats may be a weight; it stays one, so that
  // what a graph computes does not depend on its weights.
  bool isWeight = isa<FloatType>(element) && type.getRank() <= 2 &&
                  type.getNumElements() > 1;
  bool isSplat = elements.isSplat() && !isWeight;
  bool isKnown = true;
  int64_t flat = 0;
  for (auto [index, size] : llvm::zip(indices, type.getShape())) {
    std::optional<int64_t> number = context.asInteger(index);
    isKnown &= number && *number >= 0 && *number < size;
    flat = flat * size + number.value_or(0);
  }
  if (!isKnown && !isSplat)
    return isa<FloatType>(element)
               ? nullptr
               : elementOfProgression(context, elements, indices);
  if (isSplat)
    flat = 0;
  if (isa<FloatType>(element)) {
    auto values = elements.tryGetValues<APFloat>();
    return values ? context.real(toDouble(*(values->begin() + flat))) : nullptr;
  }
  auto values = elements.tryGetValues<APInt>();
  return values ? context.integer(toInteger(*(values->begin() + flat), element))
                : nullptr;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Element `indices` of a tensor.expand_shape or tensor.collapse_shape of
/// static tensors: the source's indices from the place in row-major order.
static Expr elementOfReshape(GraphAlgebra &algebra, Value source,
                             ArrayRef<int64_t> shape, ExprRange indices) {
  ExprContext &context = algebra.getContext();
  Expr flat = context.integer(0);
  for (auto [index, size] : llvm::zip(indices, shape))
    flat = context.add(context.scale(flat, static_cast<double>(size)), index);
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(source.getType()).getShape();
  SmallVector<Expr> inner(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    inner[i] = context.mod(flat, sizes[i]);
    flat = context.floorDiv(flat, sizes[i]);
  }
  return algebra.at(source, inner);
}

Expr GraphAlgebra::computeElement(Value value, ExprRange indices) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    StringRef role = graph.getArgRole(argument.getArgNumber());
    if (role == "attention_mask")
      return context.integer(1);
    if (role == "position_ids" && !indices.empty())
      return context.add(context.past(), indices.back());
    return nullptr;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return elementOfConstant(context, constant.getValue(), indices);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return elementOfReshape(*this, op->getOperand(0),
                            cast<RankedTensorType>(value.getType()).getShape(),
                            indices);
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return nullptr;
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (Expr element = elementOfMove(*this, node, result, indices))
    return element;
  if (Expr element = elementOfFused(*this, node, result, indices))
    return element;
  return result == 0 ? elementOfFunction(*this, node, indices) : nullptr;
}

Expr GraphAlgebra::at(Value value, ExprRange indices) {
  Expr load = loadOf(value, indices);
  if (forcedRoots.contains(value) || !getShape(value))
    return load;
  auto found = elements.find(load);
  if (found != elements.end())
    return found->second;
  Expr element = computeElement(value, indices);
  if (!element)
    element = load;
  elements[load] = element;
  return element;
}

std::string GraphAlgebra::print(Expr expr) const {
  return context.print(expr, [&](const void *key) -> std::string {
    Value root = roots.lookup(key);
    if (auto node = root.getDefiningOp<NodeOp>())
      return ("'" + node.getNodeName().value_or(node.getOpType()) + "'").str();
    if (auto weight = root.getDefiningOp<WeightRefOp>())
      return ("'" + weight.getWeight() + "'").str();
    if (auto constant = root.getDefiningOp<ConstantOp>())
      return ("'" + constant.getName().value_or("constant") + "'").str();
    if (auto argument = dyn_cast<BlockArgument>(root)) {
      onnxir::GraphOp owner = graph;
      return ("'" + owner.getArgRole(argument.getArgNumber()) + "'").str();
    }
    return root.getDefiningOp()->getName().getStringRef().str();
  });
}
