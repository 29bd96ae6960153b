// raise-gate: activation(gate) x up becomes decode.gate, an activation alone
// decode.activate, however the function is spelled.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEGATEPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// The activation functions by their expressions.
static Expr activationOf(ExprContext &context, decode::Activation kind,
                         Expr x) {
  auto sigmoid = [&](double factor) {
    return context.call(ScalarFunction::Sigmoid, context.scale(x, factor));
  };
  auto halfOf = [&](Expr inner) {
    return context.scale(context.mul(x, context.add(context.integer(1), inner)),
                         0.5);
  };
  switch (kind) {
  case decode::Activation::Silu:
    return context.mul(x, sigmoid(1));
  case decode::Activation::GeluTanh: {
    Expr cube = context.scale(context.power(x, 3), 0.044715);
    return halfOf(
        context.call(ScalarFunction::Tanh,
                     context.scale(context.add(x, cube), std::sqrt(2 / M_PI))));
  }
  case decode::Activation::GeluErf:
    return halfOf(
        context.call(ScalarFunction::Erf, context.scale(x, std::sqrt(0.5))));
  case decode::Activation::Relu:
    return context.max(x, context.integer(0));
  case decode::Activation::QuickGelu:
    return context.mul(x, sigmoid(1.702));
  case decode::Activation::Relu2: {
    Expr relu = context.max(x, context.integer(0));
    return context.mul(relu, relu);
  }
  }
  return nullptr;
}

/// The product without the factors of `part`, if it has them all. Numbers of
/// the functions are as rounded as the exporter's type.
static Expr withoutFactors(ExprContext &context, Expr product, Expr part) {
  auto [coefficient, rest] = ExprContext::splitCoefficient(product);
  auto [partCoefficient, partRest] = ExprContext::splitCoefficient(part);
  if (!rest || !partRest ||
      std::abs(coefficient - partCoefficient) > 1e-3 * std::abs(coefficient))
    return nullptr;
  SmallVector<Expr> left(ExprContext::factors(rest));
  for (Expr factor : ExprContext::factors(partRest)) {
    auto *found = llvm::find_if(left, [&](Expr other) {
      return ExprContext::isSimilar(other, factor, 1e-3);
    });
    if (found == left.end())
      return nullptr;
    left.erase(found);
  }
  Expr result = context.integer(1);
  for (Expr factor : left)
    result = context.mul(result, factor);
  return result;
}

/// The loads in `expr`, left to right.
static llvm::SmallSetVector<Expr, 4> loadsOf(Expr expr) {
  llvm::SmallSetVector<Expr, 4> loads;
  SmallVector<Expr> stack{expr};
  SmallPtrSet<Expr, 16> seen;
  while (!stack.empty()) {
    Expr next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (next->getKind() == ExprKind::Load)
      loads.insert(next);
    else
      llvm::append_range(stack, llvm::reverse(next->getOperands()));
  }
  return loads;
}

/// Whether the row of an expression's values is that of a linear.
static bool isOfLinear(GraphAlgebra &algebra, Expr load) {
  Operation *op = algebra.getRoot(load).getDefiningOp();
  return isa_and_nonnull<decode::LinearOp>(op);
}

static void raiseGate(RaiseRewriter &rewriter, NodeOp node) {
  Value result = node.getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || type.getRank() != 3 || !type.hasStaticShape() ||
      !type.getElementType().isF32() || type.getDimSize(0) != rewriter.batch ||
      type.getDimSize(1) != rewriter.rows)
    return;
  SmallVector<Expr> indices = rewriter.algebra.variablesOf(result);
  Expr element = rewriter.algebra.at(result, indices);
  llvm::SmallSetVector<Expr, 4> loads = loadsOf(element);
  if (loads.empty() || loads.size() > 2 || !llvm::all_of(loads, [&](Expr load) {
        return isOfLinear(rewriter.algebra, load);
      }))
    return;

  static constexpr decode::Activation kKinds[] = {
      decode::Activation::Silu,      decode::Activation::GeluTanh,
      decode::Activation::GeluErf,   decode::Activation::Relu2,
      decode::Activation::QuickGelu, decode::Activation::Relu};
  auto valueOf = [&](Expr load) {
    return rewriter.asRows(load, indices[0], indices[1], indices[2],
                           type.getDimSize(2));
  };
  for (Expr gate : loads) {
    for (decode::Activation kind : kKinds) {
      Expr up = withoutFactors(rewriter.context, element,
                               activationOf(rewriter.context, kind, gate));
      if (!up)
        continue;
      bool isAlone = up->isConstant(1);
      if (!isAlone && !loads.contains(up))
        continue;
      Value gateValue = valueOf(gate);
      Value upValue = isAlone ? Value() : valueOf(up);
      if (!gateValue || (!isAlone && !upValue))
        continue;
      rewriter.builder.setInsertionPointAfter(node);
      Value raised;
      if (isAlone)
        raised = rewriter.create<decode::ActivateOp>(node.getLoc(), type, kind,
                                                     gateValue);
      else
        raised = rewriter.create<decode::GateOp>(node.getLoc(), type, kind,
                                                 gateValue, upValue);
      rewriter.replace(result, raised);
      return;
    }
  }
}

namespace {
struct RaiseGatePass : public sdc::impl::RaiseGatePassBase<RaiseGatePass> {
  using RaiseGatePassBase::RaiseGatePassBase;

  void runOnOperation() override {
    forEachEntry(getOperation(), [](RaiseRewriter &rewriter) {
      // From the end, so that a product with the other branch comes before
      // the activation in it.
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : llvm::reverse(nodes))
        if (node.getNumResults() == 1 && !node->use_empty())
          raiseGate(rewriter, node);
    });
  }
};
} // namespace
