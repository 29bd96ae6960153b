// raise-attention: attention over a cache becomes decode.append and
// decode.attention. The products and the softmax are found in the graph, or
// one operator holds them; what they read is matched by index: grouped heads
// are cache[h / n], the cache is the past and then the new rows, the mask is
// j <= P + s with a window or without.

#include "compiler/Passes.h"
#include "compiler/Raise/AttentionBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

/// The element (b, h, s, d) of an input that holds heads in four dimensions,
/// or as columns.
static Expr headAt(RaiseRewriter &rewriter, Value value, int64_t size, Expr b,
                   Expr h, Expr s, Expr d) {
  ExprContext &context = rewriter.context;
  if (rewriter.algebra.getShape(value)->size() == 4)
    return rewriter.algebra.at(value, {b, h, s, d});
  Expr column = context.add(context.scale(h, static_cast<double>(size)), d);
  return rewriter.algebra.at(value, {b, s, column});
}

//===----------------------------------------------------------------------===//
// Spelled out
//===----------------------------------------------------------------------===//

/// `element` as scale x product[b, h, s, t], with a softcap around it or not,
/// and with a mask added to it or selecting it.
static bool matchScores(RaiseRewriter &rewriter, Expr element,
                        ExprRange indices, AttentionScores &scores) {
  ExprContext &context = rewriter.context;
  auto isProduct = [&](Expr expr) {
    if (!expr || expr->getKind() != ExprKind::Load ||
        expr->getOperands() != indices)
      return false;
    auto node = rewriter.algebra.getRoot(expr).getDefiningOp<NodeOp>();
    return node && node.is("MatMul");
  };
  if (element->getKind() == ExprKind::Select) {
    Expr condition = element->getOperand(0);
    for (unsigned side : {1, 2}) {
      Expr fill = element->getOperand(3 - side);
      if (!isMaskFill(fill) ||
          !matchScores(rewriter, element->getOperand(side), indices, scores))
        continue;
      Expr allowed = side == 1 ? condition : context.negate(condition);
      scores.allowed = context.conjunction(scores.allowed, allowed);
      return true;
    }
    return false;
  }
  // One term holds the product, all others are the mask.
  ExprRange terms = element->getKind() == ExprKind::Sum ? element->getOperands()
                                                        : ExprRange(element);
  Expr mask = element;
  for (auto [i, term] : llvm::enumerate(terms)) {
    double coefficient =
        element->getKind() == ExprKind::Sum ? element->getCoefficients()[i] : 1;
    if (isProduct(term)) {
      scores.scale = coefficient;
      scores.product = term;
    } else if (term->getKind() == ExprKind::Call &&
               term->getFunction() == ScalarFunction::Tanh) {
      auto [inner, product] =
          ExprContext::splitCoefficient(term->getOperand(0));
      if (!isProduct(product))
        continue;
      scores.scale = coefficient * inner;
      scores.softcap = coefficient;
      scores.product = product;
    } else {
      continue;
    }
    mask = context.sub(mask, context.scale(term, coefficient));
    scores.allowed = allowedBy(context, mask);
    return scores.allowed != nullptr;
  }
  return false;
}

/// The product of the probabilities with the values.
static NodeOp findValueProduct(RaiseRewriter &rewriter, Value probabilities) {
  GraphAlgebra &algebra = rewriter.algebra;
  SmallVector<Expr> indices = algebra.variablesOf(probabilities);
  Expr load = algebra.loadOf(probabilities, indices);
  SmallVector<Value> front{probabilities};
  for (int depth = 0; depth < 6; ++depth) {
    SmallVector<Value> next;
    for (Value value : front) {
      for (Operation *user : value.getUsers()) {
        auto node = dyn_cast<NodeOp>(user);
        if (!node || node.getNumResults() == 0)
          continue;
        const AffineShape *shape =
            node.is("MatMul") ? algebra.getShape(node.getInput(0)) : nullptr;
        if (shape && shape->size() == 4 && indices.size() == 4 &&
            algebra.at(node.getInput(0), indices) == load)
          return node;
        next.push_back(node.getResult(0));
      }
    }
    front = next;
  }
  return {};
}

static void raiseSoftmax(RaiseRewriter &rewriter, const CacheBuilder &caches,
                         NodeOp softmax) {
  GraphAlgebra &algebra = rewriter.algebra;
  const AffineShape *shape = algebra.getShape(softmax.getResult(0));
  if (!shape || shape->size() != 4 ||
      fromFront(softmax.getInt("axis", -1), 4) != 3)
    return;
  SmallVector<Expr> indices = algebra.variablesOf(softmax.getResult(0));
  AttentionScores scores;
  scores.allowed = rewriter.context.boolean(true);
  if (!matchScores(rewriter, algebra.at(softmax.getInput(0), indices), indices,
                   scores))
    return;
  auto product = algebra.getRoot(scores.product).getDefiningOp<NodeOp>();
  NodeOp values = findValueProduct(rewriter, softmax.getResult(0));
  if (!values)
    return;
  const AffineShape *q = algebra.getShape(product.getInput(0));
  const AffineShape *k = algebra.getShape(product.getInput(1));
  const AffineShape *v = algebra.getShape(values.getInput(1));
  if (!q || !k || !v || q->size() != 4 || k->size() != 4 || v->size() != 4 ||
      !(*q)[1].isConstant() || !q->back().isConstant() ||
      !v->back().isConstant())
    return;

  AttentionParts parts;
  parts.heads = (*q)[1].base;
  parts.size = q->back().base;
  parts.valueSize = v->back().base;
  parts.scale = scores.scale;
  parts.softcap = scores.softcap;
  parts.row = indices[2];
  parts.column = indices[3];
  parts.allowed = scores.allowed;
  parts.query = [&](Expr b, Expr s, Expr h, Expr d) {
    return algebra.at(product.getInput(0), {b, h, s, d});
  };
  parts.key = [&](Expr b, Expr h, Expr t, Expr d) {
    return algebra.at(product.getInput(1), {b, h, d, t});
  };
  parts.value = [&](Expr b, Expr h, Expr t, Expr d) {
    return algebra.at(values.getInput(1), {b, h, t, d});
  };
  rewriter.builder.setInsertionPointAfter(values);
  if (Value y = buildAttention(rewriter, caches, softmax, parts))
    rewriter.replace(values.getResult(0), rewriter.headsFirst(y));
}

//===----------------------------------------------------------------------===//
// ai.onnx Attention
//===----------------------------------------------------------------------===//

static void raiseOperator(RaiseRewriter &rewriter, const CacheBuilder &caches,
                          NodeOp node) {
  GraphAlgebra &algebra = rewriter.algebra;
  ExprContext &context = rewriter.context;
  Value qInput = node.getInput(0), kInput = node.getInput(1),
        vInput = node.getInput(2), mask = node.getInput(3);
  const AffineShape *q = algebra.getShape(qInput);
  const AffineShape *k = algebra.getShape(kInput);
  const AffineShape *v = algebra.getShape(vInput);
  bool wantsProduct =
      node.getNumResults() > 3 && !node.getResult(3).use_empty();
  if (!q || !k || !v || node.getInput(6) || wantsProduct)
    return;
  bool isFlat = q->size() == 3;
  int64_t heads = node.getInt("q_num_heads", 0);
  int64_t kvHeads = node.getInt("kv_num_heads", 0);
  if (!isFlat) {
    heads = (*q)[1].base;
    kvHeads = (*k)[1].base;
  }
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads != 0 ||
      !q->back().isConstant() || !v->back().isConstant())
    return;
  AttentionParts parts;
  parts.heads = heads;
  parts.size = isFlat ? q->back().base / heads : q->back().base;
  parts.valueSize = isFlat ? v->back().base / kvHeads : v->back().base;
  parts.scale = node.getFloat("scale", 0);
  if (parts.scale == 0)
    parts.scale = 1 / std::sqrt(static_cast<double>(parts.size));
  if (double softcap = node.getFloat("softcap", 0); softcap != 0)
    parts.softcap = softcap;

  // The columns are the past and then the new rows, if the past is given here.
  bool hasPast = node.getInput(4) != nullptr;
  Affine total = isFlat ? (*k)[1] : (*k)[2];
  if (hasPast) {
    const AffineShape *past = algebra.getShape(node.getInput(4));
    if (!past || past->size() != 4)
      return;
    total = total + (*past)[2];
  }
  Expr b = context.variable(rewriter.batch), h = context.variable(heads);
  parts.row = context.variable(rewriter.rows);
  parts.column = context.variable(total);
  parts.allowed = context.boolean(true);
  if (mask) {
    const AffineShape *shape = algebra.getShape(mask);
    if (!shape || shape->empty() || shape->back() != total)
      return;
    SmallVector<Expr> indices{b, h, parts.row, parts.column};
    indices.erase(indices.begin(), indices.end() - shape->size());
    for (auto [index, size] : llvm::zip(indices, *shape))
      if (size == Affine(1))
        index = context.integer(0);
    Expr element = algebra.at(mask, indices);
    bool isBool = getElementTypeOrSelf(mask.getType()).isInteger(1);
    parts.allowed = isBool ? element : allowedBy(context, element);
    if (!parts.allowed)
      return;
  }
  if (node.getInt("is_causal", 0) != 0) {
    // Rows are aligned with the end of the columns.
    Expr last =
        context.add(parts.row, context.affine(total - Affine(rewriter.rows)));
    parts.allowed = context.conjunction(parts.allowed,
                                        context.lessEqual(parts.column, last));
  }
  if (int64_t right = node.getInt("right_window_size", -1); right >= 0) {
    Expr last = context.add(
        parts.row, context.affine(total - Affine(rewriter.rows - right)));
    parts.allowed = context.conjunction(parts.allowed,
                                        context.lessEqual(parts.column, last));
  }
  if (int64_t left = node.getInt("left_window_size", -1); left >= 0) {
    Expr first = context.add(
        parts.row, context.affine(total - Affine(rewriter.rows + left)));
    parts.allowed = context.conjunction(parts.allowed,
                                        context.lessEqual(first, parts.column));
  }

  int64_t group = heads / kvHeads;
  parts.query = [&](Expr b, Expr s, Expr h, Expr d) {
    return headAt(rewriter, qInput, parts.size, b, h, s, d);
  };
  auto cacheAt = [&](unsigned input, int64_t size, Expr b, Expr h, Expr t,
                     Expr d) {
    Expr kv = context.floorDiv(h, group);
    if (hasPast)
      return elementOfFused(algebra, node, input, {b, kv, t, d});
    return headAt(rewriter, node.getInput(input), size, b, kv, t, d);
  };
  parts.key = [&](Expr b, Expr h, Expr t, Expr d) {
    return cacheAt(1, parts.size, b, h, t, d);
  };
  parts.value = [&](Expr b, Expr h, Expr t, Expr d) {
    return cacheAt(2, parts.valueSize, b, h, t, d);
  };
  rewriter.builder.setInsertionPointAfter(node);
  Value y = buildAttention(rewriter, caches, node, parts);
  if (!y)
    return;
  if (isFlat)
    y = rewriter.reshape(
        y, {rewriter.batch, rewriter.rows, heads * parts.valueSize});
  else
    y = rewriter.headsFirst(y);
  rewriter.replace(node.getResult(0), y);
}

namespace {
struct RaiseAttentionPass
    : public sdc::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using RaiseAttentionPassBase::RaiseAttentionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    forEachEntry(module, [&](RaiseRewriter &rewriter) {
      ConstantReader reader(getOperation(), rewriter.weights, folder);
      CacheBuilder caches(module, rewriter, context);
      SmallVector<NodeOp> nodes;
      llvm::append_range(nodes, rewriter.graph.getBody().getOps<NodeOp>());
      for (NodeOp node : nodes) {
        if (node.is("Softmax"))
          raiseSoftmax(rewriter, caches, node);
        else if (node.is("Attention"))
          raiseOperator(rewriter, caches, node);
        else if (node.is("GroupQueryAttention", "com.microsoft"))
          raiseGroupQuery(rewriter, caches, reader, node);
      }
      caches.erasePresents();
    });
  }
};
} // namespace
