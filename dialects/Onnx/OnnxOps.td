// Operations of the Onnx dialect.

#ifndef SDC_DIALECTS_ONNX_ONNXOPS_TD
#define SDC_DIALECTS_ONNX_ONNXOPS_TD

include "dialects/Onnx/OnnxDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Onnx_Value : AnyTypeOf<[AnyTensor, NoneType], "tensor or none">;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

def Onnx_GraphOp : Onnx_Op<"graph", [
    FunctionOpInterface, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "One entry: the nodes of the ONNX graph for one static shape";
  let description = [{
    The one graph of a model gives two entries, `@decode` (S = 1, batch B) and
    `@prefill` (S = chunk, batch 1); a model without past tensors gives one,
    `@main`. Every argument and result carries

    - `onnx.name`: its name in the file;
    - `onnx.role`: what it is to a decoder: `input_ids`, `attention_mask`,
      `position_ids`, `past.key.N`, `past.value.N`; `logits`, `present.key.N`,
      `present.value.N`; or `other` in a graph without past;
    - `onnx.dims`: its dimensions over the past length, the one symbol that is
      left: `affine_map<()[P] -> (1, 2, P + 1, 16)>`. A result may lack them.

    Constraints:
    - (C1) the terminator returns values of the result types, in order.
    - (C2) every argument and result has a string `onnx.name`, unique among the
      arguments or among the results.
    - (C3) every argument and result has a string `onnx.role`; each role but
      `other` is held once.
    - (C4) `onnx.dims`, where it is given, has one symbol, no dimensions, as
      many results as the tensor has rank, and agrees with its static sizes; a
      size that depends on the symbol is `?` in the type.

    Example:

    ```mlir
    onnx.graph @decode(%ids: tensor<1x1xi64>
          {onnx.name = "input_ids", onnx.role = "input_ids",
           onnx.dims = affine_map<()[P] -> (1, 1)>},
        %k: tensor<1x2x?x16xf32>
          {onnx.name = "past.0.key", onnx.role = "past.key.0",
           onnx.dims = affine_map<()[P] -> (1, 2, P, 16)>})
        -> (tensor<1x2x?x16xf32>
          {onnx.name = "present.0.key", onnx.role = "present.key.0"}) {
      onnx.return %k : tensor<1x2x?x16xf32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral kName = "onnx.name";
    static constexpr llvm::StringLiteral kRole = "onnx.role";
    static constexpr llvm::StringLiteral kDims = "onnx.dims";

    llvm::ArrayRef<mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    llvm::ArrayRef<mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    mlir::Region *getCallableRegion() { return &getBody(); }

    /// The role of an argument or a result, empty if it has none.
    llvm::StringRef getArgRole(unsigned index);
    llvm::StringRef getResultRole(unsigned index);
    /// The dimensions of an argument over the past length, or null.
    mlir::AffineMap getArgDims(unsigned index);
    mlir::AffineMap getResultDims(unsigned index);
  }];
}

def Onnx_ReturnOp : Onnx_Op<"return", [
    Pure, ReturnLike, Terminator, HasParent<"GraphOp">]> {
  let summary = "Ends a graph with its outputs";
  let description = [{
    Constraints:
    - (C1) the types are the result types of the graph.
  }];
  let arguments = (ins Variadic<AnyTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Nodes and their operands
//===----------------------------------------------------------------------===//

def Onnx_NodeOp : Onnx_Op<"node", [Pure]> {
  let summary = "One ONNX node";
  let description = [{
    Operator `op_type` of `domain` (absent for the standard one) as version
    `since` of its schema defines it. `node_name` is the name in the file.
    `attrs` holds the node's attributes as they are stored, defaults left out:
    INT as i64, INTS as `array<i64>`, FLOAT as f32, FLOATS as `array<f32>`,
    STRING as a string, STRINGS as an array, TENSOR as dense elements.

    An optional input that is left out is a value of `onnx.none`; trailing ones
    are simply missing. An optional output that is left out has type `none` and
    no users. Result types are what strict shape inference could give.

    Constraints:
    - (C1) `op_type` is not empty and `since` is positive.
    - (C2) no use of a `none` result, except where `onnx.none` makes it.

    Example:

    ```mlir
    %y = onnx.node "Softmax" since 13 named "/softmax" (%x) attrs {axis = -1}
        : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %a:3 = onnx.node "GroupQueryAttention" in "com.microsoft" since 1
        named "/attn" (%q, %none, %none, %k, %v, %len, %total)
        attrs {num_heads = 4, kv_num_heads = 2}
        : (tensor<1x1x128xf32>, none, none, tensor<1x2x?x16xf32>,
           tensor<1x2x?x16xf32>, tensor<1xi32>, tensor<i32>)
        -> (tensor<1x1x64xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
    ```
  }];
  let arguments = (ins
    Variadic<Onnx_Value>:$inputs,
    StrAttr:$op_type,
    OptionalAttr<StrAttr>:$domain,
    I64Attr:$since,
    OptionalAttr<StrAttr>:$node_name,
    OptionalAttr<DictionaryAttr>:$attrs);
  let results = (outs Variadic<Onnx_Value>:$outputs);
  let assemblyFormat = [{
    $op_type (`in` $domain^)? `since` $since (`named` $node_name^)?
    `(` $inputs `)` (`attrs` $attrs^)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether this is operator `op` of `domain`; "" is the standard domain.
    bool is(llvm::StringRef op, llvm::StringRef domain = "");
    llvm::StringRef getDomainName() { return getDomain().value_or(""); }
    /// Input `index`, or null if it is missing or left out.
    mlir::Value getInput(unsigned index);
    /// A stored attribute, or the default of its schema that the caller knows.
    mlir::Attribute getStored(llvm::StringRef name);
    int64_t getInt(llvm::StringRef name, int64_t byDefault);
    double getFloat(llvm::StringRef name, double byDefault);
    llvm::StringRef getString(llvm::StringRef name, llvm::StringRef byDefault);
    /// A stored list of integers, empty if it is not there.
    llvm::ArrayRef<int64_t> getInts(llvm::StringRef name);
  }];
}

def Onnx_ConstantOp : Onnx_Op<"constant", [
    Pure, ConstantLike, InferTypeOpAdaptor]> {
  let summary = "A tensor of at most 64 KiB";
  let description = [{
    An initializer or a Constant node, bit for bit.

    Constraints:
    - (C1) the value takes at most 65536 bytes, one byte for each element of
      less than eight bits. Larger tensors are `decode.weight` symbols.

    Example:

    ```mlir
    %axes = onnx.constant named "axes" dense<[-1]> : tensor<1xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<StrAttr>:$name);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "(`named` $name^)? attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kMaxBytes = 65536;
  }];
}

def Onnx_WeightRefOp : Onnx_Op<"weight_ref", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The tensor that a weight symbol stands for";
  let description = [{
    Constraints:
    - (C1) `weight` names a symbol of the module that has a `type` attribute,
      the tensor type, and the result has that type.

    Example:

    ```mlir
    decode.weight @w : tensor<256x128xf32> from #decode.file<"model.onnx.data", 0, 131072>
    ...
    %w = onnx.weight_ref @w : tensor<256x128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Onnx_NoneOp : Onnx_Op<"none", [Pure]> {
  let summary = "An optional input that is left out";
  let description = [{
    Example:

    ```mlir
    %none = onnx.none
    ```
  }];
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
}

#endif // SDC_DIALECTS_ONNX_ONNXOPS_TD
