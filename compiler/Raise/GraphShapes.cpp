// Shapes over the past length, operator by operator. What is not here keeps
// the static shape that import inferred, if it has one.

#include "compiler/Raise/GraphAlgebra.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

using Shape = std::optional<AffineShape>;

static Shape shapeOf(GraphAlgebra &algebra, Value value) {
  const AffineShape *shape = value ? algebra.getShape(value) : nullptr;
  return shape ? Shape(*shape) : std::nullopt;
}

/// The broadcast of two shapes. Sizes that depend on P and differ are taken
/// for equal only when one of them is 1.
static Shape broadcast(const AffineShape &a, const AffineShape &b) {
  AffineShape result(std::max(a.size(), b.size()), Affine(1));
  for (size_t i = 0; i < result.size(); ++i) {
    Affine x = i < a.size() ? a[a.size() - 1 - i] : Affine(1);
    Affine y = i < b.size() ? b[b.size() - 1 - i] : Affine(1);
    if (x != y && x != Affine(1) && y != Affine(1))
      return std::nullopt;
    result[result.size() - 1 - i] = x == Affine(1) ? y : x;
  }
  return result;
}

static Shape broadcastAll(GraphAlgebra &algebra, NodeOp node) {
  Shape result = AffineShape();
  for (Value input : node.getInputs()) {
    Shape shape = shapeOf(algebra, input);
    if (!shape)
      return std::nullopt;
    result = broadcast(*result, *shape);
    if (!result)
      return std::nullopt;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Operators that move elements
//===----------------------------------------------------------------------===//

static Shape shapeOfShape(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  if (!input)
    return std::nullopt;
  auto rank = static_cast<int64_t>(input->size());
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(fromFront(axis, rank), 0, rank);
  };
  int64_t start = clamp(node.getInt("start", 0));
  int64_t end = clamp(node.getInt("end", rank));
  return AffineShape{Affine(std::max<int64_t>(end - start, 0))};
}

static Shape shapeOfReshape(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  Shape wanted =
      node.getInput(1) ? algebra.getContents(node.getInput(1)) : Shape();
  if (!input || !wanted)
    return std::nullopt;
  bool copiesZero = node.getInt("allowzero", 0) == 0;
  std::optional<size_t> open;
  for (auto [i, size] : llvm::enumerate(*wanted)) {
    if (size == Affine(0) && copiesZero) {
      if (i >= input->size())
        return std::nullopt;
      size = (*input)[i];
    } else if (size == Affine(-1)) {
      open = i;
    }
  }
  if (!open)
    return wanted;
  // The one size left: what the input has beyond the others.
  int64_t above = 1, below = 1;
  SmallVector<Affine> varying;
  for (Affine size : *input)
    if (size.isConstant())
      above *= size.base;
    else
      varying.push_back(size);
  for (auto [i, size] : llvm::enumerate(*wanted)) {
    if (i == *open)
      continue;
    if (size.isConstant()) {
      below *= size.base;
      continue;
    }
    auto *same = llvm::find(varying, size);
    if (same == varying.end())
      return std::nullopt;
    varying.erase(same);
  }
  if (varying.size() > 1 || below == 0)
    return std::nullopt;
  Affine size = (varying.empty() ? Affine(1) : varying.front()) * above;
  if (size.base % below != 0 || size.slope % below != 0)
    return std::nullopt;
  (*wanted)[*open] = Affine(size.base / below, size.slope / below);
  return wanted;
}

static Shape shapeOfFlatten(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  if (!input)
    return std::nullopt;
  int64_t axis = fromFront(node.getInt("axis", 1), input->size());
  AffineShape result{Affine(1), Affine(1)};
  for (auto [i, size] : llvm::enumerate(*input)) {
    Affine &side = result[static_cast<int64_t>(i) < axis ? 0 : 1];
    std::optional<Affine> product = Affine::multiply(side, size);
    if (!product)
      return std::nullopt;
    side = *product;
  }
  return result;
}

static Shape shapeOfTranspose(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  if (!input)
    return std::nullopt;
  ArrayRef<int64_t> perm = node.getInts("perm");
  if (perm.empty())
    return AffineShape(input->rbegin(), input->rend());
  AffineShape result;
  for (int64_t axis : perm)
    result.push_back((*input)[axis]);
  return result;
}

static Shape shapeOfUnsqueeze(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  auto axes = axesOf(algebra, node, 1);
  if (!input || !axes)
    return std::nullopt;
  auto rank = static_cast<int64_t>(input->size() + axes->size());
  AffineShape result(rank, Affine(0));
  for (int64_t axis : *axes)
    result[fromFront(axis, rank)] = Affine(1);
  auto *next = input->begin();
  for (Affine &size : result)
    if (size == Affine(0))
      size = *next++;
  return result;
}

static Shape shapeOfSqueeze(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  auto axes = axesOf(algebra, node, 1);
  if (!input || !axes)
    return std::nullopt;
  AffineShape result;
  auto rank = static_cast<int64_t>(input->size());
  for (size_t i = 0; i < input->size(); ++i) {
    Affine size = (*input)[i];
    bool dropped = axes->empty() ? size == Affine(1)
                                 : llvm::any_of(*axes, [&](int64_t axis) {
                                     return fromFront(axis, rank) ==
                                            static_cast<int64_t>(i);
                                   });
    if (!dropped)
      result.push_back(size);
  }
  return result;
}

static Shape shapeOfConcat(GraphAlgebra &algebra, NodeOp node) {
  Shape result;
  for (Value input : node.getInputs()) {
    Shape shape = shapeOf(algebra, input);
    if (!shape)
      return std::nullopt;
    int64_t axis = fromFront(node.getInt("axis", 0), shape->size());
    if (!result)
      result = shape;
    else
      (*result)[axis] = (*result)[axis] + (*shape)[axis];
  }
  return result;
}

static Shape shapeOfExpand(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  Shape wanted = algebra.getContents(node.getInput(1));
  return input && wanted ? broadcast(*input, *wanted) : std::nullopt;
}

static Shape shapeOfTile(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  Shape repeats = algebra.getContents(node.getInput(1));
  if (!input || !repeats || repeats->size() != input->size())
    return std::nullopt;
  for (auto [size, repeat] : llvm::zip(*input, *repeats)) {
    std::optional<Affine> product = Affine::multiply(size, repeat);
    if (!product)
      return std::nullopt;
    size = *product;
  }
  return input;
}

static Shape shapeOfGather(GraphAlgebra &algebra, NodeOp node) {
  Shape data = shapeOf(algebra, node.getInput(0));
  Shape indices = shapeOf(algebra, node.getInput(1));
  if (!data || !indices)
    return std::nullopt;
  int64_t axis = fromFront(node.getInt("axis", 0), data->size());
  AffineShape result(data->begin(), data->begin() + axis);
  llvm::append_range(result, *indices);
  result.append(data->begin() + axis + 1, data->end());
  return result;
}

static Shape shapeOfGatherND(GraphAlgebra &algebra, NodeOp node) {
  Shape data = shapeOf(algebra, node.getInput(0));
  Shape indices = shapeOf(algebra, node.getInput(1));
  if (!data || !indices || indices->empty() || !indices->back().isConstant())
    return std::nullopt;
  size_t used = node.getInt("batch_dims", 0) + indices->back().base;
  if (used > data->size())
    return std::nullopt;
  AffineShape result(indices->begin(), indices->end() - 1);
  result.append(data->begin() + used, data->end());
  return result;
}

static Shape shapeOfRange(GraphAlgebra &algebra, NodeOp node) {
  Shape start = algebra.getContents(node.getInput(0));
  Shape limit = algebra.getContents(node.getInput(1));
  Shape delta = algebra.getContents(node.getInput(2));
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || !delta->front().isConstant() ||
      delta->front().base <= 0)
    return std::nullopt;
  Affine length = limit->front() - start->front();
  int64_t step = delta->front().base;
  if (step == 1)
    return AffineShape{length.isConstant() && length.base < 0 ? Affine(0)
                                                              : length};
  if (!length.isConstant())
    return std::nullopt;
  return AffineShape{
      Affine(std::max<int64_t>((length.base + step - 1) / step, 0))};
}

static Shape shapeOfSlice(GraphAlgebra &algebra, NodeOp node) {
  auto slices = slicesOf(algebra, node);
  if (!slices)
    return std::nullopt;
  AffineShape result;
  for (const SliceRange &slice : *slices)
    result.push_back(slice.size);
  return result;
}

static Shape shapeOfSplit(GraphAlgebra &algebra, NodeOp node, unsigned result) {
  Shape input = shapeOf(algebra, node.getInput(0));
  auto range = splitRange(algebra, node, result);
  if (!input || !range)
    return std::nullopt;
  (*input)[fromFront(node.getInt("axis", 0), input->size())] = range->second;
  return input;
}

//===----------------------------------------------------------------------===//
// Operators that compute
//===----------------------------------------------------------------------===//

static Shape shapeOfMatMul(GraphAlgebra &algebra, NodeOp node) {
  Shape a = shapeOf(algebra, node.getInput(0));
  Shape b = shapeOf(algebra, node.getInput(1));
  if (!a || !b || a->empty() || b->empty())
    return std::nullopt;
  if (a->size() == 1 || b->size() == 1)
    return std::nullopt;
  Affine rows = (*a)[a->size() - 2], columns = b->back();
  Shape result = broadcast(AffineShape(a->begin(), a->end() - 2),
                           AffineShape(b->begin(), b->end() - 2));
  if (result)
    result->append({rows, columns});
  return result;
}

static Shape shapeOfGemm(GraphAlgebra &algebra, NodeOp node) {
  Shape a = shapeOf(algebra, node.getInput(0));
  Shape b = shapeOf(algebra, node.getInput(1));
  if (!a || !b || a->size() != 2 || b->size() != 2)
    return std::nullopt;
  return AffineShape{(*a)[node.getInt("transA", 0) != 0 ? 1 : 0],
                     (*b)[node.getInt("transB", 0) != 0 ? 0 : 1]};
}

static Shape shapeOfReduction(GraphAlgebra &algebra, NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  auto axes = axesOf(algebra, node, 1);
  if (!input || !axes)
    return std::nullopt;
  bool keeps = node.getInt("keepdims", 1) != 0;
  auto rank = static_cast<int64_t>(input->size());
  if (axes->empty()) {
    if (node.getInt("noop_with_empty_axes", 0) != 0)
      return input;
    for (int64_t i = 0; i < rank; ++i)
      axes->push_back(i);
  }
  AffineShape result;
  for (int64_t i = 0; i < rank; ++i) {
    bool reduced = llvm::any_of(
        *axes, [&](int64_t axis) { return fromFront(axis, rank) == i; });
    if (!reduced)
      result.push_back((*input)[i]);
    else if (keeps)
      result.push_back(Affine(1));
  }
  return result;
}

static Shape shapeOfArg(GraphAlgebra &algebra, NodeOp node) {
  Shape result = shapeOf(algebra, node.getInput(0));
  if (!result)
    return std::nullopt;
  int64_t axis = fromFront(node.getInt("axis", 0), result->size());
  if (node.getInt("keepdims", 1) != 0)
    (*result)[axis] = Affine(1);
  else
    result->erase(result->begin() + axis);
  return result;
}

/// ai.onnx Attention: Y, present key, present value.
static Shape shapeOfAttention(GraphAlgebra &algebra, NodeOp node,
                              unsigned result) {
  Shape q = shapeOf(algebra, node.getInput(0));
  Shape k = shapeOf(algebra, node.getInput(1));
  Shape v = shapeOf(algebra, node.getInput(2));
  if (!q || !k || !v || result > 2)
    return std::nullopt;
  bool isPacked = q->size() == 3;
  int64_t heads = node.getInt("q_num_heads", 0);
  int64_t kvHeads = node.getInt("kv_num_heads", 0);
  if (result == 0) {
    Shape y = q;
    if (!isPacked) {
      y->back() = v->back();
      return y;
    }
    if (kvHeads == 0 || !v->back().isConstant())
      return std::nullopt;
    y->back() = Affine(v->back().base / kvHeads * heads);
    return y;
  }
  Shape past = shapeOf(algebra, node.getInput(result + 3));
  Shape fresh = result == 1 ? k : v;
  if (isPacked) {
    if (kvHeads == 0 || !fresh->back().isConstant())
      return std::nullopt;
    fresh = AffineShape{(*fresh)[0], Affine(kvHeads), (*fresh)[1],
                        Affine(fresh->back().base / kvHeads)};
  }
  if (past)
    (*fresh)[2] = (*fresh)[2] + (*past)[2];
  return fresh;
}

/// GroupQueryAttention: output, present key, present value.
static Shape shapeOfGroupQuery(GraphAlgebra &algebra, NodeOp node,
                               unsigned result) {
  Shape q = shapeOf(algebra, node.getInput(0));
  if (!q || q->size() != 3 || result > 2)
    return std::nullopt;
  int64_t heads = node.getInt("num_heads", 0);
  int64_t kvHeads = node.getInt("kv_num_heads", 0);
  if (heads <= 0 || kvHeads <= 0 || !q->back().isConstant())
    return std::nullopt;
  bool isPacked = !node.getInput(1);
  int64_t size = q->back().base / (isPacked ? heads + 2 * kvHeads : heads);
  if (result == 0)
    return AffineShape{(*q)[0], (*q)[1], Affine(heads * size)};
  Shape past = shapeOf(algebra, node.getInput(result + 2));
  Affine total = (*q)[1] + (past ? (*past)[2] : Affine(0));
  return AffineShape{(*q)[0], Affine(kvHeads), total, Affine(size)};
}

std::optional<AffineShape> sdc::shapeOfResult(GraphAlgebra &algebra,
                                              NodeOp node, unsigned result) {
  StringRef op = node.getOpType();
  auto is = [&](std::initializer_list<StringRef> names) {
    return llvm::is_contained(names, op);
  };
  if (op == "GroupQueryAttention")
    return shapeOfGroupQuery(algebra, node, result);
  if (op == "Attention" && node.getDomainName().empty())
    return shapeOfAttention(algebra, node, result);
  if (op == "Split")
    return shapeOfSplit(algebra, node, result);
  if (is({"SkipSimplifiedLayerNormalization", "SkipLayerNormalization"}))
    return result == 0 || result == 3 ? shapeOf(algebra, node.getInput(0))
                                      : std::nullopt;
  if (result != 0)
    return std::nullopt;
  if (is({"Add",       "Sub",
          "Mul",       "Div",
          "Pow",       "Mod",
          "And",       "Or",
          "Xor",       "Equal",
          "Less",      "LessOrEqual",
          "Greater",   "GreaterOrEqual",
          "Where",     "Max",
          "Min",       "Mean",
          "Sum",       "BitwiseAnd",
          "BitwiseOr", "BiasGelu"}))
    return broadcastAll(algebra, node);
  if (is({"Cast",
          "CastLike",
          "Identity",
          "Neg",
          "Not",
          "Cos",
          "Sin",
          "Exp",
          "Log",
          "Sqrt",
          "Reciprocal",
          "Sigmoid",
          "Tanh",
          "Erf",
          "IsNaN",
          "IsInf",
          "Abs",
          "Floor",
          "Ceil",
          "Round",
          "Relu",
          "Gelu",
          "FastGelu",
          "QuickGelu",
          "Swish",
          "Softplus",
          "HardSwish",
          "Clip",
          "Softmax",
          "LogSoftmax",
          "CumSum",
          "Trilu",
          "ScatterND",
          "ScatterElements",
          "Dropout",
          "LayerNormalization",
          "RMSNormalization",
          "SimplifiedLayerNormalization",
          "RotaryEmbedding",
          "TensorScatter"}))
    return shapeOf(algebra, node.getInput(0));
  if (op.starts_with("Reduce"))
    return shapeOfReduction(algebra, node);
  using Rule = Shape (*)(GraphAlgebra &, NodeOp);
  Rule rule = llvm::StringSwitch<Rule>(op)
                  .Case("Shape", shapeOfShape)
                  .Case("Reshape", shapeOfReshape)
                  .Case("Transpose", shapeOfTranspose)
                  .Case("Unsqueeze", shapeOfUnsqueeze)
                  .Case("Squeeze", shapeOfSqueeze)
                  .Case("Concat", shapeOfConcat)
                  .Case("Expand", shapeOfExpand)
                  .Case("Tile", shapeOfTile)
                  .Case("Gather", shapeOfGather)
                  .Case("GatherND", shapeOfGatherND)
                  .Case("Range", shapeOfRange)
                  .Case("Slice", shapeOfSlice)
                  .Cases({"MatMul", "FusedMatMul"}, shapeOfMatMul)
                  .Case("Gemm", shapeOfGemm)
                  .Cases({"ArgMax", "ArgMin"}, shapeOfArg)
                  .Default(nullptr);
  if (rule)
    return rule(algebra, node);
  if (op == "GatherElements")
    return shapeOf(algebra, node.getInput(1));
  if (op == "ConstantOfShape")
    return algebra.getContents(node.getInput(0));
  if (op == "Size")
    return AffineShape();
  if (op == "Flatten")
    return shapeOfFlatten(algebra, node);
  return std::nullopt;
}
