// Attributes of the decode dialect: registration, text forms, verifiers. (Cx)
// are the constraints numbered in DecodeAttrs.td.

#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sdc::decode;

#include "dialects/Decode/DecodeEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Decode/DecodeAttrs.cpp.inc"

void DecodeDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Decode/DecodeAttrs.cpp.inc"
      >();
}

LogicalResult
FileAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 StringRef /*path*/, int64_t offset, int64_t length) {
  if (offset < 0 || length < 0) // (C1)
    return emitError() << "expected offset >= 0 and length >= 0, got " << offset
                       << " and " << length;
  return success();
}

// view ::= `<` type `,` integer (`,` `transposed`)? `>`
Attribute ViewAttr::parse(AsmParser &parser, Type) {
  RankedTensorType stored;
  int64_t first = 0;
  bool transposed = false;
  if (parser.parseLess() || parser.parseType(stored) || parser.parseComma() ||
      parser.parseInteger(first))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("transposed"))
      return {};
    transposed = true;
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), stored, first, transposed);
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << "<" << getStored() << ", " << getFirst();
  if (getTransposed())
    printer << ", transposed";
  printer << ">";
}
