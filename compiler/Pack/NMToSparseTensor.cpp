// nm values and products -> sparse_tensor conversions and linalg on sparse
// operands.

#include "compiler/Pack/SparseTensorTypes.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_CONVERTNMTOSPARSETENSORPASS
#include "compiler/Passes.h.inc"

namespace {

/// `value` with the element type `element`.
Value castTo(OpBuilder &builder, Location loc, Value value, Type element) {
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  auto to = cast<FloatType>(element);
  if (from == to)
    return value;
  Type type = to;
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    type = tensor.clone(to);
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from.getWidth() > to.getWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  // Between the 16-bit types by way of f32.
  return castTo(builder, loc, castTo(builder, loc, value, builder.getF32Type()),
                to);
}

struct ConvertPack : OpConversionPattern<nm::PackOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(nm::PackOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getMask())
      return rewriter.notifyMatchFailure(
          op, "a mask may keep zeros, which sparse_tensor does not store");
    Type type = getTypeConverter()->convertType(op.getType());
    Value rounded = castTo(rewriter, op.getLoc(), adaptor.getWeight(),
                           op.getType().getElementType());
    rewriter.replaceOpWithNewOp<sparse_tensor::ConvertOp>(op, type, rounded);
    return success();
  }
};

struct ConvertUnpack : OpConversionPattern<nm::UnpackOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(nm::UnpackOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<sparse_tensor::ConvertOp>(op, op.getType(),
                                                          adaptor.getPacked());
    return success();
  }
};

/// result[b, s, r] = bias[r] or 0, plus the sum over k.
struct ConvertLinear : OpConversionPattern<nm::LinearOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(nm::LinearOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getType();
    Value init = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                         type.getElementType());
    if (Value bias = adaptor.getBias()) {
      bias = castTo(rewriter, loc, bias, type.getElementType());
      init = linalg::BroadcastOp::create(rewriter, loc, bias, init,
                                         ArrayRef<int64_t>{0, 1})
                 ->getResult(0);
    } else {
      Value zero = arith::ConstantOp::create(
          rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
      init = linalg::FillOp::create(rewriter, loc, zero, init).getResult(0);
    }
    AffineExpr b, s, r, k;
    bindDims(rewriter.getContext(), b, s, r, k);
    SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
        ArrayRef<SmallVector<AffineExpr, 4>>{{b, s, k}, {r, k}, {b, s, r}},
        rewriter.getContext());
    using utils::IteratorType;
    auto product = linalg::GenericOp::create(
        rewriter, loc, TypeRange{type},
        ValueRange{adaptor.getX(), adaptor.getWeight()}, ValueRange{init}, maps,
        ArrayRef<IteratorType>{IteratorType::parallel, IteratorType::parallel,
                               IteratorType::parallel, IteratorType::reduction},
        [&](OpBuilder &builder, Location at, ValueRange args) {
          Value w = castTo(builder, at, args[1], type.getElementType());
          Value p = arith::MulFOp::create(builder, at, args[0], w);
          Value sum = arith::AddFOp::create(builder, at, args[2], p);
          linalg::YieldOp::create(builder, at, sum);
        });
    rewriter.replaceOp(op, product);
    return success();
  }
};

struct ConvertNMToSparseTensorPass
    : impl::ConvertNMToSparseTensorPassBase<ConvertNMToSparseTensorPass> {
  void runOnOperation() override {
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](nm::PackedType type) -> std::optional<Type> {
      if (RankedTensorType tensor = toSparseTensor(type))
        return tensor;
      return std::nullopt; // As it is.
    });
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    addTypeConversion(converter, patterns, target);
    patterns.add<ConvertPack, ConvertUnpack, ConvertLinear>(converter,
                                                            &getContext());
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
