// Operations of the nm dialect.

#ifndef SDC_DIALECTS_NM_NMOPS_TD
#define SDC_DIALECTS_NM_NMOPS_TD

include "dialects/NM/NMTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def NM_WeightOp : NM_Op<"weight", [Symbol]> {
  let summary = "A packed weight, whose bytes are named and not held";
  let description = [{
    What `decode.weight` becomes in pack. `decode.load` gives its value. The
    source is a `#decode.file`, or, for at most 64 KiB, bytes as an elements
    attribute of i8.

    Constraints:
    - (C1) the type is a `!nm.packed`.
    - (C2) the source has exactly the bytes that the type takes.

    Example:

    ```mlir
    nm.weight @layers.7.q : !nm.packed<576x576xbf16, 16:32, rows8>
        from #decode.file<"model.spool", 0, 373248>
        report <16:32, "sparsegpt", damping 1.000000e-02, loss 1.250000e+00,
                relative 3.000000e-02>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       AnyAttr:$source, OptionalAttr<NM_ReportAttr>:$report);
  let assemblyFormat = [{
    $sym_name `:` $type `from` $source (`report` $report^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    PackedType getPackedType() { return ::llvm::cast<PackedType>(getType()); }
  }];
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def NM_LinearOp : NM_Op<"linear", [Pure]> {
  let summary = "x W^T + b with an N:M sparse weight";
  let description = [{
    `result[b, s, r]` is the sum over k of `x[b, s, k] * weight[r, k]`, plus
    `bias[r]`. The weight is packed, or a plain tensor whose rows obey
    `pattern`; the operation relies on that and does not enforce it.

    Constraints:
    - (C1) x [B, S, K], weight [rows, K], result [B, S, rows].
    - (C2) bias [rows].
    - (C3) a plain weight has a pattern, which is not dense (that would be a
      `decode.linear`); a packed one has none, its type says it.

    Example:

    ```mlir
    %y = nm.linear %x, %w pattern <2:4>
        : tensor<1x1x64xf32>, tensor<32x64xbf16> -> tensor<1x1x32xf32>
    %z = nm.linear %x, %p bias %b
        : tensor<1x1x64xf32>, !nm.packed<32x64xbf16, 2:4, rows8>
          bias tensor<32xf32> -> tensor<1x1x32xf32>
    ```

    Refused by (C3), since the pattern is said twice:

    ```mlir
    %z = nm.linear %x, %p pattern <2:4>
        : tensor<1x1x64xf32>, !nm.packed<32x64xbf16, 2:4, rows8>
        -> tensor<1x1x32xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$x,
                       AnyTypeOf<[2DTensorOf<[AnyFloat]>, NM_PackedType]>:$weight,
                       Optional<1DTensorOf<[AnyFloat]>>:$bias,
                       OptionalAttr<NM_PatternAttr>:$pattern);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? (`pattern` $pattern^)? attr-dict
    `:` type($x) `,` type($weight) (`bias` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The pattern of the weight, wherever it is said.
    PatternAttr getWeightPattern();
  }];
}

def NM_EmbedOp : NM_Op<"embed", [Pure]> {
  let summary = "Rows of a packed table, chosen by token ids";
  let description = [{
    `decode.embed` of the weight that a dense head multiplies by, so that tied
    weights are there once: `result[b, s, :]` is `table[tokens[b, s], :] *
    scale`.

    Constraints:
    - (C1) tokens [B, S], table [V, H], result [B, S, H].
    - (C2) the pattern of the table is dense.

    Example:

    ```mlir
    %x = nm.embed %tokens, %p
        : tensor<1x1xi64>, !nm.packed<256x64xbf16, dense, rows8>
        -> tensor<1x1x64xf32>
    ```

    Refused by (C2), since an embedding is not pruned with its head:

    ```mlir
    %x = nm.embed %tokens, %p
        : tensor<1x1xi64>, !nm.packed<256x64xbf16, 2:4, rows8>
        -> tensor<1x1x64xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[I64]>:$tokens, NM_PackedType:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $tokens `,` $table attr-dict
    `:` type($tokens) `,` qualified(type($table)) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def NM_PruneOp : NM_Op<"prune", [Pure, AllTypesMatch<["weight", "result"]>]> {
  let summary = "Keeps the N weights of largest magnitude of every M";
  let description = [{
    What is not kept becomes +0, and so does -0; of equal magnitudes the lower
    column is kept. A last group of fewer than M columns keeps at most N.

    Example: `%q = nm.prune %w <2:4> : tensor<32x64xf32>`
  }];
  let arguments = (ins 2DTensorOf<[F32, F16, BF16]>:$weight,
                       NM_PatternAttr:$pattern);
  let results = (outs 2DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = "$weight $pattern attr-dict `:` type($weight)";
  let hasFolder = 1;
}

def NM_MaskOp : NM_Op<"mask", [Pure]> {
  let summary = "The mask words of a weight";
  let description = [{
    Bit j of `result[r, w]` says that column 32 w + j of row r is kept. Of a
    tensor the non-zeros are kept, and groups with fewer than N completed by
    their lowest columns, as in kernels/Format.

    Constraints:
    - (C1) weight [rows, K], result [rows, ceil(K / 32)].
    - (C2) a plain weight has a pattern, a packed one has none.

    Example:

    ```mlir
    %m = nm.mask %w pattern <2:4> : tensor<32x64xf32> -> tensor<32x2xi32>
    %n = nm.mask %p : !nm.packed<32x64xf32, 2:4, rows8> -> tensor<32x2xi32>
    ```
  }];
  let arguments = (ins
      AnyTypeOf<[2DTensorOf<[F32, F16, BF16]>, NM_PackedType]>:$weight,
      OptionalAttr<NM_PatternAttr>:$pattern);
  let results = (outs 2DTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $weight (`pattern` $pattern^)? attr-dict
    `:` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NM_PackOp : NM_Op<"pack", [Pure]> {
  let summary = "Packs a weight whose rows obey the pattern";
  let description = [{
    Without `mask` the non-zeros are kept. Values are rounded to the packed
    type, to nearest even. A weight that does not obey the pattern, or is not
    finite, has no packed form.

    Constraints:
    - (C1) weight [rows, K] as in the type of the result.
    - (C2) mask [rows, ceil(K / 32)], and none for a dense pattern.

    Example:

    ```mlir
    %p = nm.pack %w mask %m : tensor<32x64xf32>, tensor<32x2xi32>
        -> !nm.packed<32x64xbf16, 2:4, rows8>
    ```

    Refused by (C1), since rows are padded by the tile and never by hand:

    ```mlir
    %p = nm.pack %w : tensor<31x64xf32> -> !nm.packed<32x64xf32, 2:4, rows8>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32, F16, BF16]>:$weight,
                       Optional<2DTensorOf<[I32]>>:$mask);
  let results = (outs NM_PackedType:$result);
  let assemblyFormat = [{
    $weight (`mask` $mask^)? attr-dict
    `:` type($weight) (`,` type($mask)^)? `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NM_UnpackOp : NM_Op<"unpack", [Pure]> {
  let summary = "The tensor that a packed weight stands for";
  let description = [{
    Constraint:
    - (C1) the result is the tensor of the packed type.

    Example:

    ```mlir
    %w = nm.unpack %p : !nm.packed<32x64xbf16, 2:4, rows8> -> tensor<32x64xbf16>
    ```
  }];
  let arguments = (ins NM_PackedType:$packed);
  let results = (outs 2DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    $packed attr-dict `:` qualified(type($packed)) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SDC_DIALECTS_NM_NMOPS_TD
