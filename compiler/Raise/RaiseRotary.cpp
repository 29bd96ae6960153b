// raise-rotary: rotated heads become decode.rotary. A value is taken for one
// when its elements are those of a rotation; which nodes compute them does not
// matter.

#include "compiler/Passes.h"
#include "compiler/Raise/Rotation.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEROTARYPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

namespace {
/// How a value holds heads: element (b, s, h, d) is at `indices`.
struct Layout {
  int64_t heads, size;
  bool headsFirst = false;
  bool isFlat = false;

  SmallVector<Expr> indices(ExprContext &context, Expr b, Expr s, Expr h,
                            Expr d) const {
    if (isFlat)
      return {b, s,
              context.add(context.scale(h, static_cast<double>(size)), d)};
    if (headsFirst)
      return {b, h, s, d};
    return {b, s, h, d};
  }
};

/// One of the two terms of an element: coefficient x load x angle.
struct Term {
  double coefficient = 0;
  Expr load = nullptr, angle = nullptr;
};
} // namespace

/// The terms of a sum of two products with an activation.
static bool splitTerms(RaiseRewriter &rewriter, Expr element,
                       Term (&terms)[2]) {
  if (element->getKind() != ExprKind::Sum || element->getNumber() != 0 ||
      element->getOperands().size() != 2)
    return false;
  for (auto [term, operand, coefficient] :
       llvm::zip(terms, element->getOperands(), element->getCoefficients())) {
    term = {coefficient, nullptr, rewriter.context.integer(1)};
    for (Expr factor : ExprContext::factors(operand)) {
      bool isActivation = factor->getKind() == ExprKind::Load &&
                          !rewriter.getConstantRoot(factor);
      if (isActivation && term.load)
        return false;
      if (isActivation)
        term.load = factor;
      else
        term.angle = rewriter.context.mul(term.angle, factor);
    }
    if (!term.load)
      return false;
  }
  return true;
}

namespace {
/// Heads as elements of a root: all that is read of them is read here.
struct HeadLoads {
  Value root;
  SmallVector<Expr> indices;
  /// The last index for element 0 of a head.
  Expr start = nullptr;

  Expr at(RaiseRewriter &rewriter, Expr d) const {
    SmallVector<Expr> place(indices);
    place.back() = rewriter.context.add(start, d);
    return rewriter.algebra.loadOf(root, place);
  }
};
} // namespace

/// The heads of which `load` is element (b, s, h, d): a value of four
/// dimensions, or columns of one of three.
static std::optional<HeadLoads> headsOf(RaiseRewriter &rewriter, Expr load,
                                        Expr d) {
  if (load->getOperands().size() != 3 && load->getOperands().size() != 4)
    return std::nullopt;
  HeadLoads heads;
  heads.root = rewriter.algebra.getRoot(load);
  heads.indices.assign(load->getOperands().begin(), load->getOperands().end());
  heads.start = rewriter.context.sub(heads.indices.back(), d);
  return heads;
}

/// Raises `value` if `rotated` elements of each of its heads are rotated.
static bool raiseRotary(RaiseRewriter &rewriter, ConstantReader &reader,
                        Value value, const Layout &layout, int64_t rotated,
                        bool interleaved) {
  ExprContext &context = rewriter.context;
  GraphAlgebra &algebra = rewriter.algebra;
  int64_t half = rotated / 2;
  Expr b = context.variable(rewriter.batch),
       s = context.variable(rewriter.rows), h = context.variable(layout.heads),
       j = context.variable(half);
  Expr low = interleaved ? context.scale(j, 2) : j;
  Expr high = context.add(low, context.integer(interleaved ? 1 : half));
  auto at = [&](Value v, Expr d) {
    return algebra.at(v, layout.indices(context, b, s, h, d));
  };

  // x1 c - x2 s
  Term terms[2];
  Expr lowElement = at(value, low);
  if (!splitTerms(rewriter, lowElement, terms))
    return false;
  if (terms[0].coefficient < 0)
    std::swap(terms[0], terms[1]);
  auto [x1c, x2s] = std::tie(terms[0], terms[1]);
  if (x1c.coefficient <= 0 || x2s.coefficient != -x1c.coefficient)
    return false;
  // x2 c + x1 s
  Expr expected = context.scale(context.add(context.mul(x2s.load, x1c.angle),
                                            context.mul(x1c.load, x2s.angle)),
                                x1c.coefficient);
  if (at(value, high) != expected)
    return false;

  // The two loads are elements of the same heads, and so is what is left.
  std::optional<HeadLoads> loads = headsOf(rewriter, x1c.load, low);
  if (!loads || loads->at(rewriter, low) != x1c.load ||
      loads->at(rewriter, high) != x2s.load)
    return false;
  if (rotated < layout.size) {
    Expr rest = context.add(context.variable(layout.size - rotated),
                            context.integer(rotated));
    if (at(value, rest) != loads->at(rewriter, rest))
      return false;
  }
  Expr d = context.variable(layout.size);
  Value x = rewriter.asHeads(loads->at(rewriter, d), b, s, h, d, layout.heads,
                             layout.size);
  if (!x)
    return false;

  Expr position = context.add(context.past(), s);
  std::optional<Rotation> rotation =
      findRotation(rewriter, reader, x1c.angle, x2s.angle, position, j, half);
  if (!rotation)
    return false;
  rotation->scale *= x1c.coefficient;
  Value y = createRotary(rewriter, value.getLoc(), x, *rotation, interleaved);
  if (layout.headsFirst)
    y = rewriter.headsFirst(y);
  if (layout.isFlat)
    y = rewriter.reshape(y, cast<RankedTensorType>(value.getType()).getShape());
  rewriter.replace(value, y);
  return true;
}

/// The ways in which a value may hold heads.
static SmallVector<Layout> layoutsOf(RaiseRewriter &rewriter, NodeOp node) {
  SmallVector<Layout> layouts;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(node.getResult(0).getType()).getShape();
  if (shape[0] != rewriter.batch)
    return layouts;
  if (shape.size() == 4) {
    if (shape[2] == rewriter.rows)
      layouts.push_back({shape[1], shape[3], /*headsFirst=*/true, false});
    if (shape[1] == rewriter.rows)
      layouts.push_back({shape[2], shape[3], /*headsFirst=*/false, false});
  }
  int64_t heads = node.getInt("num_heads", 0);
  if (shape.size() == 3 && shape[1] == rewriter.rows) {
    if (auto sizes = rotarySizes(rewriter.algebra, node))
      layouts.push_back(
          {shape[2] / sizes->first, sizes->first, false, /*isFlat=*/true});
    else if (heads > 0 && shape[2] % heads == 0)
      layouts.push_back({heads, shape[2] / heads, false, /*isFlat=*/true});
  }
  return layouts;
}

/// The numbers of elements that may be rotated: all, or twice as many as there
/// are numbers in a constant that the elements depend on.
static SmallVector<int64_t> rotatedSizes(RaiseRewriter &rewriter, NodeOp node,
                                         int64_t size) {
  if (auto known = rotarySizes(rewriter.algebra, node))
    return {known->second};
  SmallVector<int64_t> sizes;
  if (size % 2 == 0)
    sizes.push_back(size);
  auto consider = [&](Value root) {
    int64_t last = cast<RankedTensorType>(root.getType()).getShape().back();
    for (int64_t candidate : {2 * last, last})
      if (candidate % 2 == 0 && candidate < size && candidate > 0 &&
          !llvm::is_contained(sizes, candidate))
        sizes.push_back(candidate);
  };
  ExprContext &context = rewriter.context;
  SmallVector<Expr> indices(4, context.integer(0));
  indices.resize(cast<RankedTensorType>(node.getResult(0).getType()).getRank());
  indices.back() = context.variable(2);
  SmallVector<Expr> stack{rewriter.algebra.at(node.getResult(0), indices)};
  SmallPtrSet<Expr, 16> seen;
  while (!stack.empty()) {
    Expr next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Value root = rewriter.getConstantRoot(next);
    if (root && cast<RankedTensorType>(root.getType()).getRank() > 0)
      consider(root);
    llvm::append_range(stack, next->getOperands());
  }
  return sizes;
}

static void raiseRotary(RaiseRewriter &rewriter, ConstantReader &reader,
                        NodeOp node) {
  auto type = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32() ||
      (type.getRank() != 3 && type.getRank() != 4))
    return;
  rewriter.builder.setInsertionPointAfter(node);
  for (const Layout &layout : layoutsOf(rewriter, node))
    for (int64_t rotated : rotatedSizes(rewriter, node, layout.size))
      for (bool interleaved : {false, true})
        if (raiseRotary(rewriter, reader, node.getResult(0), layout, rotated,
                        interleaved))
          return;
}

namespace {
struct RaiseRotaryPass
    : public sdc::impl::RaiseRotaryPassBase<RaiseRotaryPass> {
  using RaiseRotaryPassBase::RaiseRotaryPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [&](RaiseRewriter &rewriter) {
      ConstantReader reader(getOperation(), rewriter.weights, folder);
      // From the end: what puts rotated and other elements together comes
      // before what rotates them.
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      static constexpr StringRef kKinds[] = {"Add", "Sub", "Concat", "Reshape",
                                             "RotaryEmbedding"};
      for (NodeOp node : llvm::reverse(nodes))
        if (llvm::is_contained(kKinds, node.getOpType()) && !node.use_empty())
          raiseRotary(rewriter, reader, node);
    });
  }
};
} // namespace
