// Attributes of the nm dialect: registration, text forms, verifiers. (Cx) are
// the constraints numbered in NMAttrs.td.

#include "dialects/NM/NMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace sdc::nm;

#define GET_ATTRDEF_CLASSES
#include "dialects/NM/NMAttrs.cpp.inc"

void NMDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NM/NMAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// PatternAttr
//===----------------------------------------------------------------------===//

// body ::= `dense` | integer `:` integer
static PatternAttr parsePatternBody(AsmParser &parser) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  unsigned n = 1, m = 1;
  if (failed(parser.parseOptionalKeyword("dense")) &&
      (parser.parseInteger(n) || parser.parseColon() || parser.parseInteger(m)))
    return {};
  return parser.getChecked<PatternAttr>(loc, parser.getContext(), n, m);
}

// pattern ::= `<` body `>`
Attribute PatternAttr::parse(AsmParser &parser, Type) {
  PatternAttr pattern;
  if (parser.parseLess() || !(pattern = parsePatternBody(parser)) ||
      parser.parseGreater())
    return {};
  return pattern;
}

void PatternAttr::print(AsmPrinter &printer) const {
  printer << "<" << getValue().str() << ">";
}

LogicalResult
PatternAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    unsigned n, unsigned m) {
  std::string problem = sdc::Pattern{n, m}.problem();
  if (!problem.empty()) // (C1)
    return emitError() << problem;
  return success();
}

//===----------------------------------------------------------------------===//
// ReportAttr
//===----------------------------------------------------------------------===//

ReportAttr ReportAttr::get(MLIRContext *context, sdc::Pattern pattern,
                           StringRef method, double damping, double loss,
                           double relativeLoss, ArrayRef<std::string> notes) {
  SmallVector<StringAttr> attrs;
  for (const std::string &note : notes)
    attrs.push_back(StringAttr::get(context, note));
  return get(context, PatternAttr::get(context, pattern), method,
             APFloat(damping), APFloat(loss), APFloat(relativeLoss), attrs);
}

/// A number; NaN is written `unknown`, since the parser has no word for it.
static ParseResult parseKnown(AsmParser &parser, double &value) {
  if (succeeded(parser.parseOptionalKeyword("unknown"))) {
    value = std::numeric_limits<double>::quiet_NaN();
    return success();
  }
  return parser.parseFloat(value);
}

static void printKnown(AsmPrinter &printer, const APFloat &value) {
  if (value.isNaN())
    printer << "unknown";
  else
    printer.printFloat(value);
}

// number ::= float | `unknown`
// report ::= `<` pattern-body `,` string `,` `damping` float `,` `loss` number
//            `,` `relative` number (`,` `notes` string (`,` string)*)? `>`
Attribute ReportAttr::parse(AsmParser &parser, Type) {
  PatternAttr pattern;
  std::string method;
  double damping = 0, loss = 0, relative = 0;
  SmallVector<StringAttr> notes;
  if (parser.parseLess() || !(pattern = parsePatternBody(parser)) ||
      parser.parseComma() || parser.parseString(&method) ||
      parser.parseComma() || parser.parseKeyword("damping") ||
      parser.parseFloat(damping) || parser.parseComma() ||
      parser.parseKeyword("loss") || parseKnown(parser, loss) ||
      parser.parseComma() || parser.parseKeyword("relative") ||
      parseKnown(parser, relative))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseNote = [&]() -> ParseResult {
      std::string note;
      if (parser.parseString(&note))
        return failure();
      notes.push_back(StringAttr::get(parser.getContext(), note));
      return success();
    };
    if (parser.parseKeyword("notes") ||
        parser.parseCommaSeparatedList(parseNote))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), pattern, method, APFloat(damping),
             APFloat(loss), APFloat(relative), notes);
}

void ReportAttr::print(AsmPrinter &printer) const {
  printer << "<" << getPattern().getValue().str() << ", ";
  printer.printString(getMethod());
  printer << ", damping ";
  printer.printFloat(getDamping());
  printer << ", loss ";
  printKnown(printer, getLoss());
  printer << ", relative ";
  printKnown(printer, getRelativeLoss());
  if (!getNotes().empty()) {
    printer << ", notes ";
    llvm::interleaveComma(
        getNotes(), printer.getStream(),
        [&](StringAttr note) { printer.printString(note.getValue()); });
  }
  printer << ">";
}
