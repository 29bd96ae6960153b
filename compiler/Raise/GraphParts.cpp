// Which part of its input an operator takes: axes, Slice, Split.

#include "compiler/Raise/GraphAlgebra.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

using Shape = std::optional<AffineShape>;

static Shape shapeOf(GraphAlgebra &algebra, Value value) {
  const AffineShape *shape = value ? algebra.getShape(value) : nullptr;
  return shape ? Shape(*shape) : std::nullopt;
}

std::optional<SmallVector<int64_t>> sdc::axesOf(GraphAlgebra &algebra,
                                                NodeOp node, unsigned input) {
  if (Value axes = node.getInput(input)) {
    std::optional<AffineShape> contents = algebra.getContents(axes);
    if (!contents)
      return std::nullopt;
    SmallVector<int64_t> result;
    for (Affine axis : *contents) {
      if (!axis.isConstant())
        return std::nullopt;
      result.push_back(axis.base);
    }
    return result;
  }
  return llvm::to_vector(node.getInts("axes"));
}

/// `value` between 0 and `size`, when that is the same for every P.
static std::optional<Affine> clampToSize(Affine value, Affine size) {
  constexpr int64_t kFar = int64_t(1) << 30;
  if (value.base >= kFar)
    return size;
  if (value.base <= -kFar)
    return Affine(0);
  if ((Affine(-1) - value).isNonNegative())
    value = value + size;
  if ((value - size).isNonNegative())
    return size;
  if (value.isNonNegative() && (size - value).isNonNegative())
    return value;
  if ((Affine(0) - value).isNonNegative())
    return Affine(0);
  return std::nullopt;
}

std::optional<SmallVector<SliceRange>> sdc::slicesOf(GraphAlgebra &algebra,
                                                     NodeOp node) {
  Shape input = shapeOf(algebra, node.getInput(0));
  Shape starts, ends, steps;
  if (node.getInputs().size() > 1) {
    starts = algebra.getContents(node.getInput(1));
    ends = algebra.getContents(node.getInput(2));
  } else {
    starts = AffineShape(node.getInts("starts").begin(),
                         node.getInts("starts").end());
    ends =
        AffineShape(node.getInts("ends").begin(), node.getInts("ends").end());
  }
  auto axes = axesOf(algebra, node, 3);
  if (!input || !starts || !ends || !axes || ends->size() != starts->size())
    return std::nullopt;
  if (axes->empty())
    for (size_t i = 0; i < starts->size(); ++i)
      axes->push_back(static_cast<int64_t>(i));
  if (Value given = node.getInput(4))
    steps = algebra.getContents(given);
  else
    steps = AffineShape(starts->size(), Affine(1));
  if (!steps || steps->size() != starts->size() ||
      axes->size() != starts->size())
    return std::nullopt;

  SmallVector<SliceRange> result;
  for (Affine size : *input)
    result.push_back({Affine(0), size, 1});
  auto rank = static_cast<int64_t>(input->size());
  for (auto [axis, start, end, step] :
       llvm::zip(*axes, *starts, *ends, *steps)) {
    int64_t dim = fromFront(axis, rank);
    if (dim < 0 || dim >= rank || !step.isConstant() || step.base == 0)
      return std::nullopt;
    Affine size = (*input)[dim];
    SliceRange &range = result[dim];
    range.step = step.base;
    if (step.base < 0) {
      // Backwards: only over sizes that are numbers.
      if (!size.isConstant() || !start.isConstant() || !end.isConstant())
        return std::nullopt;
      int64_t n = size.base;
      auto place = [&](int64_t at, int64_t lowest) {
        return std::clamp<int64_t>(at < 0 ? at + n : at, lowest, n - 1);
      };
      int64_t first = place(start.base, 0), last = place(end.base, -1);
      int64_t stride = -step.base;
      range.start = Affine(first);
      range.size = Affine(
          n == 0 ? 0
                 : std::max<int64_t>((first - last + stride - 1) / stride, 0));
      continue;
    }
    std::optional<Affine> first = clampToSize(start, size);
    std::optional<Affine> last = clampToSize(end, size);
    if (!first || !last)
      return std::nullopt;
    Affine length = *last - *first;
    if (length.isConstant() && length.base < 0)
      length = Affine(0);
    if (step.base > 1) {
      if (!length.isConstant())
        return std::nullopt;
      length = Affine((length.base + step.base - 1) / step.base);
    }
    range.start = *first;
    range.size = length;
  }
  return result;
}

std::optional<std::pair<Affine, Affine>>
sdc::splitRange(GraphAlgebra &algebra, NodeOp node, unsigned result) {
  Shape input = shapeOf(algebra, node.getInput(0));
  if (!input)
    return std::nullopt;
  Affine size = (*input)[fromFront(node.getInt("axis", 0), input->size())];
  AffineShape sizes;
  if (Value given = node.getInput(1)) {
    std::optional<AffineShape> contents = algebra.getContents(given);
    if (!contents)
      return std::nullopt;
    sizes = *contents;
  } else if (!node.getInts("split").empty()) {
    sizes =
        AffineShape(node.getInts("split").begin(), node.getInts("split").end());
  } else {
    int64_t count = node.getInt("num_outputs", node.getNumResults());
    if (!size.isConstant() || count <= 0)
      return std::nullopt;
    int64_t each = (size.base + count - 1) / count;
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(Affine(std::min(each, size.base - i * each)));
  }
  if (result >= sizes.size())
    return std::nullopt;
  Affine start;
  for (unsigned i = 0; i < result; ++i)
    start = start + sizes[i];
  return std::make_pair(start, sizes[result]);
}
