// Elements of fused operators whose results are rearranged or rotated inputs:
// rotary embeddings, and the caches that Attention hands out.

#include "compiler/Raise/GraphAlgebra.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace {
/// The operands of a RotaryEmbedding of either domain.
struct Rotary {
  Value x, cos, sin, positions;
  int64_t size = 0, rotated = 0;
  bool interleaved = false;
};
} // namespace

static std::optional<Rotary> rotaryOf(const GraphAlgebra &algebra,
                                      NodeOp node) {
  if (node.getOpType() != "RotaryEmbedding")
    return std::nullopt;
  bool isContrib = node.getDomainName() == "com.microsoft";
  Rotary rotary;
  rotary.x = node.getInput(0);
  rotary.cos = node.getInput(isContrib ? 2 : 1);
  rotary.sin = node.getInput(isContrib ? 3 : 2);
  rotary.positions = node.getInput(isContrib ? 1 : 3);
  rotary.interleaved = node.getInt("interleaved", 0) != 0;
  rotary.rotated = node.getInt("rotary_embedding_dim", 0);
  if (!rotary.x || !rotary.cos || !rotary.sin)
    return std::nullopt;
  const AffineShape *x = algebra.getShape(rotary.x);
  const AffineShape *cos = algebra.getShape(rotary.cos);
  if (!x || !cos || cos->empty() || !cos->back().isConstant() ||
      !x->back().isConstant())
    return std::nullopt;
  int64_t heads = node.getInt("num_heads", 0);
  if (x->size() == 4)
    rotary.size = x->back().base;
  else if (heads > 0)
    rotary.size = x->back().base / heads;
  else
    rotary.size = 2 * cos->back().base;
  if (rotary.rotated == 0)
    rotary.rotated = std::min(rotary.size, 2 * cos->back().base);
  return rotary;
}

std::optional<std::pair<int64_t, int64_t>>
sdc::rotarySizes(const GraphAlgebra &algebra, NodeOp node) {
  auto rotary = rotaryOf(algebra, node);
  if (!rotary)
    return std::nullopt;
  return std::make_pair(rotary->size, rotary->rotated);
}

/// An element of a rotation. Which half of the rotated part it lies in must be
/// known from the bounds of its index.
static Expr elementOfRotary(GraphAlgebra &algebra, const Rotary &rotary,
                            ExprRange indices) {
  ExprContext &context = algebra.getContext();
  bool isFlat = indices.size() == 3;
  Expr b = indices[0], s = indices[isFlat ? 1 : 2];
  Expr d = isFlat ? context.mod(indices[2], rotary.size) : indices[3];
  auto x = [&](Expr place) {
    SmallVector<Expr> inner(indices);
    inner.back() = context.add(inner.back(), context.sub(place, d));
    return algebra.at(rotary.x, inner);
  };
  auto angle = [&](Value table, Expr j) {
    const AffineShape &shape = *algebra.getShape(table);
    if (!rotary.positions)
      return algebra.at(table, shape.size() == 3 ? ExprRange{b, s, j}
                                                 : ExprRange{s, j});
    const AffineShape &positions = *algebra.getShape(rotary.positions);
    // One number is the position of the first row.
    Expr position =
        positions.size() == 2
            ? algebra.at(rotary.positions, {b, s})
            : context.add(algebra.at(rotary.positions, context.integer(0)), s);
    return algebra.at(table, {position, j});
  };

  Expr isRotated = context.less(d, context.integer(rotary.rotated));
  if (isRotated->isConstant(0))
    return x(d);
  if (!isRotated->isConstant())
    return nullptr;
  Expr j, isSecond;
  int64_t half = rotary.rotated / 2;
  if (rotary.interleaved) {
    j = context.floorDiv(d, 2);
    isSecond = context.mod(d, 2);
  } else {
    isSecond = context.lessEqual(context.integer(half), d);
    j = isSecond->isConstant(1) ? context.sub(d, context.integer(half)) : d;
  }
  if (!isSecond->isConstant())
    return nullptr;
  bool second = isSecond->isConstant(1);
  int64_t step = rotary.interleaved ? 1 : half;
  Expr other = context.add(d, context.integer(second ? -step : step));
  Expr straight = context.mul(x(d), angle(rotary.cos, j));
  Expr crossed = context.mul(x(other), angle(rotary.sin, j));
  return second ? context.add(straight, crossed)
                : context.sub(straight, crossed);
}

/// present[b, h, t, d] of ai.onnx Attention: the past, then the new rows.
static Expr elementOfPresent(GraphAlgebra &algebra, NodeOp node,
                             unsigned result, ExprRange indices) {
  ExprContext &context = algebra.getContext();
  Value past = node.getInput(result + 3), fresh = node.getInput(result);
  const AffineShape *pastShape = past ? algebra.getShape(past) : nullptr;
  const AffineShape *freshShape = algebra.getShape(fresh);
  if ((past && !pastShape) || !freshShape || indices.size() != 4)
    return nullptr;
  Affine length = past ? (*pastShape)[2] : Affine(0);
  Expr place = context.sub(indices[2], context.affine(length));
  auto freshAt = [&](Expr row) {
    if (freshShape->size() == 4)
      return algebra.at(fresh, {indices[0], indices[1], row, indices[3]});
    int64_t size = freshShape->back().base / node.getInt("kv_num_heads", 1);
    return algebra.at(
        fresh,
        {indices[0], row,
         context.add(context.scale(indices[1], static_cast<double>(size)),
                     indices[3])});
  };
  Expr isFresh = context.nonNegative(place);
  if (isFresh->isConstant(1))
    return freshAt(place);
  if (isFresh->isConstant(0))
    return algebra.at(past, indices);
  return context.select(isFresh, freshAt(place), algebra.at(past, indices));
}

Expr sdc::elementOfFused(GraphAlgebra &algebra, NodeOp node, unsigned result,
                         ExprRange indices) {
  if (result == 0) {
    auto rotary = rotaryOf(algebra, node);
    return rotary ? elementOfRotary(algebra, *rotary, indices) : nullptr;
  }
  if (node.is("Attention") && (result == 1 || result == 2))
    return elementOfPresent(algebra, node, result, indices);
  return nullptr;
}
