// Registers what the exec dialect consists of: attributes, types, operations.

#include "dialects/Exec/ExecDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sdc::exec;

/// A double without its type: 1.000000e-02.
static ParseResult parseNumber(AsmParser &parser, FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

static void printNumber(AsmPrinter &printer, FloatAttr value) {
  printer.printFloat(value.getValue());
}

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.cpp.inc"

void ExecDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
}

void ExecDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Exec/ExecTypes.cpp.inc"
      >();
}

void ExecDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}
