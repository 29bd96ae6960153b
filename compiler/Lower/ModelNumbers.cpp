// Layers by the names of weights, sizes by the types of entries and states.

#include "compiler/Lower/ModelNumbers.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/Exec/ExecDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sdc {

/// One more than the layer that a name like `layers.7.q` says; 0 for others.
static int64_t layersUpTo(StringRef name) {
  int64_t layer = 0;
  if (!name.consume_front("layers.") || name.consumeInteger(10, layer) ||
      !name.starts_with("."))
    return 0;
  return layer + 1;
}

void writeModelNumbers(ModuleOp module) {
  int64_t layers = 0, hidden = 0, vocabulary = 0, batch = 0, context = 0,
          chunk = 0;
  for (Operation &op : *module.getBody())
    if (isa<decode::WeightOp, nm::WeightOp>(op))
      layers =
          std::max(layers, layersUpTo(cast<SymbolOpInterface>(op).getName()));
  for (auto state : module.getOps<decode::StateOp>())
    context = std::max(context, state.getCacheType().getPositions());

  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(decode::kEntryAttr);
    if (!kind || function.getNumArguments() == 0)
      continue;
    auto tokens = dyn_cast<RankedTensorType>(function.getArgument(0).getType());
    if (!tokens || tokens.getRank() != 2)
      continue;
    if (kind.getValue() == "decode")
      batch = tokens.getDimSize(0);
    if (kind.getValue() == "prefill")
      chunk = tokens.getDimSize(1);
    for (Type type : function.getResultTypes())
      if (auto logits = dyn_cast<RankedTensorType>(type);
          logits && logits.getRank() == 3)
        vocabulary = logits.getShape().back();
  }
  module.walk([&](Operation *op) {
    if (isa<decode::EmbedOp, nm::EmbedOp>(op))
      hidden =
          cast<RankedTensorType>(op->getResult(0).getType()).getShape().back();
  });
  bool recording =
      module.walk([](decode::RecordOp) { return WalkResult::interrupt(); })
          .wasInterrupted();

  auto modelContext =
      module->getAttrOfType<IntegerAttr>(decode::kModelContextAttr);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  exec::ModelOp::create(
      builder, module.getLoc(), module.getSymName().value_or("model"), layers,
      hidden, vocabulary, batch, context,
      modelContext ? modelContext.getInt() : 0, chunk, recording);
}

} // namespace sdc
