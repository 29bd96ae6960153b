// raise-fold-shapes: gives every value the type that its shape over P allows,
// and makes constants of integers that do not depend on P.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_FOLDSHAPESPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// The tensor type of a shape: a size that depends on P is dynamic.
static RankedTensorType typeOf(const AffineShape &shape, Type element) {
  SmallVector<int64_t> sizes;
  for (Affine size : shape)
    sizes.push_back(size.isConstant() ? size.base : ShapedType::kDynamic);
  return RankedTensorType::get(sizes, element);
}

/// The constant that a small integer tensor always holds; null if it is none.
static ElementsAttr constantOf(GraphAlgebra &algebra, Value value) {
  std::optional<AffineShape> contents = algebra.getContents(value);
  // A shape, axes, bounds: longer ones are positions, and better computed.
  if (!contents || contents->size() > 8 ||
      !llvm::all_of(*contents,
                    [](Affine number) { return number.isConstant(); }))
    return {};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return {};
  unsigned width = type.getElementTypeBitWidth();
  SmallVector<APInt> numbers;
  for (Affine number : *contents)
    numbers.push_back(APInt(width, number.base, /*isSigned=*/true,
                            /*implicitTrunc=*/true));
  return DenseElementsAttr::get(type, numbers);
}

namespace {
struct FoldShapesPass : public sdc::impl::FoldShapesPassBase<FoldShapesPass> {
  using FoldShapesPassBase::FoldShapesPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      GraphAlgebra &algebra = rewriter.algebra;
      for (Operation &op : rewriter.graph.getBody().front()) {
        auto node = dyn_cast<NodeOp>(op);
        if (!node)
          continue;
        for (Value result : node.getResults()) {
          const AffineShape *shape = algebra.getShape(result);
          if (!shape || isa<NoneType>(result.getType()))
            continue;
          result.setType(
              typeOf(*shape, getElementTypeOrSelf(result.getType())));
          ElementsAttr constant = constantOf(algebra, result);
          if (!constant || result.use_empty())
            continue;
          rewriter.builder.setInsertionPointAfter(node);
          Value folded = ConstantOp::create(rewriter.builder, node.getLoc(),
                                            constant, StringAttr());
          algebra.inferShapes(folded.getDefiningOp());
          result.replaceAllUsesWith(folded);
        }
      }
      // The results of the graph may have gained a shape.
      auto ret =
          cast<ReturnOp>(rewriter.graph.getBody().front().getTerminator());
      rewriter.graph.setFunctionType(FunctionType::get(
          rewriter.graph.getContext(), rewriter.graph.getArgumentTypes(),
          llvm::to_vector(ret.getOperandTypes())));
    });
  }
};
} // namespace
