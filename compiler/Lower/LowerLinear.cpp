// Linear launches: a chain of ops becomes a LinearSpec.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/KernelCalls.h"
#include "compiler/Lower/LinearChain.h"

using namespace mlir;

namespace sdc {

static_assert(static_cast<int>(Activation::Relu2) ==
                  static_cast<int>(decode::Activation::Relu2) + 1,
              "the two enumerations of activations differ by None");

static Activation activation(decode::Activation kind) {
  return static_cast<Activation>(static_cast<int>(kind) + 1);
}

/// The value outside of a group that a value inside it becomes.
static Value outside(Operation *launch, Value inner) {
  auto group = dyn_cast<exec::GroupOp>(launch);
  if (!group)
    return inner;
  Operation *yield = group.getBody().front().getTerminator();
  for (auto [result, value] :
       llvm::zip(group.getResults(), yield->getOperands()))
    if (value == inner)
      return result;
  return Value();
}

Lowered lowerLinear(Operation *launch, EntryBuilder &entry) {
  FailureOr<LinearChain> matched = matchLinearChain(launch);
  if (failed(matched))
    return Lowered::NotMine;
  LinearChain &chain = *matched;

  LinearSpec spec;
  spec.rows = chain.linears.front().getX().getType().getDimSize(0) *
              cast<RankedTensorType>(chain.x.getType()).getDimSize(1);
  spec.columns = cast<RankedTensorType>(chain.x.getType()).getShape().back();
  spec.pair = static_cast<bool>(chain.gate);
  spec.residual = chain.add != nullptr;
  if (chain.norm)
    spec.norm = normSpec(chain.norm);
  // Rows that take no part cost nothing where there may be some.
  if (chain.lastRow)
    spec.select = LinearSpec::Select::Last;
  else if (spec.rows > 1 && spec.rows == entry.rows() && entry.positions)
    spec.select = LinearSpec::Select::Active;

  SmallVector<LaunchOperand> operands = {entry.in(chain.x)};
  if (chain.norm)
    appendNormOperands(chain.norm, entry, operands);
  if (chain.lastRow)
    operands.push_back(entry.in(chain.lastRow.getPositions()));
  else if (spec.select == LinearSpec::Select::Active)
    operands.push_back(entry.in(entry.positions));

  std::string label;
  for (nm::LinearOp linear : chain.linears) {
    auto packed = dyn_cast<nm::PackedType>(linear.getWeight().getType());
    if (!packed) {
      linear.emitOpError("the weight is not packed");
      return Lowered::Failed;
    }
    PackedLayout layout = packed.getLayout();
    LinearPart part;
    part.rows = layout.rows;
    part.pattern = layout.pattern;
    part.type = layout.type;
    part.tile = layout.tile;
    operands.push_back(entry.in(linear.getWeight()));
    if (Value bias = linear.getBias()) {
      auto type =
          formatType(cast<RankedTensorType>(bias.getType()).getElementType());
      if (!type) {
        linear.emitOpError("no kernel reads a bias of ") << bias.getType();
        return Lowered::Failed;
      }
      part.bias = true;
      part.biasType = *type;
      operands.push_back(entry.in(bias));
    }
    spec.parts.push_back(part);
    label += (label.empty() ? "" : " ") + symbolOf(linear.getWeight()).str();
  }
  if (chain.gate)
    spec.parts[0].act = activation(chain.gate.getKind());
  if (chain.activate)
    spec.parts[0].act = activation(chain.activate.getKind());
  if (chain.add)
    operands.push_back(entry.in(chain.residual));
  for (Value output : chain.outputs) {
    Value result = outside(launch, output);
    if (result) {
      operands.push_back(entry.out(result));
      continue;
    }
    // Computed and used by nobody; the kernel writes it all the same.
    int64_t bytes = exec::tensorBytes(cast<RankedTensorType>(output.getType()));
    operands.push_back(
        {entry.buffer(launch->getLoc(), bytes), exec::Access::Out});
  }
  return succeeded(entry.launch(launch->getLoc(), {spec}, operands, label))
             ? Lowered::Done
             : Lowered::Failed;
}

} // namespace sdc
