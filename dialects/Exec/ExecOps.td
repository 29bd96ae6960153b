// Operations of the exec dialect. Each mirrors the schema table of its name.

#ifndef SDC_DIALECTS_EXEC_EXECOPS_TD
#define SDC_DIALECTS_EXEC_EXECOPS_TD

include "dialects/Exec/ExecAttrs.td"
include "dialects/Exec/ExecTypes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A number of bytes, rows, ...: 64 bits, signed, though its type is i64.
def Exec_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "a number"> {
  let convertFromStorage = "$_self.getInt()";
}

def Exec_SymbolUser : DeclareOpInterfaceMethods<SymbolUserOpInterface>;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Exec_ModelOp : Exec_Op<"model"> {
  let summary = "Numbers of the model that a host asks for";
  let description = [{
    Constraints:
    - (C1) every number is at least 0 and fits 32 bits.
    - (C2) a module has one.

    Example:

    ```mlir
    exec.model "smollm2" layers 30 hidden 576 vocabulary 49152 batch 1
        context 512 of 2048 chunk 64
    ```
  }];
  let arguments = (ins StrAttr:$model_name, Exec_Int:$layers, Exec_Int:$hidden,
                       Exec_Int:$vocabulary, Exec_Int:$batch, Exec_Int:$max_context,
                       Exec_Int:$model_context, Exec_Int:$prefill_chunk,
                       UnitAttr:$recording);
  let assemblyFormat = [{
    $model_name `layers` $layers `hidden` $hidden `vocabulary` $vocabulary
    `batch` $batch `context` $max_context `of` $model_context
    `chunk` $prefill_chunk (`recording` $recording^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_ProvenanceOp : Exec_Op<"provenance"> {
  let summary = "How the file came to be";
  let description = [{
    Flags are normalised: no paths, no thread counts, inputs as digests.
    `positions` counts the positions summed: decode, prompt, first.

    Constraints:
    - (C1) flags and notes are strings.
    - (C2) a module has at most one.

    Example:

    ```mlir
    exec.provenance "sdc 0.1.0" flags ["--pattern=16:32"]
        model "00f1" calibration "ab07" positions [4096, 128, 32] notes []
    ```
  }];
  let arguments = (ins StrAttr:$tool, ArrayAttr:$flags, StrAttr:$model_digest,
                       StrAttr:$calibration_digest, DenseI64ArrayAttr:$positions,
                       ArrayAttr:$notes);
  let assemblyFormat = [{
    $tool `flags` $flags `model` $model_digest
    `calibration` $calibration_digest `positions` $positions `notes` $notes
    attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_SegmentOp : Exec_Op<"segment", [Symbol]> {
  let summary = "A page-aligned range of the file";
  let description = [{
    Offsets in the file and digests are not known before it is written, so
    they are not said here. Segments lie in the order of their ops.

    Constraint:
    - (C1) the size is not negative.

    Example: `exec.segment @weights weights size 84934656`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_SegmentKind:$kind,
                       Exec_Int:$size);
  let assemblyFormat = "$sym_name $kind `size` $size attr-dict";
  let hasVerifier = 1;
}

def Exec_WeightOp : Exec_Op<"weight", [Symbol, Exec_SymbolUser]> {
  let summary = "Constant bytes that kernels read";
  let description = [{
    `type` is the logical tensor: [rows, K] of a linear. Without a tile the
    `size` bytes are the tensor in row-major order; with one they are the
    packed form of kernels/Format for the tile, the pattern and the type.

    `source` says where the bytes come from when the file is written. With a
    tile it is a `#decode.file` of exactly `size` bytes, which are copied. Else
    it is what a `decode.weight` may have, and is read through `view`.

    Constraints:
    - (C1) the type is a ranked tensor with a static shape, of elements that
      the schema knows.
    - (C2) a pattern n of m has 1 <= n < m, and a tile.
    - (C3) without a tile the size is that of the tensor.
    - (C4) `segment` names a segment of weights, in which the bytes lie; the
      offset is a multiple of 64.
    - (C5) the segment and the offset are given together, by plan.
    - (C6) notes are strings.

    Examples:

    ```mlir
    exec.weight @layers.0.q : tensor<576x576xbf16> pattern 16 : 32 tile "rows8"
        size 373248 from #decode.file<"spool", 0, 373248> in @weights at 2304
    exec.weight @norm : tensor<576xf32>
        size 2304 from #decode.file<"model.onnx.data", 0, 2304>
    ```

    Refused by (C4), since kernels load whole cache lines:

    ```mlir
    exec.weight @norm : tensor<576xf32> size 2304
        from #decode.file<"model.onnx.data", 0, 2304> in @weights at 32
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       OptionalAttr<Exec_Int>:$pattern_n,
                       OptionalAttr<Exec_Int>:$pattern_m,
                       OptionalAttr<StrAttr>:$tile, Exec_Int:$size,
                       AnyAttr:$source, OptionalAttr<AnyAttr>:$view,
                       OptionalAttr<FlatSymbolRefAttr>:$segment,
                       OptionalAttr<Exec_Int>:$offset,
                       OptionalAttr<ArrayAttr>:$notes,
                       OptionalAttr<Exec_PruningAttr>:$pruning);
  let assemblyFormat = [{
    $sym_name `:` $type (`pattern` $pattern_n^ `:` $pattern_m)?
    (`tile` $tile^)? `size` $size `from` $source (`view` $view^)?
    (`in` $segment^ `at` $offset)? (`notes` $notes^)? (`pruned` $pruning^)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Exec_StateOp : Exec_Op<"state", [Symbol]> {
  let summary = "The keys or the values of one layer, kept from step to step";
  let description = [{
    The type is tensor<slots x heads x context x head size x element>; `past`
    and `present` name the graph input and output that the state replaces.

    Constraint:
    - (C1) the type is a static tensor of rank 4, of f32, f16 or bf16.

    Example:

    ```mlir
    exec.state @layers.0.keys : tensor<1x3x512x64xbf16>
        past "past_key_values.0.key" present "present.0.key"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$past,
                       StrAttr:$present);
  let assemblyFormat = [{
    $sym_name `:` $type `past` $past `present` $present attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol]> {
  let summary = "A function of the generated code, named by its specification";
  let description = [{
    The symbol's name follows the grammar of kernels/Spec. `scratch` is the
    number of bytes that each thread must provide.

    Constraint:
    - (C1) scratch is not negative and a multiple of 64.

    Example: `exec.kernel @rms_norm_f32_k576 scratch 0`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_Int:$scratch);
  let assemblyFormat = "$sym_name `scratch` $scratch attr-dict";
  let hasVerifier = 1;
}

def Exec_ImageOp : Exec_Op<"image", [Exec_SymbolUser]> {
  let summary = "The machine code of all kernels for one level";
  let description = [{
    Added by emit. `kernels` holds the first byte of each kernel in the segment,
    in the order of the `exec.kernel` ops.

    Constraints:
    - (C1) the segment is one of code, and the code is not longer than it.
    - (C2) each kernel begins inside the code.

    Example: `exec.image "avx2" in @code_avx2 code 8192 kernels [0, 512]`
  }];
  let arguments = (ins StrAttr:$level, FlatSymbolRefAttr:$segment,
                       Exec_Int:$code_size, DenseI64ArrayAttr:$kernel_offsets);
  let assemblyFormat = [{
    $level `in` $segment `code` $code_size `kernels` $kernel_offsets attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

def Exec_EntryOp : Exec_Op<"entry", [Symbol, IsolatedFromAbove, SingleBlock,
                                     NoTerminator, NoRegionArguments]> {
  let summary = "A function of the executable, with static shapes";
  let description = [{
    `batch` sequences of `rows` rows each; launches run in order. `arena` is
    the number of bytes that the buffers take, given by plan.

    Constraints:
    - (C1) batch and rows are at least 1; a decode entry has rows 1, a prefill
      entry batch 1.
    - (C2) the arena's size is a multiple of 64.
    - (C3) the body holds the words of an entry, `exec.group` and what is
      being lowered, nothing at module level.

    Example: see the dialect.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_EntryKind:$kind,
                       Exec_Int:$batch, Exec_Int:$rows, UnitAttr:$all_logits,
                       OptionalAttr<Exec_Int>:$arena_size);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind `batch` $batch `rows` $rows (`all_logits` $all_logits^)?
    (`arena` $arena_size^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Exec_BufferOp : Exec_Op<"buffer"> {
  let summary = "Bytes of the arena";
  let description = [{
    Holds a value from the first launch that writes it to the last that reads
    it. A bound buffer holds its bytes during the whole entry.

    Constraints:
    - (C1) the size is at least 1.
    - (C2) the offset, given by plan, is a multiple of 64.

    Example: `%x = exec.buffer 2304 at 4096`
  }];
  let arguments = (ins Exec_Int:$size, OptionalAttr<Exec_Int>:$offset);
  let results = (outs Exec_OperandType:$result);
  let assemblyFormat = "$size (`at` $offset^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_WeightRefOp : Exec_Op<"weight_ref", [Pure, Exec_SymbolUser]> {
  let summary = "A weight as an operand";
  let description = [{
    Constraint:
    - (C1) the symbol is an `exec.weight`.

    Example: `%w = exec.weight_ref @layers.0.q`
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Exec_OperandType:$result);
  let assemblyFormat = "$weight attr-dict";
}

def Exec_StateRefOp : Exec_Op<"state_ref", [Pure, Exec_SymbolUser]> {
  let summary = "A state as an operand";
  let description = [{
    Constraint:
    - (C1) the symbol is an `exec.state`.

    Example: `%k = exec.state_ref @layers.0.keys`
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Exec_OperandType:$result);
  let assemblyFormat = "$state attr-dict";
}

def Exec_ParamsOp : Exec_Op<"params", [Pure]> {
  let summary = "The session's parameters as an operand";
  let description = [{
    `{ int64 context; int64 slots; }`: the strides of states in this session.

    Example: `%p = exec.params`
  }];
  let results = (outs Exec_OperandType:$result);
  let assemblyFormat = "attr-dict";
}

def Exec_BindOp : Exec_Op<"bind"> {
  let summary = "Gives a buffer a meaning to the host";
  let description = [{
    Tokens, positions, slots and inputs are written by the host before the first
    launch; logits, taps and outputs are read by it after the last one.

    Constraints:
    - (C1) the operand is an `exec.buffer`.
    - (C2) the type is a ranked tensor with a static shape, of elements that
      the schema knows, and takes at most the buffer's bytes.
    - (C3) tokens, positions and slots are i32 of rank 1; logits and taps are
      f32 of rank 2.
    - (C4) inputs, outputs and taps have a name.

    Example: `exec.bind logits %y "logits" : tensor<1x49152xf32>`
  }];
  let arguments = (ins Exec_Role:$role, Exec_OperandType:$buffer,
                       StrAttr:$binding_name, TypeAttr:$type);
  let assemblyFormat = "$role $buffer $binding_name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Written by the host before the first launch.
    bool isHostInput();
  }];
}

def Exec_LaunchOp : Exec_Op<"launch", [Exec_SymbolUser]> {
  let summary = "One step of an entry: a kernel and its operands";
  let description = [{
    Operands are in the order of the kernel, each with what the launch does to
    it. The `units` are independent of each other and are cut into contiguous
    ranges over the threads.

    Constraints:
    - (C1) the symbol is an `exec.kernel`.
    - (C2) units is at least 1 and fits 32 bits.
    - (C3) every operand has one access.
    - (C4) weights and parameters are only read.
    - (C5) no operand is given twice if the launch writes it.

    Example:

    ```mlir
    exec.launch @linear_k576 units 72 (in %x, in %w, out %y) "layers.0.q"
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Exec_Int:$units,
                       Variadic<Exec_OperandType>:$operands,
                       DenseI32ArrayAttr:$access, StrAttr:$label);
  let assemblyFormat = [{
    $kernel `units` $units `(` custom<Accesses>($operands, $access) `)`
    $label attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool reads(unsigned operand);
    bool writes(unsigned operand);
  }];
}

//===----------------------------------------------------------------------===//
// While lowering
//===----------------------------------------------------------------------===//

def Exec_GroupOp : Exec_Op<"group", [SingleBlock, NoRegionArguments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "The ops that one launch will compute";
  let description = [{
    Fusion gathers ops in groups; what is in none becomes a launch of its own.
    The body sees the values around it.

    Constraint:
    - (C1) the results have the types of what the body yields.

    Example:

    ```mlir
    %y = exec.group -> tensor<1x1x576xf32> {
      %0 = nm.linear %x, %w : ...
      %1 = arith.addf %0, %residual : tensor<1x1x576xf32>
      exec.yield %1 : tensor<1x1x576xf32>
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`->` type($results)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator,
                                     HasParent<"GroupOp">]> {
  let summary = "What a group gives";
  let description = [{
    Example: `exec.yield %y : tensor<1x1x576xf32>`
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}

#endif // SDC_DIALECTS_EXEC_EXECOPS_TD
