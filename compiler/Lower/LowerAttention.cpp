// Attention over caches: one launch, or splits and the launch that merges them.

#include "compiler/Lower/KernelCalls.h"
#include "dialects/Decode/DecodeDialect.h"
#include "kernels/Select/Select.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace sdc {

/// The state that a cache is, by the append that gave it.
static StringRef stateOf(Value cache) {
  if (auto append = cache.getDefiningOp<decode::AppendOp>())
    return append.getState();
  if (auto group = cache.getDefiningOp<exec::GroupOp>()) {
    Operation *yield = group.getBody().front().getTerminator();
    return stateOf(yield->getOperand(cast<OpResult>(cache).getResultNumber()));
  }
  return "";
}

Lowered lowerAttention(Operation *launch, EntryBuilder &entry) {
  auto attention = dyn_cast<decode::AttentionOp>(launch);
  if (!attention)
    return Lowered::NotMine;
  Location loc = attention.getLoc();

  AttentionSpec spec;
  ArrayRef<int64_t> q = attention.getQ().getType().getShape();
  decode::CacheType keys = attention.getKeys().getType();
  decode::CacheType values = attention.getValues().getType();
  spec.rows = q[0] * q[1];
  spec.heads = q[2];
  spec.size = q[3];
  spec.cacheHeads = keys.getHeads();
  spec.keyType = *formatType(keys.getElementType());
  spec.valueSize = values.getHeadSize();
  spec.valueType = *formatType(values.getElementType());
  spec.scale = attention.getScale().convertToDouble();
  spec.window = static_cast<int64_t>(attention.getWindow().value_or(0));
  if (attention.getSoftcap())
    spec.softcap = attention.getSoftcap()->convertToDouble();
  SplitChoice choice =
      selectCpuSplits(spec.rows, spec.heads, keys.getPositions());
  spec.splits = choice.splits;
  spec.chunk = choice.chunk;
  remark::analysis(loc, remark::RemarkOpts::name("splits").category("lower"))
      << choice.why;

  std::string label = ("attention " + stateOf(attention.getKeys())).str();
  SmallVector<LaunchOperand> operands = {
      entry.in(attention.getQ()),      entry.in(attention.getKeys()),
      entry.in(attention.getValues()), entry.in(attention.getPositions()),
      entry.in(attention.getSlots()),  entry.params(loc)};
  if (spec.splits == 1) {
    operands.push_back(entry.out(attention.getResult()));
    return succeeded(entry.launch(loc, {spec}, operands, label))
               ? Lowered::Done
               : Lowered::Failed;
  }

  int64_t partials =
      4 * spec.rows * spec.heads * spec.splits * (spec.valueSize + 2);
  Value place = entry.buffer(loc, partials);
  operands.push_back({place, exec::Access::Out});
  if (failed(entry.launch(loc, {spec}, operands, label)))
    return Lowered::Failed;
  CombineSpec combine;
  combine.rows = spec.rows;
  combine.heads = spec.heads;
  combine.valueSize = spec.valueSize;
  combine.splits = spec.splits;
  LaunchOperand parts[] = {{place, exec::Access::In},
                           entry.out(attention.getResult())};
  return succeeded(entry.launch(loc, {combine}, parts, label))
             ? Lowered::Done
             : Lowered::Failed;
}

} // namespace sdc
