// The border between nm and sparse_tensor.

#include "compiler/Pack/SparseTensorTypes.h"

#include "kernels/Select/Select.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace sdc;
using sparse_tensor::LevelFormat;
using sparse_tensor::SparseTensorEncodingAttr;

/// (r, k) -> (r, k floordiv M, k mod M)
static AffineMap groupMap(MLIRContext *context, unsigned m) {
  AffineExpr r = getAffineDimExpr(0, context), k = getAffineDimExpr(1, context);
  return AffineMap::get(2, 0, {r, k.floorDiv(m), k % m}, context);
}

RankedTensorType sdc::toSparseTensor(nm::PackedType type) {
  sdc::Pattern pattern = type.getPattern().getValue();
  if (pattern.isDense() || type.getColumns() % pattern.m != 0)
    return {};
  MLIRContext *context = type.getContext();
  sparse_tensor::LevelType dense(LevelFormat::Dense);
  sparse_tensor::LevelType structured =
      *sparse_tensor::buildLevelType(LevelFormat::NOutOfM, /*ordered=*/true,
                                     /*unique=*/true, pattern.n, pattern.m);
  auto encoding = SparseTensorEncodingAttr::get(
      context, {dense, dense, structured}, groupMap(context, pattern.m));
  return RankedTensorType::get({type.getRows(), type.getColumns()},
                               type.getElementType(), encoding);
}

nm::PackedType sdc::fromSparseTensor(RankedTensorType type, StringRef tile) {
  auto encoding =
      dyn_cast_or_null<SparseTensorEncodingAttr>(type.getEncoding());
  if (!encoding || type.getRank() != 2 || !type.hasStaticShape() ||
      encoding.getLvlRank() != 3 || encoding.getExplicitVal() ||
      encoding.getImplicitVal() || encoding.isSlice())
    return {};
  ArrayRef<sparse_tensor::LevelType> levels = encoding.getLvlTypes();
  std::optional<ElementType> element = nm::toElementType(type.getElementType());
  if (!element || !levels[0].isa<LevelFormat::Dense>() ||
      !levels[1].isa<LevelFormat::Dense>() ||
      !levels[2].isa<LevelFormat::NOutOfM>())
    return {};
  sdc::Pattern pattern{static_cast<unsigned>(levels[2].getN()),
                       static_cast<unsigned>(levels[2].getM())};
  PackedLayout layout{type.getDimSize(0), type.getDimSize(1), *element, pattern,
                      Tile::interleavedRows(1)};
  if (pattern.isDense() || !layout.problem().empty() ||
      layout.columns % pattern.m != 0 ||
      encoding.getDimToLvl() != groupMap(type.getContext(), pattern.m))
    return {};
  std::string problem;
  std::optional<Tile> named = Tile::parse(tile, problem);
  layout.tile =
      named ? *named : selectCpuTile(layout.rows, layout.columns, pattern).tile;
  return nm::PackedType::get(type.getContext(), layout);
}

void sdc::addTypeConversion(TypeConverter &converter,
                            RewritePatternSet &patterns,
                            ConversionTarget &target) {
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType()) &&
           converter.isLegal(&op.getBody());
  });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
}
