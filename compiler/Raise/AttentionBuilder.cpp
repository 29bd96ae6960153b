// Caches, masks and the attention that reads them.

#include "compiler/Raise/AttentionBuilder.h"
#include <cmath>

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

CacheBuilder::CacheBuilder(ModuleOp module, RaiseRewriter &rewriter,
                           int64_t context)
    : module(module), rewriter(rewriter), slots(rewriter.batch),
      positions(context) {
  // Both entries share the states; the decode entry has the batch.
  for (auto graph : module.getOps<GraphOp>())
    for (unsigned i = 0; i < graph.getNumArguments(); ++i)
      if (graph.getArgRole(i) == "input_ids")
        slots = std::max(slots,
                         cast<RankedTensorType>(graph.getArgument(i).getType())
                             .getDimSize(0));
}

static std::string roleOf(StringRef when, StringRef what, int64_t layer) {
  return (when + "." + what + "." + Twine(layer)).str();
}

Value CacheBuilder::getPast(int64_t layer, StringRef what) const {
  return rewriter.getArgument(roleOf("past", what, layer));
}

std::optional<unsigned> CacheBuilder::findPresent(int64_t layer,
                                                  StringRef what) const {
  for (unsigned i = 0; i < rewriter.graph.getNumResults(); ++i)
    if (rewriter.graph.getResultRole(i) == roleOf("present", what, layer))
      return i;
  return std::nullopt;
}

Value CacheBuilder::getPresent(int64_t layer, StringRef what) const {
  std::optional<unsigned> index = findPresent(layer, what);
  if (!index)
    return {};
  return rewriter.graph.getBody().front().getTerminator()->getOperand(*index);
}

int64_t CacheBuilder::layerOf(Expr load, StringRef what,
                              ExprRange indices) const {
  if (load->getKind() != ExprKind::Load || load->getOperands() != indices)
    return -1;
  auto argument = dyn_cast<BlockArgument>(rewriter.algebra.getRoot(load));
  if (!argument)
    return -1;
  StringRef role = rewriter.graph.getArgRole(argument.getArgNumber());
  int64_t layer = -1;
  if (!role.consume_front("past.") || !role.consume_front(what) ||
      !role.consume_front(".") || role.getAsInteger(10, layer))
    return -1;
  return layer;
}

int64_t CacheBuilder::headsOf(int64_t layer, StringRef what) const {
  return cast<RankedTensorType>(getPast(layer, what).getType()).getDimSize(1);
}

Value CacheBuilder::append(Location loc, int64_t layer, StringRef what,
                           Value x) const {
  OpBuilder &builder = rewriter.builder;
  auto past = cast<BlockArgument>(getPast(layer, what));
  unsigned present = *findPresent(layer, what);
  auto type = cast<RankedTensorType>(x.getType());
  auto cache = decode::CacheType::get(
      builder.getContext(), slots, type.getDimSize(2), positions,
      type.getDimSize(3),
      cast<RankedTensorType>(past.getType()).getElementType());
  std::string name = ("layers." + Twine(layer) + "." + what + "s").str();
  ModuleOp module = this->module;
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    GraphOp graph = rewriter.graph;
    auto nameOf = [&](Attribute attribute) {
      return cast<StringAttr>(attribute);
    };
    decode::StateOp::create(
        builder, loc, builder.getStringAttr(name), TypeAttr::get(cache),
        nameOf(graph.getArgAttr(past.getArgNumber(), GraphOp::kName)),
        nameOf(graph.getResultAttr(present, GraphOp::kName)));
  }
  replaced.insert(present);
  return decode::AppendOp::create(
      builder, loc, cache, x, rewriter.getPositions(), rewriter.getSlots(),
      FlatSymbolRefAttr::get(builder.getContext(), name));
}

void CacheBuilder::erasePresents() {
  GraphOp graph = rewriter.graph;
  Operation *ret = graph.getBody().front().getTerminator();
  llvm::BitVector erased(graph.getNumResults());
  for (unsigned index : replaced)
    erased.set(index);
  ret->eraseOperands(erased);
  (void)graph.eraseResults(erased);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

bool sdc::isMaskFill(Expr expr) {
  return expr->isConstant() && expr->getNumber() <= -1e4;
}

Expr sdc::allowedBy(ExprContext &context, Expr mask) {
  if (mask->isConstant(0))
    return context.boolean(true);
  if (isMaskFill(mask))
    return context.boolean(false);
  if (mask->getKind() == ExprKind::Select) {
    Expr ifTrue = allowedBy(context, mask->getOperand(1));
    Expr ifFalse = allowedBy(context, mask->getOperand(2));
    if (!ifTrue || !ifFalse)
      return nullptr;
    return context.select(mask->getOperand(0), ifTrue, ifFalse);
  }
  if (mask->getKind() != ExprKind::Sum || mask->getNumber() != 0)
    return nullptr;
  // Several masks added up.
  Expr allowed = context.boolean(true);
  for (auto [term, coefficient] :
       llvm::zip(mask->getOperands(), mask->getCoefficients())) {
    Expr part = allowedBy(
        context, coefficient == 1 ? term : context.scale(term, coefficient));
    if (!part || part == mask)
      return nullptr;
    allowed = context.conjunction(allowed, part);
  }
  return allowed;
}

/// Whether `allowed` is column <= P + row, and how many columns of those a
/// window leaves.
static bool matchMask(ExprContext &context, const AttentionParts &parts,
                      std::optional<int64_t> &window) {
  Expr distance =
      context.sub(context.add(context.past(), parts.row), parts.column);
  Expr causal = context.nonNegative(distance);
  Expr allowed = parts.allowed;
  if (allowed == causal)
    return true;
  // distance < window, besides.
  ExprRange conditions = allowed->getKind() == ExprKind::And
                             ? allowed->getOperands()
                             : ExprRange(allowed);
  bool isCausal = causal->isConstant(1);
  for (Expr condition : conditions) {
    if (condition == causal) {
      isCausal = true;
      continue;
    }
    if (condition->getKind() != ExprKind::NonNegative || window)
      return false;
    std::optional<int64_t> rest =
        context.asInteger(context.add(condition->getOperand(0), distance));
    if (!rest || *rest < 0)
      return false;
    window = *rest + 1;
  }
  return isCausal;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Keys or values: a layer's past, then new rows, times a number.
struct Cached {
  int64_t layer = -1;
  double scale = 1;
  Value rows;
};
} // namespace

/// Matches keys or values of which each past head serves a group of heads.
/// `reason` says why they are something else.
static std::optional<Cached> matchCached(RaiseRewriter &rewriter,
                                         const CacheBuilder &caches,
                                         const HeadElement &element,
                                         StringRef what, int64_t heads,
                                         int64_t size, std::string &reason) {
  ExprContext &context = rewriter.context;
  auto fail = [&](StringRef problem, Expr expr) -> std::optional<Cached> {
    reason =
        (what + "s " + problem + ", got " + rewriter.algebra.print(expr)).str();
    return std::nullopt;
  };
  Expr b = context.variable(rewriter.batch), d = context.variable(size);
  Expr u = context.variable(Affine(0, 1));
  Cached cached;

  // Any head tells the layer, the layer tells the number of heads.
  Expr first = element(b, context.integer(0), u, d);
  Expr any = ExprContext::splitCoefficient(first).second;
  if (any)
    cached.layer = caches.layerOf(any, what, {b, context.integer(0), u, d});
  if (cached.layer < 0)
    return fail("are not those of a past", first);
  int64_t kvHeads = caches.headsOf(cached.layer, what);
  if (kvHeads <= 0 || heads % kvHeads != 0)
    return fail("do not serve groups of heads", first);
  int64_t group = heads / kvHeads;
  Expr h = context.variable(kvHeads), g = context.variable(group);
  Expr head = context.add(context.scale(h, static_cast<double>(group)), g);
  Expr pastElement = element(b, head, u, d);
  auto [pastScale, past] = ExprContext::splitCoefficient(pastElement);
  if (!past || caches.layerOf(past, what, {b, h, u, d}) != cached.layer)
    return fail("do not serve groups of neighbouring heads", pastElement);
  cached.scale = pastScale;

  Expr s = context.variable(rewriter.rows);
  Expr row = context.add(context.past(), s);
  Expr rowElement = element(b, head, row, d);
  auto [rowScale, fresh] = ExprContext::splitCoefficient(rowElement);
  if (!fresh || rowScale != pastScale)
    return fail("of new rows are scaled unlike the past", rowElement);
  // The graph hands out what it attends to.
  Value present = caches.getPresent(cached.layer, what);
  if (!present)
    return fail("have no output that holds them", rowElement);
  Expr pastOut = rewriter.algebra.at(present, {b, h, u, d});
  Expr rowOut = rewriter.algebra.at(present, {b, h, row, d});
  if (pastOut != past || rowOut != fresh)
    return fail("are not what the graph hands out", rowOut);
  cached.rows = rewriter.asHeads(fresh, b, s, h, d, kvHeads, size);
  if (!cached.rows)
    return fail("of new rows are not those of a linear", fresh);
  return cached;
}

/// The usual scale, if it is within rounding of that.
static double snapScale(double scale, int64_t size) {
  double usual = 1 / std::sqrt(static_cast<double>(size));
  return std::abs(scale - usual) <= 1e-6 * usual ? usual : scale;
}

Value sdc::buildAttention(RaiseRewriter &rewriter, const CacheBuilder &caches,
                          NodeOp node, const AttentionParts &parts) {
  ExprContext &context = rewriter.context;
  std::optional<int64_t> window;
  if (!matchMask(context, parts, window)) {
    setReason(node, "row i0 attends to column i1 where " +
                        rewriter.algebra.print(parts.allowed) +
                        ", expected i1 <= P + i0, with a window or without");
    return {};
  }
  std::string reason;
  auto keys = matchCached(rewriter, caches, parts.key, "key", parts.heads,
                          parts.size, reason);
  if (!keys) {
    setReason(node, reason);
    return {};
  }
  auto values = matchCached(rewriter, caches, parts.value, "value", parts.heads,
                            parts.valueSize, reason);
  if (!values) {
    setReason(node, reason);
    return {};
  }
  if (keys->layer != values->layer || values->scale != 1) {
    setReason(node, "keys and values are of different layers, or scaled");
    return {};
  }
  Expr b = context.variable(rewriter.batch),
       s = context.variable(rewriter.rows), h = context.variable(parts.heads),
       d = context.variable(parts.size);
  Expr query = parts.query(b, s, h, d);
  auto [queryScale, queries] = ExprContext::splitCoefficient(query);
  Value q;
  if (queries)
    q = rewriter.asHeads(queries, b, s, h, d, parts.heads, parts.size);
  if (!q) {
    setReason(node, "queries are not the heads of a linear, got " +
                        rewriter.algebra.print(query));
    return {};
  }
  Location loc = node.getLoc();
  double scale = snapScale(parts.scale * queryScale * keys->scale, parts.size);
  OpBuilder &builder = rewriter.builder;
  Value k = caches.append(loc, keys->layer, "key", keys->rows);
  Value v = caches.append(loc, values->layer, "value", values->rows);
  return rewriter.create<decode::AttentionOp>(
      loc,
      rewriter.tensorOf(
          {rewriter.batch, rewriter.rows, parts.heads, parts.valueSize}),
      q, k, v, rewriter.getPositions(), rewriter.getSlots(),
      builder.getF64FloatAttr(scale),
      window ? builder.getI64IntegerAttr(*window) : IntegerAttr(),
      parts.softcap ? builder.getF64FloatAttr(*parts.softcap) : FloatAttr());
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

void sdc::raiseGroupQuery(RaiseRewriter &rewriter, const CacheBuilder &caches,
                          ConstantReader &reader, NodeOp node) {
  ExprContext &context = rewriter.context;
  GraphAlgebra &algebra = rewriter.algebra;
  OpBuilder &builder = rewriter.builder;
  int64_t heads = node.getInt("num_heads", 0);
  int64_t kvHeads = node.getInt("kv_num_heads", 0);
  const AffineShape *packed = algebra.getShape(node.getInput(0));
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads != 0 || !packed ||
      packed->size() != 3 || !packed->back().isConstant())
    return;
  bool isPacked = !node.getInput(1);
  int64_t size = packed->back().base / (isPacked ? heads + 2 * kvHeads : heads);
  // Bias, sinks, scales of a quantized cache, norms: none of them here.
  for (unsigned input = 10; input < node.getInputs().size(); ++input)
    if (node.getInput(input))
      return setReason(node, "input " + Twine(input) +
                                 " (a bias, sinks, scales or norms) is given");
  if (node.getInt("smooth_softmax", 0) > 0 || node.getInt("causal", 1) != 1)
    return setReason(node, "the softmax is smooth or not causal");

  // The past is all that came before: seqlens_k = P + S - 1, whatever its
  // rank, and total = P + S.
  Value lengths = node.getInput(5), total = node.getInput(6);
  auto isAlways = [&](Value value, Affine expected) {
    const AffineShape *shape = value ? algebra.getShape(value) : nullptr;
    if (!shape)
      return false;
    SmallVector<Expr> indices;
    for (Affine extent : *shape)
      indices.push_back(context.variable(extent));
    return algebra.at(value, indices) == context.affine(expected);
  };
  if (!isAlways(lengths, Affine(rewriter.rows - 1, 1)) ||
      !isAlways(total, Affine(rewriter.rows, 1)))
    return setReason(node, "seqlens_k and total_sequence_length are not P + S "
                           "- 1 and P + S");
  Value pastKey = node.getInput(3), pastValue = node.getInput(4);
  if (!pastKey || !pastValue)
    return;

  Expr b = context.variable(rewriter.batch),
       s = context.variable(rewriter.rows), d = context.variable(size),
       u = context.variable(Affine(0, 1));
  auto layerOf = [&](Value past, StringRef what, unsigned result) -> int64_t {
    Expr h = context.variable(kvHeads);
    int64_t layer =
        caches.layerOf(algebra.at(past, {b, h, u, d}), what, {b, h, u, d});
    bool isHandedOut = layer >= 0 && node.getNumResults() > result &&
                       caches.getPresent(layer, what) == node.getResult(result);
    return isHandedOut ? layer : -1;
  };
  int64_t layer = layerOf(pastKey, "key", 1);
  if (layer < 0 || layerOf(pastValue, "value", 2) != layer)
    return setReason(node, "keys and values are not the caches of one layer");

  auto headsOf = [&](unsigned input, int64_t first, int64_t count) {
    Expr h = context.variable(count);
    Value value = isPacked ? node.getInput(0) : node.getInput(input);
    Expr column =
        context.add(context.add(context.scale(h, static_cast<double>(size)), d),
                    context.integer(isPacked ? first * size : 0));
    return rewriter.asHeads(algebra.at(value, {b, s, column}), b, s, h, d,
                            count, size);
  };
  builder.setInsertionPointAfter(node);
  Value q = headsOf(0, 0, heads);
  Value k = headsOf(1, heads, kvHeads);
  Value v = headsOf(2, heads + kvHeads, kvHeads);
  if (!q || !k || !v)
    return setReason(node, "queries, keys or values are not rows of a linear");

  if (node.getInt("do_rotary", 0) != 0) {
    Value cos = node.getInput(7), sin = node.getInput(8);
    const AffineShape *shape = cos ? algebra.getShape(cos) : nullptr;
    if (!shape || !sin || shape->size() != 2 || !shape->back().isConstant())
      return;
    int64_t half = shape->back().base;
    Expr j = context.variable(half);
    Expr position = context.add(context.past(), s);
    if (Value given = node.getInput(9);
        given && algebra.at(given, {b, s}) != position)
      return;
    std::optional<Rotation> rotation =
        findRotation(rewriter, reader, algebra.at(cos, {position, j}),
                     algebra.at(sin, {position, j}), position, j, half);
    if (!rotation && !reader.getProblem().empty())
      return setReason(node, "cos_cache and sin_cache can't be read: " +
                                 reader.getProblem());
    if (!rotation)
      return setReason(node, "cos_cache and sin_cache do not hold the cosines "
                             "and sines of position x frequency");
    bool interleaved = node.getInt("rotary_interleaved", 0) != 0;
    q = createRotary(rewriter, node.getLoc(), q, *rotation, interleaved);
    k = createRotary(rewriter, node.getLoc(), k, *rotation, interleaved);
  }

  double scale = node.getFloat("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(size));
  double softcap = node.getFloat("softcap", 0);
  int64_t window = node.getInt("local_window_size", -1);
  Location loc = node.getLoc();
  Value keys = caches.append(loc, layer, "key", k);
  Value values = caches.append(loc, layer, "value", v);
  Value y = rewriter.create<decode::AttentionOp>(
      loc, rewriter.tensorOf({rewriter.batch, rewriter.rows, heads, size}), q,
      keys, values, rewriter.getPositions(), rewriter.getSlots(),
      builder.getF64FloatAttr(snapScale(scale, size)),
      window > 0 ? builder.getI64IntegerAttr(window) : IntegerAttr(),
      softcap != 0 ? builder.getF64FloatAttr(softcap) : FloatAttr());
  rewriter.replace(
      node.getResult(0),
      rewriter.reshape(y, {rewriter.batch, rewriter.rows, heads * size}));
}
