// raise-embed: rows of a table chosen by token ids, or by positions, become
// decode.embed.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEEMBEDPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

namespace {
/// A table whose element (index, c) is that of a node's result, stored with
/// rows or with columns first.
struct Table {
  Value root;
  /// What chooses the row.
  Expr index = nullptr;
  bool transposed = false;
};
} // namespace

static std::optional<Table> matchTable(RaiseRewriter &rewriter, Expr element,
                                       Expr column) {
  Value root = rewriter.getConstantRoot(element);
  if (!root || element->getOperands().size() != 2)
    return std::nullopt;
  for (bool transposed : {false, true})
    if (element->getOperand(transposed ? 0 : 1) == column)
      return Table{root, element->getOperand(transposed ? 1 : 0), transposed};
  return std::nullopt;
}

/// Raises a Gather whose element (b, s, c) is table[ids[b, s], c], or
/// table[position of the row + first, c].
static LogicalResult raiseEmbed(RaiseRewriter &rewriter, NodeOp node,
                                int64_t positions) {
  GraphAlgebra &algebra = rewriter.algebra;
  ExprContext &context = rewriter.context;
  Value result = node.getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || type.getRank() != 3 || !type.hasStaticShape() ||
      type.getDimSize(0) != rewriter.batch ||
      type.getDimSize(1) != rewriter.rows)
    return success();
  SmallVector<Expr> indices = algebra.variablesOf(result);
  std::optional<Table> table =
      matchTable(rewriter, algebra.at(result, indices), indices[2]);
  if (!table)
    return success();
  auto stored = cast<RankedTensorType>(table->root.getType());
  int64_t rows = stored.getDimSize(table->transposed ? 1 : 0), first = 0;
  Value chosen = rewriter.getArgument("input_ids");
  if (table->index != algebra.at(chosen, {indices[0], indices[1]})) {
    std::optional<int64_t> offset = context.asInteger(
        context.sub(table->index, context.add(context.past(), indices[1])));
    if (!offset || *offset < 0)
      return success();
    if (rows - *offset < positions) {
      InFlightDiagnostic diagnostic = node.emitError("the table of positions ");
      diagnostic << "has " << rows - *offset << " rows, expected the "
                 << positions << " of the context";
      diagnostic.attachNote() << "--context " << rows - *offset;
      return diagnostic;
    }
    // No row behind the context is ever read.
    first = *offset;
    rows = positions;
    chosen = rewriter.getPositions();
  }
  rewriter.builder.setInsertionPointAfter(node);
  Value weight = rewriter.weights.load(rewriter.builder, node.getLoc(),
                                       table->root, {rows, type.getDimSize(2)},
                                       first, table->transposed);
  rewriter.replace(result,
                   rewriter.create<decode::EmbedOp>(
                       node.getLoc(), rewriter.tensorOf(type.getShape()),
                       chosen, weight, rewriter.builder.getF64FloatAttr(1.0)));
  return success();
}

namespace {
struct RaiseEmbedPass : public sdc::impl::RaiseEmbedPassBase<RaiseEmbedPass> {
  using RaiseEmbedPassBase::RaiseEmbedPassBase;

  void runOnOperation() override {
    // What is wrong with one entry is wrong with the other, and is said once.
    bool isSound = true;
    forEachEntry(getOperation(), [&](RaiseRewriter &rewriter) {
      if (!isSound)
        return;
      for (auto node : llvm::make_early_inc_range(
               rewriter.graph.getBody().getOps<NodeOp>()))
        if (node.is("Gather"))
          isSound &= succeeded(raiseEmbed(rewriter, node, context));
    });
    if (!isSound)
      signalPassFailure();
  }
};
} // namespace
