// raise-entries: a graph of which nothing generic is left becomes a func.func
// with in-place state, an entry of the executable.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEENTRIESPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// Whether all that is left of the graph are raised operations that give the
/// logits from tokens, positions and slots.
static bool isRaised(GraphOp graph) {
  if (graph.getNumResults() != 1 || graph.getResultRole(0) != "logits")
    return false;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    StringRef role = graph.getArgRole(argument.getArgNumber());
    if (!argument.use_empty() && role != "input_ids" &&
        role != RaiseRewriter::kPositionsRole &&
        role != RaiseRewriter::kSlotsRole)
      return false;
  }
  return llvm::none_of(graph.getBody().front(), [](Operation &op) {
    return isa<NodeOp, ConstantOp, WeightRefOp, NoneOp>(op);
  });
}

/// The logits of the last row alone: the head reads that row only.
static Value lastRowOf(OpBuilder &builder, Value logits, Value positions) {
  auto select = [&](Value x) {
    int64_t size = cast<RankedTensorType>(x.getType()).getDimSize(2);
    return decode::LastRowOp::create(
        builder, logits.getLoc(),
        RankedTensorType::get({1, 1, size}, builder.getF32Type()), x,
        positions);
  };
  auto head = logits.getDefiningOp<decode::LinearOp>();
  if (!head)
    return select(logits);
  Value row = select(head.getX());
  return decode::LinearOp::create(
      builder, head.getLoc(),
      RankedTensorType::get({1, 1, head.getType().getDimSize(2)},
                            builder.getF32Type()),
      row, head.getWeight(), head.getBias());
}

static void raiseEntry(GraphOp graph, bool allLogits) {
  OpBuilder builder(graph);
  Block &body = graph.getBody().front();
  Value ids, positions, slots;
  for (BlockArgument argument : body.getArguments()) {
    StringRef role = graph.getArgRole(argument.getArgNumber());
    if (role == "input_ids")
      ids = argument;
    else if (role == RaiseRewriter::kPositionsRole)
      positions = argument;
    else if (role == RaiseRewriter::kSlotsRole)
      slots = argument;
  }
  auto ret = cast<ReturnOp>(body.getTerminator());
  builder.setInsertionPoint(ret);
  Value logits = ret.getOperand(0);
  int64_t rows = cast<RankedTensorType>(ids.getType()).getDimSize(1);
  if (rows > 1 && !allLogits)
    logits = lastRowOf(builder, logits, positions);
  func::ReturnOp::create(builder, ret.getLoc(), logits);
  ret.erase();

  builder.setInsertionPoint(graph);
  auto type = builder.getFunctionType(
      {ids.getType(), positions.getType(), slots.getType()}, logits.getType());
  auto entry =
      func::FuncOp::create(builder, graph.getLoc(), graph.getSymName(), type);
  entry->setAttr(decode::kEntryAttr, graph.getSymNameAttr());
  Block *block = entry.addEntryBlock();
  Value arguments[] = {ids, positions, slots};
  for (auto [from, to] : llvm::zip(arguments, block->getArguments()))
    from.replaceAllUsesWith(to);
  block->getOperations().splice(block->end(), body.getOperations());
  graph.erase();
}

namespace {
struct RaiseEntriesPass
    : public sdc::impl::RaiseEntriesPassBase<RaiseEntriesPass> {
  using RaiseEntriesPassBase::RaiseEntriesPassBase;

  void runOnOperation() override {
    for (auto graph :
         llvm::make_early_inc_range(getOperation().getOps<GraphOp>()))
      if (isRaised(graph))
        raiseEntry(graph, allLogits);
  }
};
} // namespace
