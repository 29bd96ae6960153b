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

/// Name of the attribute of an entry's argument or result that holds its name
/// in the source model, a string.
constexpr llvm::StringLiteral kNameAttr = "decode.name";

/// Name of the attribute of a module that holds the context that the model
/// itself was made for, an integer; absent where it is not known.
constexpr llvm::StringLiteral kModelContextAttr = "decode.model_context";

} // namespace sdc::decode

#endif // SDC_DIALECTS_DECODE_DECODEDIALECT_H
