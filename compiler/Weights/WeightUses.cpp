// Finding the users of weights, and forking what is shared.

#include "compiler/Weights/WeightUses.h"

#include "compiler/Weights/LinearNames.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sdc;

/// Whether `use` is the weight of a linear.
static bool isLinearUse(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<decode::LinearOp, nm::LinearOp>(op) && use.getOperandNumber() == 1;
}

/// Gives the uses of `weight` that are no linears a symbol of their own.
static void fork(decode::WeightOp weight, ArrayRef<decode::LoadOp> loads,
                 SymbolTable &symbols) {
  decode::WeightOp copy;
  for (decode::LoadOp load : loads) {
    SmallVector<OpOperand *> others;
    for (OpOperand &use : load.getResult().getUses())
      if (!isLinearUse(use))
        others.push_back(&use);
    if (others.empty())
      continue;
    OpBuilder builder(load);
    if (!copy) {
      builder.setInsertionPoint(weight);
      copy = cast<decode::WeightOp>(builder.clone(*weight));
      bool table = isa<decode::EmbedOp>(others.front()->getOwner());
      copy.setSymName(table ? "embed" : (weight.getSymName() + ".plain").str());
      symbols.insert(copy, Block::iterator(weight)); // Renames on collision.
      builder.setInsertionPoint(load);
    }
    auto plain = cast<decode::LoadOp>(builder.clone(*load));
    plain.setWeight(copy.getSymName());
    for (OpOperand *use : others)
      use->set(plain);
  }
}

llvm::MapVector<StringAttr, WeightUses>
sdc::collectWeightUses(ModuleOp module) {
  // Loads of each symbol, and whether it is shared.
  llvm::MapVector<StringAttr, SmallVector<decode::LoadOp>> loads;
  llvm::SmallDenseSet<StringAttr> linear, other;
  module.walk([&](decode::LoadOp load) {
    StringAttr name = load.getWeightAttr().getAttr();
    loads[name].push_back(load);
    for (OpOperand &use : load.getResult().getUses())
      (isLinearUse(use) ? linear : other).insert(name);
  });
  SymbolTable symbols(module);
  for (auto weight :
       llvm::make_early_inc_range(module.getOps<decode::WeightOp>()))
    if (StringAttr name = weight.getSymNameAttr();
        linear.contains(name) && other.contains(name))
      fork(weight, loads[name], symbols);

  llvm::MapVector<StringAttr, WeightUses> uses;
  for (auto weight : module.getOps<decode::WeightOp>())
    uses[weight.getSymNameAttr()].weight = weight;
  module.walk([&](Operation *op) {
    auto load = dyn_cast<decode::LoadOp>(op);
    bool linear = isa<decode::LinearOp, nm::LinearOp>(op);
    if (linear)
      load = loadOf(op->getOperand(1));
    auto it = load ? uses.find(load.getWeightAttr().getAttr()) : uses.end();
    if (it == uses.end())
      return;
    if (linear)
      it->second.linears.push_back(op);
    else
      it->second.loads.push_back(load);
  });
  return uses;
}

std::optional<ElementType> sdc::storedTypeFor(StringRef dtype,
                                              RankedTensorType type) {
  Type element = type.getElementType();
  std::optional<ElementType> own = nm::toElementType(element);
  if (!own && element.isF64())
    own = ElementType::F32;
  std::optional<ElementType> asked = parseElementType(dtype.str());
  if (!own || (!asked && dtype != "auto"))
    return std::nullopt;
  if (type.getRank() < 2)
    return ElementType::F32;
  if (asked)
    return asked;
  return *own == ElementType::F32 ? ElementType::BF16 : *own;
}
