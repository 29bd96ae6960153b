// name-weights: names every weight after what reads it, and drops the others.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace sdc;

namespace sdc {
#define GEN_PASS_DEF_NAMEWEIGHTSPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

namespace {
/// Names the weights that one entry reads, operand by operand in program
/// order. The same weight may have several names.
class Namer {
public:
  using Names = llvm::DenseMap<OpOperand *, std::string>;

  explicit Namer(func::FuncOp entry) : entry(entry) {}

  Names run();

private:
  /// Names what `operand` loads, unless it has a name.
  void name(OpOperand &operand, const Twine &name);
  void nameLinear(decode::LinearOp linear, const Twine &name);
  /// Names the weight and the bias of the norm that `value` is.
  void nameNorm(Value value, const Twine &name);
  /// Names the norm that alone reads what a layer adds.
  void namePostNorm(decode::LinearOp linear, const Twine &name);
  /// The linear whose rows `value` is, through rotation, head norms (named
  /// `norm`) and reshapes.
  decode::LinearOp linearBehind(Value value, const Twine &norm);
  /// The linear that reads `value`, through reshapes.
  decode::LinearOp linearAfter(Value value);
  void nameAttention(decode::AttentionOp attention);
  void nameMlp(ValueRange inputs, Value result);
  void nameRest(Operation &op);

  func::FuncOp entry;
  std::string layer; // "layers.7."
  Names names;
  /// The symbol that has a name.
  llvm::StringMap<StringRef> taken;
  unsigned others = 0;
};
} // namespace

void Namer::name(OpOperand &operand, const Twine &wanted) {
  auto load = operand.get().getDefiningOp<decode::LoadOp>();
  if (!load || names.count(&operand))
    return;
  // Of several weights that want a name, the first gets it as it is.
  std::string base = wanted.str(), text = base;
  for (unsigned count = 1;; ++count) {
    StringRef symbol = taken.try_emplace(text, load.getWeight()).first->second;
    if (symbol == load.getWeight())
      break;
    text = base + "." + std::to_string(count);
  }
  names[&operand] = text;
}

void Namer::nameLinear(decode::LinearOp linear, const Twine &wanted) {
  if (!linear)
    return;
  std::string text = wanted.str();
  name(linear.getWeightMutable(), text);
  for (OpOperand &bias : linear.getBiasMutable())
    name(bias, text + ".bias");
}

void Namer::nameNorm(Value value, const Twine &wanted) {
  Operation *op = value.getDefiningOp();
  if (auto lastRow = dyn_cast_or_null<decode::LastRowOp>(op))
    op = lastRow.getX().getDefiningOp();
  std::string text = wanted.str();
  if (auto norm = dyn_cast_or_null<decode::RmsNormOp>(op))
    name(norm.getWeightMutable(), text);
  if (auto norm = dyn_cast_or_null<decode::LayerNormOp>(op)) {
    name(norm.getWeightMutable(), text);
    for (OpOperand &bias : norm.getBiasMutable())
      name(bias, text + ".bias");
  }
}

void Namer::namePostNorm(decode::LinearOp linear, const Twine &wanted) {
  if (!linear || !linear->hasOneUse())
    return;
  Operation *user = *linear->user_begin();
  if (isa<decode::RmsNormOp, decode::LayerNormOp>(user))
    nameNorm(user->getResult(0), wanted);
}

decode::LinearOp Namer::linearBehind(Value value, const Twine &norm) {
  std::string normName = norm.str();
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<decode::LinearOp>(op))
      return linear;
    if (!isa<decode::RotaryOp, decode::RmsNormOp, decode::LayerNormOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    nameNorm(value, normName);
    value = op->getOperand(0);
  }
  return {};
}

decode::LinearOp Namer::linearAfter(Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto linear = dyn_cast<decode::LinearOp>(user))
      return linear;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      if (decode::LinearOp linear = linearAfter(user->getResult(0)))
        return linear;
  }
  return {};
}

void Namer::nameAttention(decode::AttentionOp attention) {
  auto keys = attention.getKeys().getDefiningOp<decode::AppendOp>();
  auto values = attention.getValues().getDefiningOp<decode::AppendOp>();
  if (!keys || !values)
    return;
  layer = (keys.getState().rsplit('.').first + ".").str();
  decode::LinearOp q = linearBehind(attention.getQ(), layer + "q_norm");
  if (q)
    nameNorm(q.getX(), layer + "attn_norm");
  nameLinear(q, layer + "q");
  nameLinear(linearBehind(keys.getX(), layer + "k_norm"), layer + "k");
  nameLinear(linearBehind(values.getX(), layer + "v_norm"), layer + "v");
  decode::LinearOp o = linearAfter(attention.getResult());
  nameLinear(o, layer + "o");
  namePostNorm(o, layer + "attn_post_norm");
}

void Namer::nameMlp(ValueRange inputs, Value result) {
  decode::LinearOp up = linearBehind(inputs.back(), "");
  if (up)
    nameNorm(up.getX(), layer + "mlp_norm");
  if (inputs.size() > 1)
    nameLinear(linearBehind(inputs.front(), ""), layer + "gate");
  nameLinear(up, layer + "up");
  decode::LinearOp down = linearAfter(result);
  nameLinear(down, layer + "down");
  namePostNorm(down, layer + "mlp_post_norm");
}

/// The name of the ONNX node that an operation comes from.
static StringRef nodeNameOf(Operation &op) {
  auto loc = op.getLoc()->findInstanceOf<NameLoc>();
  return loc ? loc.getName().getValue() : StringRef();
}

void Namer::nameRest(Operation &op) {
  if (auto embed = dyn_cast<decode::EmbedOp>(op)) {
    bool byToken = embed.getTokens().getType().getElementType().isInteger(64);
    name(embed.getTableMutable(), byToken ? "embed" : "embed_positions");
  } else if (auto rotary = dyn_cast<decode::RotaryOp>(op)) {
    name(rotary.getFrequenciesMutable(), "rope.frequencies");
  } else if (auto linear = dyn_cast<decode::LinearOp>(op)) {
    if (names.count(&linear.getWeightMutable()))
      return;
    StringRef node = nodeNameOf(op);
    nameLinear(linear, node.empty() ? "other." + Twine(others++) : Twine(node));
  } else {
    for (OpOperand &operand : op.getOpOperands())
      name(operand, "other");
  }
}

Namer::Names Namer::run() {
  Block &block = entry.getBody().front();
  // What the logits come from is the head.
  Value logits = block.getTerminator()->getOperand(0);
  while (Operation *op = logits.getDefiningOp()) {
    if (auto head = dyn_cast<decode::LinearOp>(op)) {
      nameNorm(head.getX(), "final_norm");
      nameLinear(head, "head");
      break;
    }
    if (op->getNumOperands() == 0)
      break;
    logits = op->getOperand(0);
  }
  for (Operation &op : block) {
    if (auto attention = dyn_cast<decode::AttentionOp>(op))
      nameAttention(attention);
    else if (isa<decode::GateOp, decode::ActivateOp>(op))
      nameMlp(op.getOperands(), op.getResult(0));
  }
  for (Operation &op : block)
    nameRest(op);
  return std::move(names);
}

namespace {
struct NameWeightsPass
    : public sdc::impl::NameWeightsPassBase<NameWeightsPass> {
  using NameWeightsPassBase::NameWeightsPassBase;

  void runOnOperation() override {
    for (auto weight : getOperation().getOps<decode::WeightOp>())
      old[weight.getSymName()] = weight;
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(decode::kEntryAttr) && failed(nameEntry(entry)))
        return signalPassFailure();
    eraseUnused();
    orderStates();
  }

private:
  /// Moves a symbol behind those that have their place.
  void put(Operation *op) {
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(&getOperation().getBody()->front());
    last = op;
  }

  /// The symbol `name`, made of `source`; null if another entry made it of
  /// something else.
  decode::WeightOp makeWeight(StringRef name, decode::WeightOp source) {
    decode::WeightOp &weight = named[name];
    if (!weight) {
      OpBuilder builder(source);
      weight = cast<decode::WeightOp>(builder.clone(*source));
      weight.setSymName(name);
      weight->removeAttr(kIdentityAttr);
      put(weight);
      sources[name] = source;
    }
    return sources[name] == source ? weight : decode::WeightOp();
  }

  /// Gives every name of an entry a load of its own, before its first reader.
  LogicalResult nameEntry(func::FuncOp entry) {
    Namer::Names names = Namer(entry).run();
    llvm::StringMap<Value> loads;
    for (Operation &op : entry.getBody().front()) {
      for (OpOperand &operand : op.getOpOperands()) {
        auto found = names.find(&operand);
        if (found == names.end())
          continue;
        Value &load = loads[found->second];
        if (!load) {
          auto from = operand.get().getDefiningOp<decode::LoadOp>();
          decode::WeightOp source = old.lookup(from.getWeight());
          if (source && !makeWeight(found->second, source))
            return entry.emitError("the entries read different weights as '")
                   << found->second << "'";
          OpBuilder builder(&op);
          load = decode::LoadOp::create(builder, from.getLoc(), from.getType(),
                                        found->second);
        }
        operand.set(load);
      }
    }
    for (auto load : llvm::make_early_inc_range(entry.getOps<decode::LoadOp>()))
      if (load.use_empty())
        load.erase();
    return success();
  }

  /// All that is read has a new symbol by now, unless a graph was not raised.
  void eraseUnused() {
    if (!getOperation().getOps<onnxir::GraphOp>().empty())
      return;
    for (auto &entry : old)
      entry.second.erase();
  }

  /// By layer, keys before values.
  void orderStates() {
    SmallVector<std::tuple<int64_t, StringRef, Operation *>> states;
    for (auto state : getOperation().getOps<decode::StateOp>()) {
      auto [prefix, what] = state.getSymName().rsplit('.');
      int64_t layer = 0;
      (void)prefix.rsplit('.').second.getAsInteger(10, layer);
      states.push_back({layer, what, state});
    }
    llvm::sort(states);
    for (auto &[layer, what, state] : states)
      put(state);
  }

  llvm::StringMap<decode::WeightOp> old, named, sources;
  Operation *last = nullptr;
};
} // namespace
