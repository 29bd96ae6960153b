// Rotary embedding, head norms and appends: alone, or the group that
// fuse-rotary makes, as a RotarySpec.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/KernelCalls.h"
#include "dialects/Decode/DecodeDialect.h"

using namespace mlir;

namespace sdc {

namespace {

/// What one of q, k and v goes through, from the projection on.
struct Branch {
  Value x;
  Operation *norm = nullptr;
  decode::RotaryOp rotary;
  decode::AppendOp append;
  /// What the launch gives: the turned queries, or the cache.
  Value result;

  explicit operator bool() const { return static_cast<bool>(x); }
  ArrayRef<int64_t> shape() const {
    return cast<RankedTensorType>(x.getType()).getShape();
  }
};

/// The branches of a launch; k and v are told apart by the rotation.
struct Branches {
  Branch q, k, v;
};

} // namespace

/// Follows `value` upwards through the ops of the launch.
static Branch branchOf(Value value, ArrayRef<Operation *> ops) {
  auto own = [&](Value v) {
    Operation *op = v.getDefiningOp();
    return llvm::is_contained(ops, op) ? op : nullptr;
  };
  Branch branch;
  branch.result = value;
  if (auto append = dyn_cast_or_null<decode::AppendOp>(own(value))) {
    branch.append = append;
    value = append.getX();
  }
  if (auto rotary = dyn_cast_or_null<decode::RotaryOp>(own(value))) {
    branch.rotary = rotary;
    value = rotary.getX();
  }
  if (Operation *norm = own(value);
      isa_and_nonnull<decode::RmsNormOp, decode::LayerNormOp>(norm)) {
    branch.norm = norm;
    value = norm->getOperand(0);
  }
  branch.x = value;
  return branch;
}

static FailureOr<Branches> matchBranches(Operation *launch) {
  SmallVector<Operation *> ops = launchOps(launch);
  Branches branches;
  size_t taken = 0;
  for (Operation *op : ops) {
    // The last op of each branch has users outside.
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return llvm::is_contained(ops, user);
        }))
      continue;
    if (!isa<decode::RotaryOp, decode::AppendOp, decode::RmsNormOp,
             decode::LayerNormOp>(op))
      return failure();
    Branch branch = branchOf(op->getResult(0), ops);
    taken += bool(branch.norm) + bool(branch.rotary) + bool(branch.append);
    Branch &place =
        !branch.append ? branches.q
        : branch.rotary || branch.norm || ops.size() == 1 || branches.v
            ? branches.k
            : branches.v;
    if (place)
      return failure();
    place = branch;
  }
  // Without rotation keys and values are alike: in order of the ops.
  if (branches.v && branches.k && !branches.k.rotary && !branches.k.norm)
    std::swap(branches.k, branches.v);
  // A lone norm is not ours.
  bool some = branches.k || branches.v || branches.q.rotary;
  if (!some || taken != ops.size())
    return failure();
  return branches;
}

Lowered lowerRotary(Operation *launch, EntryBuilder &entry) {
  FailureOr<Branches> matched = matchBranches(launch);
  if (failed(matched))
    return Lowered::NotMine;
  Branch &q = matched->q, &k = matched->k, &v = matched->v;
  Location loc = launch->getLoc();

  RotarySpec spec;
  decode::RotaryOp rotary = q.rotary ? q.rotary : k.rotary;
  decode::AppendOp append = k.append ? k.append : v.append;
  spec.rows = (q ? q : k ? k : v).shape()[0] * (q ? q : k ? k : v).shape()[1];
  SmallVector<LaunchOperand> operands = {
      entry.in(rotary ? rotary.getPositions() : append.getPositions())};
  if (append) {
    operands.push_back(entry.in(append.getSlots()));
    operands.push_back(entry.params(loc));
  }
  if (rotary) {
    spec.rotated = 2 * rotary.getFrequencies().getType().getDimSize(0);
    spec.interleaved = rotary.getInterleaved();
    spec.scale = rotary.getScale().convertToDouble();
    operands.push_back(entry.in(rotary.getFrequencies()));
  }
  if (q.norm) {
    spec.queryNorm = normSpec(q.norm);
    appendNormOperands(q.norm, entry, operands);
  }
  if (k.norm) {
    spec.keyNorm = normSpec(k.norm);
    appendNormOperands(k.norm, entry, operands);
  }

  std::string label;
  // The group's result that `inner` became.
  auto outer = [&](Value inner) {
    auto group = dyn_cast<exec::GroupOp>(launch);
    if (!group)
      return inner;
    ValueRange yielded = group.getBody().front().getTerminator()->getOperands();
    auto found = llvm::find(yielded, inner);
    return found == yielded.end()
               ? Value()
               : Value(group.getResult(found - yielded.begin()));
  };
  if (q) {
    spec.queryHeads = q.shape()[2];
    spec.querySize = q.shape()[3];
    operands.push_back(entry.in(q.x));
    operands.push_back(entry.out(outer(q.result)));
    label = "rotary";
  }
  auto addCache = [&](Branch &branch, int64_t &heads, int64_t &size,
                      ElementType &type) {
    heads = branch.shape()[2];
    size = branch.shape()[3];
    decode::CacheType cache = branch.append.getType();
    type = *formatType(cache.getElementType());
    LaunchOperand state = entry.state(loc, branch.append.getState());
    operands.push_back(entry.in(branch.x));
    operands.push_back(state);
    if (Value result = outer(branch.result))
      entry.bind(result, state.place);
    label += (label.empty() ? "" : " ") + branch.append.getState().str();
  };
  if (k)
    addCache(k, spec.keyHeads, spec.keySize, spec.keyType);
  if (v)
    addCache(v, spec.valueHeads, spec.valueSize, spec.valueType);
  return succeeded(entry.launch(loc, {spec}, operands, label))
             ? Lowered::Done
             : Lowered::Failed;
}

} // namespace sdc
