// Declarations of every pass, generated from Passes.td.

#ifndef SDC_COMPILER_PASSES_H
#define SDC_COMPILER_PASSES_H

#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Passes.h.inc"

} // namespace sdc

#endif // SDC_COMPILER_PASSES_H
