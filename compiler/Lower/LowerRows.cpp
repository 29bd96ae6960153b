// Launches that compute row by row without a product: embedding, norms, the
// last row, activations, gates, additions.

#include "compiler/Lower/KernelCalls.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sdc {

static ElementType elementOf(Value value) {
  return *formatType(cast<RankedTensorType>(value.getType()).getElementType());
}

/// Columns of a tensor whose last axis they are, and rows: all the others.
static std::pair<int64_t, int64_t> rowsAndColumns(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t columns = type.getRank() ? type.getShape().back() : 1;
  return {columns ? type.getNumElements() / columns : 0, columns};
}

StringRef symbolOf(Value value) {
  auto load = value.getDefiningOp<decode::LoadOp>();
  return load ? load.getWeight() : "";
}

NormSpec normSpec(Operation *norm) {
  NormSpec spec;
  if (auto rms = dyn_cast<decode::RmsNormOp>(norm)) {
    spec.kind = NormSpec::Kind::Rms;
    spec.type = elementOf(rms.getWeight());
    spec.eps = rms.getEps().convertToDouble();
    return spec;
  }
  auto layer = cast<decode::LayerNormOp>(norm);
  spec.kind = NormSpec::Kind::Layer;
  spec.type = elementOf(layer.getWeight());
  spec.eps = layer.getEps().convertToDouble();
  spec.bias = static_cast<bool>(layer.getBias());
  return spec;
}

void appendNormOperands(Operation *norm, EntryBuilder &entry,
                        SmallVectorImpl<LaunchOperand> &operands) {
  for (Value operand : norm->getOperands().drop_front())
    operands.push_back(entry.in(operand));
}

static LogicalResult lowerNorm(Operation *op, EntryBuilder &entry) {
  RowNormSpec spec;
  std::tie(spec.rows, spec.columns) = rowsAndColumns(op->getOperand(0));
  spec.norm = normSpec(op);
  SmallVector<LaunchOperand> operands = {entry.in(op->getOperand(0))};
  appendNormOperands(op, entry, operands);
  operands.push_back(entry.out(op->getResult(0)));
  return entry.launch(op->getLoc(), {spec}, operands,
                      symbolOf(op->getOperand(1)));
}

static LogicalResult lowerEmbed(decode::EmbedOp op, EntryBuilder &entry) {
  EmbedSpec spec;
  spec.rows = op.getTokens().getType().getNumElements();
  spec.vocabulary = op.getTable().getType().getDimSize(0);
  spec.hidden = op.getTable().getType().getDimSize(1);
  spec.type = elementOf(op.getTable());
  spec.scale = op.getScale().convertToDouble();
  return entry.launch(op.getLoc(), {spec},
                      {entry.in(op.getTokens()), entry.in(op.getTable()),
                       entry.out(op.getResult())},
                      symbolOf(op.getTable()));
}

static LogicalResult lowerPackedEmbed(nm::EmbedOp op, EntryBuilder &entry) {
  PackedLayout layout = op.getTable().getType().getLayout();
  EmbedSpec spec;
  spec.rows = op.getTokens().getType().getNumElements();
  spec.vocabulary = layout.rows;
  spec.hidden = layout.columns;
  spec.type = layout.type;
  spec.tile = layout.tile;
  spec.scale = op.getScale().convertToDouble();
  return entry.launch(op.getLoc(), {spec},
                      {entry.in(op.getTokens()), entry.in(op.getTable()),
                       entry.out(op.getResult())},
                      "embed");
}

static LogicalResult lowerLastRow(decode::LastRowOp op, EntryBuilder &entry) {
  LastRowSpec spec;
  std::tie(spec.rows, spec.columns) = rowsAndColumns(op.getX());
  return entry.launch(op.getLoc(), {spec},
                      {entry.in(op.getX()), entry.in(op.getPositions()),
                       entry.out(op.getResult())},
                      "last row");
}

static LogicalResult lowerElementwise(Operation *op, ElementwiseSpec::Kind kind,
                                      Activation act, StringRef label,
                                      EntryBuilder &entry) {
  ElementwiseSpec spec;
  spec.kind = kind;
  spec.act = act;
  std::tie(spec.rows, spec.columns) = rowsAndColumns(op->getResult(0));
  SmallVector<LaunchOperand> operands;
  for (Value operand : op->getOperands())
    operands.push_back(entry.in(operand));
  operands.push_back(entry.out(op->getResult(0)));
  return entry.launch(op->getLoc(), {spec}, operands, label);
}

Lowered lowerRows(Operation *launch, EntryBuilder &entry) {
  using Kind = ElementwiseSpec::Kind;
  auto activation = [](decode::Activation kind) {
    return static_cast<Activation>(static_cast<int>(kind) + 1);
  };
  auto result = [](LogicalResult ok) {
    return succeeded(ok) ? Lowered::Done : Lowered::Failed;
  };
  return llvm::TypeSwitch<Operation *, Lowered>(launch)
      .Case<decode::EmbedOp>(
          [&](auto op) { return result(lowerEmbed(op, entry)); })
      .Case<nm::EmbedOp>(
          [&](auto op) { return result(lowerPackedEmbed(op, entry)); })
      .Case<decode::RmsNormOp, decode::LayerNormOp>(
          [&](auto op) { return result(lowerNorm(op, entry)); })
      .Case<decode::LastRowOp>(
          [&](auto op) { return result(lowerLastRow(op, entry)); })
      .Case<decode::ActivateOp>([&](auto op) {
        return result(lowerElementwise(
            op, Kind::Activate, activation(op.getKind()), "activate", entry));
      })
      .Case<decode::GateOp>([&](auto op) {
        return result(lowerElementwise(op, Kind::Gate, activation(op.getKind()),
                                       "gate", entry));
      })
      .Case<arith::AddFOp>([&](auto op) {
        auto type = dyn_cast<RankedTensorType>(op.getType());
        if (!type || !type.getElementType().isF32())
          return Lowered::NotMine;
        return result(
            lowerElementwise(op, Kind::Add, Activation::None, "add", entry));
      })
      .Default([](Operation *) { return Lowered::NotMine; });
}

} // namespace sdc
