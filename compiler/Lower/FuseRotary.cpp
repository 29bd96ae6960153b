// The pass fuse-rotary: head norms, rotary embedding and the append to both
// caches become one launch in front of an attention.

#include "compiler/Lower/Grouping.h"
#include "compiler/Passes.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_FUSEROTARYPASS
#include "compiler/Passes.h.inc"

namespace {

/// Takes the op of one of the types that gives `value` to one user alone.
template <typename... Ops>
Operation *takeOnly(Value value, SmallVectorImpl<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<Ops...>(op) || !value.hasOneUse())
    return nullptr;
  ops.push_back(op);
  return op;
}

/// Takes what stands between a projection and the attention or the cache: a
/// rotary embedding, and in front of it a norm over the head size.
decode::RotaryOp takeHead(Value value, SmallVectorImpl<Operation *> &ops) {
  auto rotary = llvm::cast_or_null<decode::RotaryOp>(
      takeOnly<decode::RotaryOp>(value, ops));
  takeOnly<decode::RmsNormOp, decode::LayerNormOp>(
      rotary ? rotary.getX() : value, ops);
  return rotary;
}

/// Whether one launch can rotate by both.
bool sameRotation(decode::RotaryOp a, decode::RotaryOp b) {
  if (!a || !b)
    return !a && !b;
  return a.getPositions() == b.getPositions() &&
         a.getFrequencies() == b.getFrequencies() &&
         a.getInterleaved() == b.getInterleaved() &&
         a.getScale() == b.getScale();
}

void fuseBefore(decode::AttentionOp attention) {
  auto keys = attention.getKeys().getDefiningOp<decode::AppendOp>();
  auto values = attention.getValues().getDefiningOp<decode::AppendOp>();
  if (!keys || !values || keys == values ||
      keys.getPositions() != values.getPositions() ||
      keys.getSlots() != values.getSlots())
    return;

  SmallVector<Operation *> keyOps, queryOps;
  decode::RotaryOp keyRotary = takeHead(keys.getX(), keyOps);
  decode::RotaryOp queryRotary = takeHead(attention.getQ(), queryOps);
  if (keyRotary && keyRotary.getPositions() != keys.getPositions())
    return;
  keyOps.append({keys, values});
  // Queries join where they are turned by the same angles.
  if (!queryOps.empty() && sameRotation(keyRotary, queryRotary) &&
      (queryRotary || !keyRotary))
    keyOps.append(queryOps);

  llvm::sort(keyOps,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (canGroupAtLast(keyOps))
    groupAtLast(keyOps);
}

struct FuseRotaryPass : impl::FuseRotaryPassBase<FuseRotaryPass> {
  void runOnOperation() override {
    SmallVector<decode::AttentionOp> attentions;
    getOperation().walk(
        [&](decode::AttentionOp op) { attentions.push_back(op); });
    for (decode::AttentionOp attention : attentions)
      fuseBefore(attention);
  }
};

} // namespace
} // namespace sdc
