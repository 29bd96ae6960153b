// Types of the decode dialect: registration and text forms.

#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sdc::decode;

#define GET_TYPEDEF_CLASSES
#include "dialects/Decode/DecodeTypes.cpp.inc"

void DecodeDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Decode/DecodeTypes.cpp.inc"
      >();
}

// cache ::= `<` slots `x` heads `x` context `x` head-size `x` type `>`
Type CacheType::parse(AsmParser &parser) {
  SmallVector<int64_t> sizes;
  Type element;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(sizes, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  if (sizes.size() != 4) {
    parser.emitError(loc)
        << "expected slots x heads x positions x head size, got "
        << sizes.size() << " sizes";
    return {};
  }
  return parser.getChecked<CacheType>(parser.getContext(), sizes[0], sizes[1],
                                      sizes[2], sizes[3], element);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << "<" << getSlots() << "x" << getHeads() << "x" << getPositions()
          << "x" << getHeadSize() << "x" << getElementType() << ">";
}

LogicalResult
CacheType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  int64_t slots, int64_t heads, int64_t positions,
                  int64_t headSize, Type element) {
  if (slots < 1 || heads < 1 || positions < 1 || headSize < 1)
    return emitError() << "expected sizes of at least 1";
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return emitError() << "expected f32, f16 or bf16, got " << element;
  return success();
}
