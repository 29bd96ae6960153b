// Elements of operators that move elements, or make them from indices alone.

#include "compiler/Raise/GraphAlgebra.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

static const AffineShape *inputShape(GraphAlgebra &algebra, NodeOp node,
                                     unsigned input) {
  Value value = node.getInput(input);
  return value ? algebra.getShape(value) : nullptr;
}

static Expr elementOfTranspose(GraphAlgebra &algebra, NodeOp node,
                               ExprRange indices) {
  ArrayRef<int64_t> perm = node.getInts("perm");
  SmallVector<Expr> inner(indices.size());
  for (auto [i, index] : llvm::enumerate(indices))
    inner[perm.empty() ? indices.size() - 1 - i : perm[i]] = index;
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfUnsqueeze(GraphAlgebra &algebra, NodeOp node,
                               ExprRange indices) {
  auto axes = axesOf(algebra, node, 1);
  if (!axes)
    return nullptr;
  auto rank = static_cast<int64_t>(indices.size());
  SmallVector<Expr> inner;
  for (int64_t i = 0; i < rank; ++i)
    if (llvm::none_of(*axes,
                      [&](int64_t axis) { return fromFront(axis, rank) == i; }))
      inner.push_back(indices[i]);
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfSqueeze(GraphAlgebra &algebra, NodeOp node,
                             ExprRange indices) {
  const AffineShape *shape = inputShape(algebra, node, 0);
  auto axes = axesOf(algebra, node, 1);
  if (!axes)
    return nullptr;
  auto rank = static_cast<int64_t>(shape->size());
  SmallVector<Expr> inner;
  for (size_t i = 0; i < shape->size(); ++i) {
    Affine size = (*shape)[i];
    bool dropped = axes->empty() ? size == Affine(1)
                                 : llvm::any_of(*axes, [&](int64_t axis) {
                                     return fromFront(axis, rank) ==
                                            static_cast<int64_t>(i);
                                   });
    inner.push_back(dropped ? algebra.getContext().integer(0)
                            : indices.front());
    if (!dropped)
      indices = indices.drop_front();
  }
  return algebra.at(node.getInput(0), inner);
}

/// Row-major places agree within groups of sizes of equal product; only within
/// a group of several sizes is there anything to compute.
static Expr elementOfReshape(GraphAlgebra &algebra, NodeOp node,
                             ExprRange indices) {
  ExprContext &context = algebra.getContext();
  const AffineShape *from = inputShape(algebra, node, 0);
  const AffineShape *to = algebra.getShape(node.getResult(0));
  SmallVector<Expr> inner(from->size(), context.integer(0));
  size_t i = 0, j = 0;
  while (i < from->size() || j < to->size()) {
    size_t firstFrom = i, firstTo = j;
    Affine inFrom(1), inTo(1);
    auto take = [](Affine &product, const AffineShape &shape, size_t &at) {
      if (at == shape.size())
        return false;
      std::optional<Affine> next = Affine::multiply(product, shape[at++]);
      if (!next)
        return false;
      product = *next;
      return true;
    };
    if (i < from->size())
      take(inFrom, *from, i);
    if (j < to->size())
      take(inTo, *to, j);
    while (inFrom != inTo) {
      bool fromIsLess = (inTo - inFrom).isNonNegative();
      if (!fromIsLess && !(inFrom - inTo).isNonNegative())
        return nullptr;
      if (!(fromIsLess ? take(inFrom, *from, i) : take(inTo, *to, j)))
        return nullptr;
    }
    // Sizes of 1 that follow belong to this group, so that no group is empty
    // on one side.
    while (i < from->size() && (*from)[i] == Affine(1))
      ++i;
    while (j < to->size() && (*to)[j] == Affine(1))
      ++j;

    // The place within the group, then the indices of the input from it. The
    // outermost size takes what is left, so it may depend on P.
    auto drop = [](const AffineShape &shape, size_t first, size_t last) {
      SmallVector<size_t> kept;
      for (size_t k = first; k < last; ++k)
        if (shape[k] != Affine(1))
          kept.push_back(k);
      return kept;
    };
    SmallVector<size_t> outer = drop(*from, firstFrom, i);
    SmallVector<size_t> places = drop(*to, firstTo, j);
    if (outer.size() == 1 && places.size() == 1) {
      inner[outer.front()] = indices[places.front()];
      continue;
    }
    Expr flat = context.integer(0);
    for (size_t k : places)
      flat =
          context.add(context.mul(flat, context.affine((*to)[k])), indices[k]);
    for (size_t k : llvm::reverse(outer)) {
      if (k == outer.front()) {
        inner[k] = flat;
        break;
      }
      auto parts = context.divide(flat, (*from)[k]);
      if (!parts)
        return nullptr;
      std::tie(flat, inner[k]) = *parts;
    }
  }
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfConcat(GraphAlgebra &algebra, NodeOp node,
                            ExprRange indices) {
  ExprContext &context = algebra.getContext();
  int64_t axis = fromFront(node.getInt("axis", 0), indices.size());
  // From the back: the last part is what no earlier one holds.
  SmallVector<Affine> starts;
  Affine start;
  for (Value input : node.getInputs()) {
    starts.push_back(start);
    start = start + (*algebra.getShape(input))[axis];
  }
  Expr result = nullptr;
  for (size_t part = starts.size(); part-- > 0;) {
    Expr place = context.sub(indices[axis], context.affine(starts[part]));
    Expr isHere = context.nonNegative(place);
    if (isHere->isConstant(0))
      continue;
    Affine size = (*algebra.getShape(node.getInputs()[part]))[axis];
    // Parts behind which the index surely lies don't matter.
    if (context.isKnownNonNegative(context.sub(place, context.affine(size))))
      return result;
    SmallVector<Expr> inner(indices);
    inner[axis] = place;
    Expr element = algebra.at(node.getInputs()[part], inner);
    result = result ? context.select(context.nonNegative(context.sub(
                                         place, context.affine(size))),
                                     result, element)
                    : element;
    if (isHere->isConstant(1))
      return result;
  }
  return result;
}

/// An index that may count from the back.
static Expr normaliseIndex(ExprContext &context, Expr index, Affine size) {
  if (context.isKnownNegative(index))
    return context.add(index, context.affine(size));
  return index;
}

static Expr elementOfGather(GraphAlgebra &algebra, NodeOp node,
                            ExprRange indices) {
  const AffineShape *data = inputShape(algebra, node, 0);
  const AffineShape *places = inputShape(algebra, node, 1);
  int64_t axis = fromFront(node.getInt("axis", 0), data->size());
  Expr place =
      algebra.at(node.getInput(1), indices.slice(axis, places->size()));
  SmallVector<Expr> inner(indices.take_front(axis));
  inner.push_back(normaliseIndex(algebra.getContext(), place, (*data)[axis]));
  llvm::append_range(inner, indices.drop_front(axis + places->size()));
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfGatherND(GraphAlgebra &algebra, NodeOp node,
                              ExprRange indices) {
  const AffineShape *data = inputShape(algebra, node, 0);
  const AffineShape *places = inputShape(algebra, node, 1);
  int64_t batch = node.getInt("batch_dims", 0);
  SmallVector<Expr> inner(indices.take_front(batch));
  SmallVector<Expr> place(indices.take_front(places->size() - 1));
  for (int64_t i = 0; i < places->back().base; ++i) {
    place.push_back(algebra.getContext().integer(i));
    inner.push_back(normaliseIndex(algebra.getContext(),
                                   algebra.at(node.getInput(1), place),
                                   (*data)[batch + i]));
    place.pop_back();
  }
  llvm::append_range(inner, indices.drop_front(places->size() - 1));
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfGatherElements(GraphAlgebra &algebra, NodeOp node,
                                    ExprRange indices) {
  int64_t axis = fromFront(node.getInt("axis", 0), indices.size());
  SmallVector<Expr> inner(indices);
  inner[axis] = normaliseIndex(algebra.getContext(),
                               algebra.at(node.getInput(1), indices),
                               (*inputShape(algebra, node, 0))[axis]);
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfSlice(GraphAlgebra &algebra, NodeOp node,
                           ExprRange indices) {
  ExprContext &context = algebra.getContext();
  auto slices = slicesOf(algebra, node);
  if (!slices)
    return nullptr;
  SmallVector<Expr> inner;
  for (auto [index, slice] : llvm::zip(indices, *slices))
    inner.push_back(
        context.add(context.affine(slice.start),
                    context.scale(index, static_cast<double>(slice.step))));
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfExpand(GraphAlgebra &algebra, NodeOp node,
                            ExprRange indices) {
  const AffineShape *shape = inputShape(algebra, node, 0);
  SmallVector<Expr> inner(indices.take_back(shape->size()));
  for (auto [index, size] : llvm::zip(inner, *shape))
    if (size == Affine(1))
      index = algebra.getContext().integer(0);
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfTile(GraphAlgebra &algebra, NodeOp node,
                          ExprRange indices) {
  const AffineShape *shape = inputShape(algebra, node, 0);
  const AffineShape *result = algebra.getShape(node.getResult(0));
  SmallVector<Expr> inner(indices);
  for (auto [index, size, whole] : llvm::zip(inner, *shape, *result)) {
    if (size == whole)
      continue;
    if (!size.isConstant())
      return nullptr;
    index = algebra.getContext().mod(index, size.base);
  }
  return algebra.at(node.getInput(0), inner);
}

static Expr elementOfShape(GraphAlgebra &algebra, NodeOp node,
                           ExprRange indices) {
  ExprContext &context = algebra.getContext();
  const AffineShape *shape = inputShape(algebra, node, 0);
  std::optional<int64_t> place = context.asInteger(indices[0]);
  if (!shape || !place)
    return nullptr;
  auto rank = static_cast<int64_t>(shape->size());
  int64_t start =
      std::clamp<int64_t>(fromFront(node.getInt("start", 0), rank), 0, rank);
  if (start + *place >= rank)
    return nullptr;
  return context.affine((*shape)[start + *place]);
}

static Expr elementOfSize(GraphAlgebra &algebra, NodeOp node, ExprRange) {
  const AffineShape *shape = inputShape(algebra, node, 0);
  if (!shape)
    return nullptr;
  Expr product = algebra.getContext().integer(1);
  for (Affine size : *shape)
    product =
        algebra.getContext().mul(product, algebra.getContext().affine(size));
  return product;
}

static Expr elementOfRange(GraphAlgebra &algebra, NodeOp node,
                           ExprRange indices) {
  ExprContext &context = algebra.getContext();
  Expr start = algebra.at(node.getInput(0), {});
  Expr delta = algebra.at(node.getInput(2), {});
  return context.add(start, context.mul(indices[0], delta));
}

static Expr elementOfConstantOfShape(GraphAlgebra &algebra, NodeOp node,
                                     ExprRange) {
  auto value = dyn_cast_or_null<ElementsAttr>(node.getStored("value"));
  if (!value)
    return algebra.getContext().real(0);
  if (isa<FloatType>(value.getElementType()))
    return algebra.getContext().real(
        (*value.value_begin<APFloat>()).convertToDouble());
  APInt number = *value.value_begin<APInt>();
  return algebra.getContext().integer(
      value.getElementType().isInteger(1)
          ? static_cast<int64_t>(number.getZExtValue())
          : number.getSExtValue());
}

static Expr elementOfTrilu(GraphAlgebra &algebra, NodeOp node,
                           ExprRange indices) {
  ExprContext &context = algebra.getContext();
  Expr diagonal =
      node.getInput(1) ? algebra.at(node.getInput(1), {}) : context.integer(0);
  // Upper: column >= row + diagonal. Lower: column <= row + diagonal.
  Expr column = indices.back(), row = indices[indices.size() - 2];
  Expr distance = context.sub(context.sub(column, row), diagonal);
  if (node.getInt("upper", 1) == 0)
    distance = context.scale(distance, -1);
  return context.select(context.nonNegative(distance),
                        algebra.at(node.getInput(0), indices),
                        context.integer(0));
}

static Expr elementOfSplit(GraphAlgebra &algebra, NodeOp node, unsigned result,
                           ExprRange indices) {
  auto range = splitRange(algebra, node, result);
  if (!range)
    return nullptr;
  int64_t axis = fromFront(node.getInt("axis", 0), indices.size());
  SmallVector<Expr> inner(indices);
  inner[axis] = algebra.getContext().add(
      inner[axis], algebra.getContext().affine(range->first));
  return algebra.at(node.getInput(0), inner);
}

Expr sdc::elementOfMove(GraphAlgebra &algebra, NodeOp node, unsigned result,
                        ExprRange indices) {
  if (!node.getDomainName().empty())
    return nullptr;
  // The rules rely on the shapes of what they read.
  for (Value input : node.getInputs())
    if (!isa<NoneType>(input.getType()) && !algebra.getShape(input))
      return nullptr;
  if (node.getOpType() == "Split")
    return elementOfSplit(algebra, node, result, indices);
  if (result != 0)
    return nullptr;
  using Rule = Expr (*)(GraphAlgebra &, NodeOp, ExprRange);
  Rule rule = llvm::StringSwitch<Rule>(node.getOpType())
                  .Case("Transpose", elementOfTranspose)
                  .Case("Unsqueeze", elementOfUnsqueeze)
                  .Case("Squeeze", elementOfSqueeze)
                  .Cases({"Reshape", "Flatten"}, elementOfReshape)
                  .Case("Concat", elementOfConcat)
                  .Case("Gather", elementOfGather)
                  .Case("GatherND", elementOfGatherND)
                  .Case("GatherElements", elementOfGatherElements)
                  .Case("Slice", elementOfSlice)
                  .Case("Expand", elementOfExpand)
                  .Case("Tile", elementOfTile)
                  .Case("Shape", elementOfShape)
                  .Case("Size", elementOfSize)
                  .Case("Range", elementOfRange)
                  .Case("ConstantOfShape", elementOfConstantOfShape)
                  .Case("Trilu", elementOfTrilu)
                  .Default(nullptr);
  return rule ? rule(algebra, node, indices) : nullptr;
}
