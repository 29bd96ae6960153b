// Types of the decode dialect.

#ifndef SDC_DIALECTS_DECODE_DECODETYPES_TD
#define SDC_DIALECTS_DECODE_DECODETYPES_TD

include "dialects/Decode/DecodeDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Decode_CacheType : TypeDef<Decode_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "The keys or the values of one layer, kept from step to step";
  let description = [{
    One vector of `headSize` elements for each (slot, head, position):
    `!decode.cache<slots x heads x positions x headSize x element>`, row-major.
    A value of this type is the state after the op that gives it; states are
    updated in place, so each has one user that changes it.

    Example: `!decode.cache<1x3x512x64xbf16>`
  }];
  let parameters = (ins "int64_t":$slots, "int64_t":$heads, "int64_t":$positions,
                        "int64_t":$headSize, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // SDC_DIALECTS_DECODE_DECODETYPES_TD
