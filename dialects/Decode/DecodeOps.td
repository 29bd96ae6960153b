// Operations of the decode dialect.

#ifndef SDC_DIALECTS_DECODE_DECODEOPS_TD
#define SDC_DIALECTS_DECODE_DECODEOPS_TD

include "dialects/Decode/DecodeAttrs.td"
include "dialects/Decode/DecodeTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Decode_WeightOp : Decode_Op<"weight", [Symbol]> {
  let summary = "A constant of the model, whose bytes are named and not held";
  let description = [{
    The symbol of a linear's weight is the linear's name (`layers.7.q`), its
    type is [rows, K] whatever the storage. `source` is a `#decode.file`, a
    `#decode.random`, or, for at most 64 KiB, an elements attribute.

    Constraints:
    - (C1) the type is a ranked tensor with a static shape.
    - (C2) without a view, the source holds as many elements as the type.
    - (C3) with a view, the rows that it reads lie inside `stored`.

    Example:

    ```mlir
    decode.weight @layers.7.q : tensor<576x576xbf16>
        from #decode.file<"model.onnx.data", 4096, 1327104>
        view #decode.view<tensor<576x576xf32>, 0, transposed>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       AnyAttr:$source, OptionalAttr<Decode_ViewAttr>:$view);
  let assemblyFormat = [{
    $sym_name `:` $type `from` $source (`view` $view^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Decode_StateOp : Decode_Op<"state", [Symbol]> {
  let summary = "A cache of the model, one for the keys or values of a layer";
  let description = [{
    `past` and `present` are the names of the graph input and output that the
    state replaces.

    Example:

    ```mlir
    decode.state @layers.0.keys : !decode.cache<1x3x512x64xbf16>
        past "past_key_values.0.key" present "present.0.key"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       StrAttr:$past, StrAttr:$present);
  let assemblyFormat = [{
    $sym_name `:` $type `past` $past `present` $present attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    CacheType getCacheType() { return ::llvm::cast<CacheType>(getType()); }
  }];
}

//===----------------------------------------------------------------------===//
// Constants and rows
//===----------------------------------------------------------------------===//

def Decode_LoadOp : Decode_Op<"load", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a weight";
  let description = [{
    Constraint:
    - (C1) the symbol is a weight (`decode.weight`, or `nm.weight` once packed)
      of the type of the result.

    Example: `%w = decode.load @layers.7.q : tensor<576x576xbf16>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Decode_EmbedOp : Decode_Op<"embed", [Pure]> {
  let summary = "Rows of a table, chosen by token ids or by positions";
  let description = [{
    `result[b, s, :]` is `table[tokens[b, s], :] * scale`. Tokens that are the
    positions of the rows are i32; row 0 is read where they are -1.

    Constraint:
    - (C1) tokens [B, S], table [V, H], result [B, S, H].

    Example:

    ```mlir
    %x = decode.embed %tokens, %table
        : tensor<1x1xi64>, tensor<256x64xf32> -> tensor<1x1x64xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[I32, I64]>:$tokens,
                       2DTensorOf<[AnyFloat]>:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $tokens `,` $table attr-dict
    `:` type($tokens) `,` type($table) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Decode_LastRowOp : Decode_Op<"last_row", [Pure]> {
  let summary = "The last row that takes part";
  let description = [{
    Of `x` [1, S, H], the row s with the largest s for which
    `positions[0, s]` is not -1; row 0 when there is none.

    Example:

    ```mlir
    %y = decode.last_row %x, %positions
        : tensor<1x64x576xf32>, tensor<1x64xi32> -> tensor<1x1x576xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$x, 2DTensorOf<[I32]>:$positions);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $positions attr-dict
    `:` type($x) `,` type($positions) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

def Decode_RmsNormOp : Decode_Op<"rms_norm", [Pure,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last axis";
  let description = [{
    Constraint:
    - (C1) the weight has the size of x's last axis.

    Example:

    ```mlir
    %y = decode.rms_norm %x, %w eps 1.000000e-05
        : tensor<1x1x576xf32>, tensor<576xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x,
                       1DTensorOf<[AnyFloat]>:$weight, F64Attr:$eps);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $weight `eps` $eps attr-dict `:` type($x) `,` type($weight)
  }];
  let hasVerifier = 1;
}

def Decode_LayerNormOp : Decode_Op<"layer_norm", [Pure,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias, last axis";
  let description = [{
    Constraint:
    - (C1) weight and bias have the size of x's last axis.

    Example:

    ```mlir
    %y = decode.layer_norm %x, %w, %b eps 1.000000e-05
        : tensor<1x1x64xf32>, tensor<64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x,
                       1DTensorOf<[AnyFloat]>:$weight,
                       Optional<1DTensorOf<[AnyFloat]>>:$bias, F64Attr:$eps);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $weight (`,` $bias^)? `eps` $eps attr-dict
    `:` type($x) `,` type($weight) (`,` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Decode_LinearOp : Decode_Op<"linear", [Pure]> {
  let summary = "x W^T + b";
  let description = [{
    `result[b, s, r]` is the sum over k of `x[b, s, k] * weight[r, k]`, plus
    `bias[r]`. The weight is a `decode.load`; the linear's name is the name of
    its symbol.

    Constraints:
    - (C1) x [B, S, K], weight [rows, K], result [B, S, rows].
    - (C2) bias [rows].

    Example:

    ```mlir
    %w = decode.load @layers.0.q : tensor<64x64xf32>
    %y = decode.linear %x, %w
        : tensor<1x1x64xf32>, tensor<64x64xf32> -> tensor<1x1x64xf32>
    ```

    Refused by (C1), since ONNX's [K, rows] must be a transposed view:

    ```mlir
    %y = decode.linear %x, %w
        : tensor<1x1x64xf32>, tensor<64x160xf32> -> tensor<1x1x160xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$x, 2DTensorOf<[AnyFloat]>:$weight,
                       Optional<1DTensorOf<[AnyFloat]>>:$bias);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? attr-dict
    `:` type($x) `,` type($weight) (`bias` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Decode_RotaryOp : Decode_Op<"rotary", [Pure,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "Rotary position embedding";
  let description = [{
    With R = 2 x size(frequencies), c = cos(position x frequency) x scale and s
    the same of sin, the pairs (x[i], x[i + R/2]), or (x[2i], x[2i + 1]) when
    `interleaved`, for i < R/2 become (x1 c - x2 s, x2 c + x1 s). Elements from
    R on stay as they are.

    Constraints:
    - (C1) x [B, S, heads, size], positions [B, S].
    - (C2) R is at most the head size.

    Example:

    ```mlir
    %y = decode.rotary %x, %positions, %frequencies
        : tensor<1x1x9x64xf32>, tensor<1x1xi32>, tensor<32xf32>
    ```
  }];
  let arguments = (ins 4DTensorOf<[F32]>:$x, 2DTensorOf<[I32]>:$positions,
                       1DTensorOf<[F32]>:$frequencies, UnitAttr:$interleaved,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs 4DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $x `,` $positions `,` $frequencies attr-dict
    `:` type($x) `,` type($positions) `,` type($frequencies)
  }];
  let hasVerifier = 1;
}

def Decode_AppendOp : Decode_Op<"append",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Write the rows' keys or values into a cache";
  let description = [{
    `cache[slots[b], h, positions[b, s], :]` becomes `x[b, s, h, :]`, rounded to
    the cache's type, for each row that takes part. Gives the state after it.

    Constraints:
    - (C1) the symbol is a `decode.state` of the type of the result.
    - (C2) x [B, S, heads, size] has the cache's heads and head size.

    Example:

    ```mlir
    %k = decode.append %x, %positions, %slots into @layers.0.keys
        : tensor<1x1x3x64xf32>, tensor<1x1xi32>, tensor<1xi32>
        -> !decode.cache<1x3x512x64xbf16>
    ```
  }];
  let arguments = (ins 4DTensorOf<[F32]>:$x, 2DTensorOf<[I32]>:$positions,
                       1DTensorOf<[I32]>:$slots, FlatSymbolRefAttr:$state);
  let results = (outs Decode_CacheType:$cache);
  let assemblyFormat = [{
    $x `,` $positions `,` $slots `into` $state attr-dict
    `:` type($x) `,` type($positions) `,` type($slots) `->` type($cache)
  }];
  let hasVerifier = 1;
}

def Decode_AttentionOp : Decode_Op<"attention", [Pure]> {
  let summary = "Causal attention over a cache, grouped heads";
  let description = [{
    Query head h uses cache head h / (heads / cache heads). A row at position p
    attends to the positions j of its slot with j <= p and, if `window` is set,
    j > p - window. The order is: product, times `scale`, softcap (c x
    tanh(s / c)), mask, softmax, product with the values. A row that takes no
    part has an unspecified result.

    Constraints:
    - (C1) q [B, S, heads, size] and the result [B, S, heads, value size].
    - (C2) keys and values have the same slots, heads and context.
    - (C3) heads is a multiple of the cache's heads.

    Example:

    ```mlir
    %y = decode.attention %q, %k, %v, %positions, %slots scale 1.250000e-01
        : tensor<1x1x9x64xf32>, !decode.cache<1x3x512x64xbf16>,
          !decode.cache<1x3x512x64xbf16>, tensor<1x1xi32>, tensor<1xi32>
        -> tensor<1x1x9x64xf32>
    ```
  }];
  let arguments = (ins 4DTensorOf<[F32]>:$q, Decode_CacheType:$keys,
                       Decode_CacheType:$values,
                       2DTensorOf<[I32]>:$positions, 1DTensorOf<[I32]>:$slots,
                       F64Attr:$scale, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap);
  let results = (outs 4DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $q `,` $keys `,` $values `,` $positions `,` $slots `scale` $scale attr-dict
    `:` type($q) `,` type($keys) `,` type($values) `,` type($positions) `,`
    type($slots) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Decode_ActivateOp : Decode_Op<"activate", [Pure,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "An activation function";
  let description = [{
    Example: `%y = decode.activate gelu_tanh %x : tensor<1x1x256xf32>`
  }];
  let arguments = (ins Decode_ActivationAttr:$kind, RankedTensorOf<[F32]>:$x);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
}

def Decode_GateOp : Decode_Op<"gate", [Pure,
    AllTypesMatch<["gate", "up", "result"]>]> {
  let summary = "activation(gate) * up";
  let description = [{
    Example: `%y = decode.gate silu %gate, %up : tensor<1x1x160xf32>`
  }];
  let arguments = (ins Decode_ActivationAttr:$kind,
                       RankedTensorOf<[F32]>:$gate, RankedTensorOf<[F32]>:$up);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$kind $gate `,` $up attr-dict `:` type($gate)";
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

def Decode_RecordOp : Decode_Op<"record", [
    AllTypesMatch<["x", "result"]>]> {
  let summary = "Marks an input of linears with its key in a calibration file";
  let description = [{
    Gives `x` as it is. Keys are `layers.N.attn_in`, `.attn_out`, `.mlp_in`,
    `.mlp_mid`, `head_in`, `other.N_in`. Prune reads the key and erases the
    mark; in a recording build the value is materialised and listed as a tap.

    Example: `%y = decode.record %x "layers.0.attn_in" : tensor<1x1x64xf32>`
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$x, StrAttr:$key);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = "$x $key attr-dict `:` type($x)";
}

#endif // SDC_DIALECTS_DECODE_DECODEOPS_TD
