// Rows and heads as values, weights as symbols.

#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

//===----------------------------------------------------------------------===//
// WeightSymbols
//===----------------------------------------------------------------------===//

static Attribute identityOf(decode::WeightOp weight) {
  if (!isa<decode::RandomAttr>(weight.getSource()))
    return {};
  Attribute identity = weight->getAttr(kIdentityAttr);
  return identity ? identity : weight.getSymNameAttr();
}

WeightSymbols::WeightSymbols(ModuleOp module) : module(module) {
  for (auto weight : module.getOps<decode::WeightOp>()) {
    byName[weight.getSymNameAttr()] = weight;
    byContent.try_emplace(Key(weight.getSource(), weight.getType(),
                              weight.getViewAttr(), identityOf(weight)),
                          weight);
  }
}

decode::WeightOp WeightSymbols::lookup(Value load) const {
  auto op = load.getDefiningOp<decode::LoadOp>();
  return op ? byName.lookup(op.getWeightAttr().getAttr()) : decode::WeightOp();
}

Value WeightSymbols::load(OpBuilder &builder, Location loc,
                          RankedTensorType type, Attribute source,
                          decode::ViewAttr view, Attribute identity) {
  decode::WeightOp &weight = byContent[Key(source, type, view, identity)];
  if (!weight) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    StringAttr name;
    do
      name = builder.getStringAttr("weight." + Twine(next++));
    while (byName.contains(name));
    weight = decode::WeightOp::create(builder, loc, name, TypeAttr::get(type),
                                      source, view);
    if (identity)
      weight->setAttr(kIdentityAttr, identity);
    byName[name] = weight;
  }
  return decode::LoadOp::create(
      builder, loc, type, FlatSymbolRefAttr::get(weight.getSymNameAttr()));
}

Value WeightSymbols::load(OpBuilder &builder, Location loc, Value root,
                          ArrayRef<int64_t> shape, int64_t first,
                          bool transposed) {
  auto stored = cast<RankedTensorType>(root.getType());
  auto type = RankedTensorType::get(shape, stored.getElementType());
  Attribute source, identity;
  if (auto constant = root.getDefiningOp<ConstantOp>()) {
    source = constant.getValue();
  } else {
    decode::WeightOp weight =
        lookup(root.getDefiningOp<WeightRefOp>().getWeightAttr().getAttr());
    source = weight.getSource();
    identity = identityOf(weight);
  }
  decode::ViewAttr view;
  if (type != stored || first != 0 || transposed)
    view =
        decode::ViewAttr::get(builder.getContext(), stored, first, transposed);
  return load(builder, loc, type, source, view, identity);
}

Value WeightSymbols::load(OpBuilder &builder, Location loc,
                          ElementsAttr value) {
  return load(builder, loc, cast<RankedTensorType>(value.getShapedType()),
              value, decode::ViewAttr(), Attribute());
}

Value WeightSymbols::loadRows(OpBuilder &builder, Value load, int64_t first,
                              int64_t rows) {
  decode::WeightOp weight = lookup(load);
  RankedTensorType type = weight.getTensorType();
  SmallVector<int64_t> shape(type.getShape());
  if (first == 0 && rows == shape.front())
    return load;
  shape.front() = rows;
  decode::ViewAttr view = weight.getViewAttr();
  auto stored = view ? view.getStored() : type;
  view = decode::ViewAttr::get(builder.getContext(), stored,
                               (view ? view.getFirst() : 0) + first,
                               view && view.getTransposed());
  return this->load(builder, load.getLoc(),
                    RankedTensorType::get(shape, type.getElementType()),
                    weight.getSource(), view, identityOf(weight));
}

//===----------------------------------------------------------------------===//
// RaiseRewriter
//===----------------------------------------------------------------------===//

RaiseRewriter::RaiseRewriter(GraphOp graph, WeightSymbols &weights)
    : graph(graph), algebra(graph), context(algebra.getContext()),
      weights(weights), builder(graph.getContext()) {
  auto ids = cast<RankedTensorType>(getArgument("input_ids").getType());
  batch = ids.getDimSize(0);
  rows = ids.getDimSize(1);
}

Value RaiseRewriter::getArgument(StringRef role) {
  for (BlockArgument argument : graph.getBody().getArguments())
    if (graph.getArgRole(argument.getArgNumber()) == role)
      return argument;
  return {};
}

void RaiseRewriter::replace(Value from, Value to) {
  from.replaceAllUsesWith(to);
  algebra.forgetElements();
}

Value RaiseRewriter::getConstantRoot(Expr load) {
  if (load->getKind() != ExprKind::Load)
    return {};
  Value root = algebra.getRoot(load);
  Operation *op = root.getDefiningOp();
  return op && isa<ConstantOp, WeightRefOp>(op) ? root : Value();
}

Value RaiseRewriter::linearRows(Value value, int64_t first, int64_t count) {
  auto linear = value.getDefiningOp<decode::LinearOp>();
  if (!linear)
    return {};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(linear);
  Value weight = weights.loadRows(builder, linear.getWeight(), first, count);
  Value bias = linear.getBias();
  if (bias)
    bias = weights.loadRows(builder, bias, first, count);
  return create<decode::LinearOp>(linear.getLoc(),
                                  tensorOf({batch, rows, count}), linear.getX(),
                                  weight, bias);
}

Value RaiseRewriter::asRows(Expr element, Expr b, Expr s, Expr c,
                            int64_t columns) {
  if (element->getKind() != ExprKind::Load)
    return {};
  Value root = algebra.getRoot(element);
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (!type || !type.hasStaticShape() || type.getElementType() != f32())
    return {};
  ArrayRef<int64_t> shape = type.getShape();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(root);
  if (type.getRank() == 4 && shape[2] * shape[3] == columns) {
    Expr expected = algebra.loadOf(
        root, {b, s, context.floorDiv(c, shape[3]), context.mod(c, shape[3])});
    if (element != expected)
      return {};
    return create<tensor::CollapseShapeOp>(
        root.getLoc(), tensorOf({batch, rows, columns}), root,
        ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
  }
  if (type.getRank() != 3)
    return {};
  auto first = context.asInteger(context.sub(element->getOperand(2), c));
  if (!first || *first < 0 || *first + columns > shape[2] ||
      element !=
          algebra.loadOf(root, {b, s, context.add(c, context.integer(*first))}))
    return {};
  return columns == shape[2] ? root : linearRows(root, *first, columns);
}

Value RaiseRewriter::asHeads(Expr element, Expr b, Expr s, Expr h, Expr d,
                             int64_t heads, int64_t size) {
  if (element->getKind() != ExprKind::Load)
    return {};
  Value root = algebra.getRoot(element);
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (type && type.getRank() == 4) {
    bool isWhole = type == tensorOf({batch, rows, heads, size}) &&
                   element == algebra.loadOf(root, {b, s, h, d});
    return isWhole ? root : Value();
  }
  if (!type || type.getRank() != 3)
    return {};
  // Columns h x size + d, from a first one on.
  Expr column = context.add(context.scale(h, static_cast<double>(size)), d);
  auto first = context.asInteger(context.sub(element->getOperand(2), column));
  if (!first)
    return {};
  Expr c = context.variable(heads * size);
  Expr whole =
      algebra.loadOf(root, {b, s, context.add(c, context.integer(*first))});
  if (element !=
      algebra.loadOf(root,
                     {b, s, context.add(column, context.integer(*first))}))
    return {};
  Value flat = asRows(whole, b, s, c, heads * size);
  if (!flat)
    return {};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(flat);
  return create<tensor::ExpandShapeOp>(
      flat.getLoc(), tensorOf({batch, rows, heads, size}), flat,
      ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
}

Value RaiseRewriter::headsFirst(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  NamedAttribute perm(builder.getStringAttr("perm"),
                      builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  return create<NodeOp>(
             value.getLoc(),
             TypeRange(tensorOf({shape[0], shape[2], shape[1], shape[3]})),
             ValueRange(value), builder.getStringAttr("Transpose"),
             StringAttr(), builder.getI64IntegerAttr(13), StringAttr(),
             builder.getDictionaryAttr(perm))
      .getResult(0);
}

Value RaiseRewriter::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get({static_cast<int64_t>(shape.size())},
                                    builder.getI64Type());
  Value sizes = create<ConstantOp>(
      value.getLoc(), DenseElementsAttr::get(type, shape), StringAttr());
  return create<NodeOp>(value.getLoc(), TypeRange(tensorOf(shape)),
                        ValueRange{value, sizes},
                        builder.getStringAttr("Reshape"), StringAttr(),
                        builder.getI64IntegerAttr(14), StringAttr(),
                        DictionaryAttr())
      .getResult(0);
}

void RaiseRewriter::eraseDead() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(graph.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

double sdc::asWritten(double value) {
  char text[32];
  for (int digits = 1; digits < 9; ++digits) {
    std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    double written = std::strtod(text, nullptr);
    if (static_cast<float>(written) == static_cast<float>(value))
      return written;
  }
  return value;
}

void sdc::forEachEntry(ModuleOp module,
                       llvm::function_ref<void(RaiseRewriter &)> rewrite) {
  WeightSymbols weights(module);
  for (auto graph : module.getOps<GraphOp>()) {
    bool isDecoder = false;
    for (unsigned i = 0; i < graph.getNumArguments(); ++i)
      isDecoder |= graph.getArgRole(i) == "input_ids";
    if (!isDecoder)
      continue;
    RaiseRewriter rewriter(graph, weights);
    rewrite(rewriter);
    rewriter.eraseDead();
  }
}
