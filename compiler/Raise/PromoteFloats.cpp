// raise-promote-floats: activations become f32, casts between float types go.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_PROMOTEFLOATSPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// `value` as f32, if it holds narrower or wider floats.
static void promote(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  if (!type || !isFloat(value))
    return;
  value.setType(
      type.cloneWith(std::nullopt, Float32Type::get(value.getContext())));
}

namespace {
struct PromoteFloatsPass
    : public sdc::impl::PromoteFloatsPassBase<PromoteFloatsPass> {
  using PromoteFloatsPassBase::PromoteFloatsPassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      GraphOp graph = rewriter.graph;
      for (auto node : graph.getBody().getOps<NodeOp>()) {
        for (Value result : node.getResults())
          promote(result);
        // Weights keep the type in which they are stored, and so the cast.
        bool isCast = (node.is("Cast") || node.is("CastLike")) &&
                      isFloat(node.getInput(0)) && isFloat(node.getResult(0));
        Operation *source = isCast ? node.getInput(0).getDefiningOp() : nullptr;
        if (isCast && !isa_and_nonnull<ConstantOp, WeightRefOp>(source) &&
            getElementTypeOrSelf(node.getInput(0).getType()).isF32())
          node.getResult(0).replaceAllUsesWith(node.getInput(0));
      }
      auto ret = cast<ReturnOp>(graph.getBody().front().getTerminator());
      graph.setFunctionType(
          FunctionType::get(graph.getContext(), graph.getArgumentTypes(),
                            llvm::to_vector(ret.getOperandTypes())));
    });
  }
};
} // namespace
