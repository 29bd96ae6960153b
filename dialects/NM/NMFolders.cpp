// Folds and canonical forms of the nm dialect: those that hold for every bit
// of every value. What needs the numbers themselves is left to --nm-evaluate.

#include "dialects/NM/NMDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sdc::nm;

OpFoldResult PruneOp::fold(FoldAdaptor) {
  // A dense pattern keeps every weight; but -0 becomes +0 in the others, so
  // only an equal prune before this one makes it idle.
  if (getPattern().isDense())
    return getWeight();
  auto before = getWeight().getDefiningOp<PruneOp>();
  if (before && before.getPattern() == getPattern())
    return getWeight();
  return {};
}

OpFoldResult PackOp::fold(FoldAdaptor) {
  auto unpack = getWeight().getDefiningOp<UnpackOp>();
  if (!unpack || unpack.getPacked().getType() != getType())
    return {};
  // The mask of a packed weight may keep zeros that its values don't tell of:
  // only that mask, or no mask at all in the dense layout, gives it back.
  if (getType().getPattern().isDense())
    return unpack.getPacked();
  auto mask = getMask() ? getMask().getDefiningOp<MaskOp>() : MaskOp();
  if (mask && mask.getWeight() == unpack.getPacked())
    return unpack.getPacked();
  return {};
}

OpFoldResult UnpackOp::fold(FoldAdaptor) {
  auto pack = getPacked().getDefiningOp<PackOp>();
  if (!pack || pack.getWeight().getType() != getType())
    return {}; // The values were rounded.
  PatternAttr pattern = pack.getType().getPattern();
  if (pattern.isDense())
    return pack.getWeight();
  // A weight of unknown history may hold -0 where nothing is kept, which
  // unpacks as +0; pruning has made it +0 before.
  auto prune = pack.getWeight().getDefiningOp<PruneOp>();
  if (prune && prune.getPattern() == pattern)
    return pack.getWeight();
  return {};
}

namespace {

/// nm.linear x, (nm.unpack p) pattern <n:m>  ->  nm.linear x, p
struct LinearOfUnpack : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp op,
                                PatternRewriter &rewriter) const override {
    auto unpack = op.getWeight().getDefiningOp<UnpackOp>();
    if (!unpack)
      return rewriter.notifyMatchFailure(op, "the weight is not unpacked");
    if (unpack.getPacked().getType().getPattern() != op.getPatternAttr())
      return rewriter.notifyMatchFailure(op, "the packed pattern is another");
    rewriter.modifyOpInPlace(op, [&] {
      op.getWeightMutable().assign(unpack.getPacked());
      op.removePatternAttr();
    });
    return success();
  }
};

} // namespace

void LinearOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<LinearOfUnpack>(context);
}
