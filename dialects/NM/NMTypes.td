// Types of the nm dialect: packed weights are a type, not a convention.

#ifndef SDC_DIALECTS_NM_NMTYPES_TD
#define SDC_DIALECTS_NM_NMTYPES_TD

include "dialects/NM/NMAttrs.td"

def NM_PackedType : TypeDef<NM_Dialect, "Packed"> {
  let mnemonic = "packed";
  let summary = "A weight [rows, K] without its zeros";
  let description = [{
    For each row and each 32 columns one 32-bit mask, then N * 32 / M values in
    column order; `tile` names the order of rows and words (kernels/Format/Tile.h)
    and kernels/Format/Bitmask.h the bytes. For `!nm.packed<3x64xbf16, 2:4,
    rows2>`, with 16 values a word:

    ```
    byte       0     4     8           40          72    76    80
    block 0    m0,0  m1,0  v0,0 x 16   v1,0 x 16   m0,1  m1,1  v0,1 x 16 ...
    block 1    m2,0  mask  v2,0 x 16   zeros       m2,1  mask  v2,1 x 16 ...
               mr,w: mask word w of row r; a block is padded to 64 bytes
    ```

    A dense pattern stores 32 values for each word and no masks.

    Constraint:
    - (C1) kernels/Format has such a layout: rows, K >= 1; f32, f16 or bf16; a
      tile of a known name.

    Example: `!nm.packed<576x576xbf16, 16:32, rows8>`

    Refused by (C1), since half a value has no type here:
    `!nm.packed<4x32xi4, 2:4, rows8>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns,
                        "::mlir::Type":$elementType,
                        "::sdc::nm::PatternAttr":$pattern,
                        StringRefParameter<"tile">:$tile);
  let builders = [
    TypeBuilder<(ins "const ::sdc::PackedLayout &":$layout)>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Where every byte lies.
    ::sdc::PackedLayout getLayout() const;
    /// The tensor that was packed: [rows, K] of the element type.
    ::mlir::RankedTensorType getTensorType() const;
  }];
}

#endif // SDC_DIALECTS_NM_NMTYPES_TD
