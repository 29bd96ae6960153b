// Types of the nm dialect: registration, text forms, verifiers. (Cx) are the
// constraints numbered in NMTypes.td.

#include "dialects/NM/NMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sdc::nm;

#define GET_TYPEDEF_CLASSES
#include "dialects/NM/NMTypes.cpp.inc"

void NMDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/NM/NMTypes.cpp.inc"
      >();
}

std::optional<sdc::ElementType> sdc::nm::toElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  return std::nullopt;
}

FloatType sdc::nm::fromElementType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  }
  llvm_unreachable("every element type has a float type");
}

// packed ::= `<` rows `x` K `x` type `,` (`dense` | n `:` m) `,` tile `>`
Type PackedType::parse(AsmParser &parser) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> sizes;
  Type element;
  unsigned n = 1, m = 1;
  StringRef tile;
  if (parser.parseLess() ||
      parser.parseDimensionList(sizes, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma())
    return {};
  llvm::SMLoc patternLoc = parser.getCurrentLocation();
  if ((failed(parser.parseOptionalKeyword("dense")) &&
       (parser.parseInteger(n) || parser.parseColon() ||
        parser.parseInteger(m))) ||
      parser.parseComma() || parser.parseKeyword(&tile) ||
      parser.parseGreater())
    return {};
  if (sizes.size() != 2) {
    parser.emitError(loc) << "expected rows x K x type, got " << sizes.size()
                          << " sizes";
    return {};
  }
  auto pattern =
      parser.getChecked<PatternAttr>(patternLoc, parser.getContext(), n, m);
  if (!pattern)
    return {};
  return parser.getChecked<PackedType>(loc, parser.getContext(), sizes[0],
                                       sizes[1], element, pattern, tile);
}

void PackedType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << "x" << getElementType()
          << ", " << getPattern().getValue().str() << ", " << getTile() << ">";
}

PackedType PackedType::get(MLIRContext *context, const PackedLayout &layout) {
  return get(context, layout.rows, layout.columns,
             fromElementType(context, layout.type),
             PatternAttr::get(context, layout.pattern), layout.tile.str());
}

LogicalResult
PackedType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t rows, int64_t columns, Type elementType,
                   PatternAttr pattern, StringRef tileName) {
  std::optional<ElementType> type = toElementType(elementType);
  if (!type) // (C1)
    return emitError() << "expected values of f32, f16 or bf16, got "
                       << elementType;
  std::string problem;
  std::optional<sdc::Tile> tile = sdc::Tile::parse(tileName, problem);
  if (!tile) // (C1)
    return emitError() << problem;
  problem =
      PackedLayout{rows, columns, *type, pattern.getValue(), *tile}.problem();
  if (!problem.empty()) // (C1)
    return emitError() << problem;
  return success();
}

sdc::PackedLayout PackedType::getLayout() const {
  std::string problem;
  return {getRows(), getColumns(), *toElementType(getElementType()),
          getPattern().getValue(), *sdc::Tile::parse(getTile(), problem)};
}

RankedTensorType PackedType::getTensorType() const {
  return RankedTensorType::get({getRows(), getColumns()}, getElementType());
}
