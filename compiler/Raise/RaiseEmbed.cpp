// raise-embed: rows of a table chosen by token ids become decode.embed.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEEMBEDPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// Raises a Gather whose element (b, s, c) is table[ids[b, s], c], or that of
/// a table stored with its columns first.
static void raiseEmbed(RaiseRewriter &rewriter, NodeOp node) {
  GraphAlgebra &algebra = rewriter.algebra;
  Value result = node.getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || type.getRank() != 3 || !type.hasStaticShape() ||
      type.getDimSize(0) != rewriter.batch ||
      type.getDimSize(1) != rewriter.rows)
    return;
  SmallVector<Expr> indices = algebra.variablesOf(result);
  Expr element = algebra.at(result, indices);
  Value table = rewriter.getConstantRoot(element);
  if (!table || element->getOperands().size() != 2)
    return;
  Value ids = rewriter.getArgument("input_ids");
  Expr token = algebra.at(ids, {indices[0], indices[1]});
  bool isTransposed = element->getOperand(1) == token;
  if (element->getOperand(isTransposed ? 1 : 0) != token ||
      element->getOperand(isTransposed ? 0 : 1) != indices[2])
    return;
  auto stored = cast<RankedTensorType>(table.getType());
  rewriter.builder.setInsertionPointAfter(node);
  Value weight = rewriter.weights.load(
      rewriter.builder, node.getLoc(), table,
      {stored.getDimSize(isTransposed ? 1 : 0), type.getDimSize(2)}, 0,
      isTransposed);
  rewriter.replace(result,
                   rewriter.create<decode::EmbedOp>(
                       node.getLoc(), rewriter.tensorOf(type.getShape()), ids,
                       weight, rewriter.builder.getF64FloatAttr(1.0)));
}

namespace {
struct RaiseEmbedPass : public sdc::impl::RaiseEmbedPassBase<RaiseEmbedPass> {
  using RaiseEmbedPassBase::RaiseEmbedPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      for (auto node : llvm::make_early_inc_range(
               rewriter.graph.getBody().getOps<NodeOp>()))
        if (node.is("Gather"))
          raiseEmbed(rewriter, node);
    });
  }
};
} // namespace
