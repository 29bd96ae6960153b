// The exec dialect: everything that C++ needs to use it.

#ifndef SDC_DIALECTS_EXEC_EXECDIALECT_H
#define SDC_DIALECTS_EXEC_EXECDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace sdc::exec {

/// Alignment of everything that a kernel is given: one cache line.
constexpr int64_t kAlignment = 64;
constexpr int64_t alignUp(int64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

/// Number of `type` in the schema's enum Element; -1 for a type that the
/// schema does not know.
int elementCode(mlir::Type type);

/// Bytes of a static tensor of such elements in row-major order.
int64_t tensorBytes(mlir::RankedTensorType type);

} // namespace sdc::exec

#endif // SDC_DIALECTS_EXEC_EXECDIALECT_H
