// Attributes of the decode dialect: where a weight's bytes are, and what an
// activation function is.

#ifndef SDC_DIALECTS_DECODE_DECODEATTRS_TD
#define SDC_DIALECTS_DECODE_DECODEATTRS_TD

include "dialects/Decode/DecodeDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Decode_FileAttr : AttrDef<Decode_Dialect, "File"> {
  let mnemonic = "file";
  let summary = "A range of a file, named and not held";
  let description = [{
    `length` bytes from byte `offset` of the file `path`, little-endian,
    row-major. A relative path resolves against the folder of the model, or of
    the .mlir file that names it.

    Constraint:
    - (C1) offset >= 0 and length >= 0.

    Example: `#decode.file<"model.onnx.data", 4096, 16384>`
  }];
  let parameters = (ins StringRefParameter<"path">:$path, "int64_t":$offset,
                        "int64_t":$length);
  let assemblyFormat = "`<` $path `,` $offset `,` $length `>`";
  let genVerifyDecl = 1;
}

def Decode_RandomAttr : AttrDef<Decode_Dialect, "Random"> {
  let mnemonic = "random";
  let summary = "A stream of normal random numbers in place of bytes";
  let description = [{
    Element i of the stored tensor comes from Philox(seed, symbol name, i), so
    that it does not depend on the order in which weights are read. Tensors of
    rank 2 hold N(0, 1) / sqrt(K), K being their reduction axis, so that sums
    keep their size; tensors of rank 1 hold 1 + N(0, 1) / 16.

    Example: `#decode.random<7>`
  }];
  let parameters = (ins "uint64_t":$seed);
  let assemblyFormat = "`<` $seed `>`";
}

def Decode_ViewAttr : AttrDef<Decode_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "How a weight [rows, K] is read out of what is stored";
  let description = [{
    With `stored` the tensor as it lies in the source, W[r, k] is
    `stored[first + r, k]`, or `stored[k, first + r]` when `transposed`. For a
    weight of rank 1, W[i] is `stored` flattened at `first + i`. Elements are
    converted to the type of the weight, to nearest even.

    Example: columns 576 to 767 of a stored [K, rows] matrix:
    `#decode.view<tensor<576x960xf32>, 576, transposed>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$stored, "int64_t":$first,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let hasCustomAssemblyFormat = 1;
}

def Decode_Activation : I32EnumAttr<"Activation", "an activation function", [
    I32EnumAttrCase<"Silu", 0, "silu">,
    I32EnumAttrCase<"GeluTanh", 1, "gelu_tanh">,
    I32EnumAttrCase<"GeluErf", 2, "gelu_erf">,
    I32EnumAttrCase<"Relu", 3, "relu">,
    I32EnumAttrCase<"QuickGelu", 4, "quick_gelu">,
    I32EnumAttrCase<"Relu2", 5, "relu2">]> {
  let cppNamespace = "::sdc::decode";
  let genSpecializedAttr = 0;
}
def Decode_ActivationAttr
    : EnumAttr<Decode_Dialect, Decode_Activation, "activation"> {
  let assemblyFormat = "$value";
}

#endif // SDC_DIALECTS_DECODE_DECODEATTRS_TD
