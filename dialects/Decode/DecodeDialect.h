// The decode dialect: everything that C++ needs to use it.

#ifndef SDC_DIALECTS_DECODE_DECODEDIALECT_H
#define SDC_DIALECTS_DECODE_DECODEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Decode/DecodeDialect.h.inc"
#include "dialects/Decode/DecodeEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Decode/DecodeAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Decode/DecodeTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Decode/DecodeOps.h.inc"

namespace sdc::decode {

/// Name of the attribute that makes a func.func an entry: "decode" or
/// "prefill".
constexpr llvm::StringLiteral kEntryAttr = "decode.entry";

} // namespace sdc::decode

#endif // SDC_DIALECTS_DECODE_DECODEDIALECT_H
