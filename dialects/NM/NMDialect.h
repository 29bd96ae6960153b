// The nm dialect: everything that C++ needs to use it.

#ifndef SDC_DIALECTS_NM_NMDIALECT_H
#define SDC_DIALECTS_NM_NMDIALECT_H

#include "dialects/Decode/DecodeDialect.h"
#include "kernels/Format/Bitmask.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NM/NMDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NM/NMAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/NM/NMTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/NM/NMOps.h.inc"

namespace sdc::nm {

/// Name of the discardable attribute of a decode.weight that holds its
/// #nm.report between prune and pack.
constexpr llvm::StringLiteral kReportAttr = "nm.report";

/// The value type of kernels/Format that `type` is, if it is one; and back.
std::optional<ElementType> toElementType(mlir::Type type);
mlir::FloatType fromElementType(mlir::MLIRContext *context, ElementType type);

} // namespace sdc::nm

#endif // SDC_DIALECTS_NM_NMDIALECT_H
