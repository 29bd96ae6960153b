// sparse_tensor conversions and products on structured operands -> nm.

#include "compiler/Pack/SparseTensorTypes.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_CONVERTSPARSETENSORTONMPASS
#include "compiler/Passes.h.inc"

namespace {

struct ConvertConvert : OpConversionPattern<sparse_tensor::ConvertOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(sparse_tensor::ConvertOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    bool fromPacked = isa<nm::PackedType>(adaptor.getSource().getType());
    bool toPacked = isa<nm::PackedType>(type);
    if (fromPacked == toPacked)
      return rewriter.notifyMatchFailure(
          op, "expected a dense tensor on one side of the conversion");
    Value dense = fromPacked ? op.getResult() : op.getSource();
    if (cast<RankedTensorType>(dense.getType()).getEncoding())
      return rewriter.notifyMatchFailure(op, "the other side is sparse too");
    if (toPacked)
      rewriter.replaceOpWithNewOp<nm::PackOp>(op, type, adaptor.getSource(),
                                              Value());
    else
      rewriter.replaceOpWithNewOp<nm::UnpackOp>(op, type, adaptor.getSource());
    return success();
  }
};

/// `value` behind extensions to f32.
Value stripExtensions(Value value) {
  while (auto ext = value.getDefiningOp<arith::ExtFOp>())
    value = ext.getIn();
  return value;
}

/// Whether the body is out + x * w, up to commutation.
bool isMultiplyAdd(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value out = body.getArgument(2), x = body.getArgument(0),
        w = body.getArgument(1);
  Value product = add.getLhs() == out   ? add.getRhs()
                  : add.getRhs() == out ? add.getLhs()
                                        : Value();
  auto mul = product ? product.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!mul)
    return false;
  Value lhs = stripExtensions(mul.getLhs()),
        rhs = stripExtensions(mul.getRhs());
  return (lhs == x && rhs == w) || (lhs == w && rhs == x);
}

struct ConvertProduct : OpConversionPattern<linalg::GenericOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(linalg::GenericOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AffineExpr b, s, r, k;
    bindDims(rewriter.getContext(), b, s, r, k);
    SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
        ArrayRef<SmallVector<AffineExpr, 4>>{{b, s, k}, {r, k}, {b, s, r}},
        rewriter.getContext());
    if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
        op.getIndexingMapsArray() != maps || op.getNumReductionLoops() != 1 ||
        op.getIteratorTypesArray()[3] != utils::IteratorType::reduction ||
        !isMultiplyAdd(op))
      return rewriter.notifyMatchFailure(op, "not a product x W^T");
    Value x = adaptor.getInputs()[0], w = adaptor.getInputs()[1];
    auto type = cast<RankedTensorType>(op.getType(0));
    if (!isa<nm::PackedType>(w.getType()) ||
        !getElementTypeOrSelf(x.getType()).isF32() ||
        !type.getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "expected f32 x and result");

    Value init = op.getDpsInits()[0], bias;
    if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
      if (!matchPattern(fill.value(), m_AnyZeroFloat()))
        return rewriter.notifyMatchFailure(op, "starts from another value");
    } else if (auto broadcast = init.getDefiningOp<linalg::BroadcastOp>();
               broadcast &&
               broadcast.getDimensions() == ArrayRef<int64_t>({0, 1})) {
      bias = broadcast.getInput();
    } else {
      return rewriter.notifyMatchFailure(op,
                                         "starts neither from 0 nor a bias");
    }
    rewriter.replaceOpWithNewOp<nm::LinearOp>(op, type, x, w, bias,
                                              nm::PatternAttr());
    return success();
  }
};

struct ConvertSparseTensorToNMPass
    : impl::ConvertSparseTensorToNMPassBase<ConvertSparseTensorToNMPass> {
  using ConvertSparseTensorToNMPassBase::ConvertSparseTensorToNMPassBase;

  void runOnOperation() override {
    std::string problem;
    if (!tile.empty() && !Tile::parse(tile.getValue(), problem)) {
      emitError(getOperation().getLoc(), problem);
      return signalPassFailure();
    }
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([&](RankedTensorType type) -> std::optional<Type> {
      if (nm::PackedType packed = fromSparseTensor(type, tile))
        return packed;
      return std::nullopt; // As it is.
    });
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    addTypeConversion(converter, patterns, target);
    patterns.add<ConvertConvert, ConvertProduct>(converter, &getContext());
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
