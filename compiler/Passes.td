// Every pass of the compiler, in pipeline order: its table of contents.

#ifndef SDC_COMPILER_PASSES_TD
#define SDC_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Raise: generic ONNX operators -> decode
//===----------------------------------------------------------------------===//

def OpenEntriesPass : Pass<"raise-open-entries", "::mlir::ModuleOp"> {
  let summary = "Give decoder entries the positions and slots of their rows";
  let description = [{
    Before: as imported. After: every graph with `input_ids` [B, S] has two more
    arguments, of roles `row_positions` [B, S] and `row_slots` [B], which the
    operations of the next passes read.

    ```mlir
    onnx.graph @decode(%ids: tensor<1x1xi64> {onnx.role = "input_ids", ...})
    ```
    becomes
    ```mlir
    onnx.graph @decode(%ids: tensor<1x1xi64> {onnx.role = "input_ids", ...},
        %p: tensor<1x1xi32> {onnx.role = "row_positions", ...},
        %s: tensor<1xi32> {onnx.role = "row_slots", ...})
    ```
  }];
  let dependentDialects = ["::sdc::onnxir::OnnxDialect"];
}

def FoldShapesPass : Pass<"raise-fold-shapes", "::mlir::ModuleOp"> {
  let summary = "Compute shapes over the past length";
  let description = [{
    Before: types are what strict shape inference could give. After: a size
    that does not depend on the past length P is a number in every type, and
    small integer tensors that do not depend on P are constants. Sizes are
    a + b P throughout; bounds of slices are clamped as ONNX says, INT64_MAX and
    INT64_MIN among them; Reshape knows -1, 0 and allowzero.

    ```mlir
    %1 = onnx.node "Shape" since 25 (%x) : (tensor<1x4x64xf32>) -> tensor<3xi64>
    ```
    becomes
    ```mlir
    %1 = onnx.constant dense<[1, 4, 64]> : tensor<3xi64>
    ```
  }];
  let dependentDialects = ["::sdc::onnxir::OnnxDialect"];
}

def PromoteFloatsPass : Pass<"raise-promote-floats", "::mlir::ModuleOp"> {
  let summary = "Make activations f32";
  let description = [{
    After: every float result of a node is f32, and casts between float types are
    gone but those of weights, which keep the type they are stored in.
  }];
  let dependentDialects = ["::sdc::onnxir::OnnxDialect"];
}

def RaiseEmbedPass : Pass<"raise-embed", "::mlir::ModuleOp"> {
  let summary = "Raise rows of a table chosen by token ids or by positions";
  let description = [{
    A Gather whose element (b, s, c) is table[ids[b, s], c] becomes
    `decode.embed`, also when the table is stored [H, V] behind a Transpose. So
    does table[position + first, c], with the rows that the context needs; a
    table that has fewer is an error.

    ```mlir
    %x = onnx.node "Gather" since 13 (%table, %ids) : ...
    ```
    becomes
    ```mlir
    %w = decode.load @weight.0 : tensor<256x64xf32>
    %x = decode.embed %ids, %w : ...
    ```
  }];
  let options = [
    Option<"context", "context", "int64_t", /*default=*/"4096",
           "Positions of a sequence">];
  let dependentDialects = ["::sdc::decode::DecodeDialect"];
}

def RaiseLinearPass : Pass<"raise-linear", "::mlir::ModuleOp"> {
  let summary = "Raise products with constant matrices";
  let description = [{
    MatMul and Gemm with a constant become `decode.linear`, with the bias that a
    Gemm or a following Add gives it. The matrix is read as [rows, K] by a view,
    whatever moves lie between it and the product (Transpose, Identity, Cast,
    Reshape, Slice). A Gemm with alpha or beta other than 1 stays.

    ```mlir
    %y = onnx.node "MatMul" since 13 (%x, %w) : (tensor<1x1x64xf32>, tensor<64x32xf32>) -> ...
    ```
    becomes
    ```mlir
    %0 = decode.load @weight.1 : tensor<32x64xf32>   // view: transposed
    %y = decode.linear %x, %0 : ...
    ```
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseRmsNormPass : Pass<"raise-rms-norm", "::mlir::ModuleOp"> {
  let summary = "Raise RMS norms";
  let description = [{
    RMSNormalization, SimplifiedLayerNormalization (either domain),
    SkipSimplifiedLayerNormalization (whose sum becomes `arith.addf`), and any
    spelling of x / sqrt(mean(x^2) + eps) * weight around a ReduceMean become
    `decode.rms_norm`. A norm of heads reads [B, S, heads, size], whatever the
    layout in the graph.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseLayerNormPass : Pass<"raise-layer-norm", "::mlir::ModuleOp"> {
  let summary = "Raise layer norms";
  let description = [{
    LayerNormalization over the last axis, with a bias or without, becomes
    `decode.layer_norm`.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect"];
}

def RaiseGatePass : Pass<"raise-gate", "::mlir::ModuleOp"> {
  let summary = "Raise activations and gates";
  let description = [{
    A value whose elements are activation(g) * u, for rows g and u of linears,
    becomes `decode.gate`; activation(g) alone `decode.activate`. Activations are
    told by their formula: SiLU, both GELUs, quick GELU, ReLU and its square. Gate
    and up may be column ranges of one product, which then becomes two linears.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseResidualPass : Pass<"raise-residual", "::mlir::ModuleOp"> {
  let summary = "Raise sums of rows";
  let description = [{
    An Add of two raised values [B, S, H] becomes `arith.addf`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RaiseRotaryPass : Pass<"raise-rotary", "::mlir::ModuleOp"> {
  let summary = "Raise rotary embeddings";
  let description = [{
    A value becomes `decode.rotary` when its elements are x1 c - x2 s and
    x2 c + x1 s for the pairs of the first R elements of each head and are left
    alone beyond, c and s being the cosine and sine of position x frequency. They
    are computed in the graph, or lie in tables that hold just that within 1e-5 or
    the rounding of their type. Half-split and interleaved pairs, heads first,
    rows first or as columns, and the RotaryEmbedding operators of both domains
    all end here. Frequencies that are powers of one base within 1e-6 become
    those powers.
  }];
  let options = [
    Option<"folder", "folder", "std::string", /*default=*/"",
           "The folder to which paths in the IR are relative">];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseAttentionPass : Pass<"raise-attention", "::mlir::ModuleOp"> {
  let summary = "Raise attention and its caches";
  let description = [{
    Softmax between two products, ai.onnx Attention and GroupQueryAttention become
    `decode.append` and `decode.attention`; the outputs `present.*` go, and each
    pair of past and present becomes a `decode.state`. Matched by index:

    - query head h reads key and value head h / n of the past and the new rows;
    - the mask is column <= P + row, with a window or without, as booleans or as
      numbers that are added; guards of rows that are masked altogether are
      dropped;
    - factors on either side of the product add up to the scale, which becomes
      1/sqrt(size) when it is within 1e-6 of that.

    Sequences sit in slots without padding: attention_mask is 1 everywhere and
    position_ids are P, P + 1, ... .
  }];
  let options = [
    Option<"context", "context", "int64_t", /*default=*/"4096",
           "Positions of a cache">,
    Option<"folder", "folder", "std::string", /*default=*/"",
           "The folder to which paths in the IR are relative">];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseMovesPass : Pass<"raise-moves", "::mlir::ModuleOp"> {
  let summary = "Read through what only moves elements";
  let description = [{
    Operands of raised operations that are reshaped, transposed or sliced raised
    values become `tensor.collapse_shape` or `tensor.expand_shape` of them, or the
    values themselves.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseEntriesPass : Pass<"raise-entries", "::mlir::ModuleOp"> {
  let summary = "Make functions of raised graphs";
  let description = [{
    An `onnx.graph` of which nothing generic is left becomes a `func.func` of
    tokens, positions and slots. A prefill gives the logits of its last row: the
    head reads that row only.
  }];
  let options = [
    Option<"allLogits", "all-logits", "bool", /*default=*/"false",
           "Logits of every row of a prefill">];
  let dependentDialects = ["::sdc::decode::DecodeDialect", "::mlir::func::FuncDialect"];
}

def OrderEntriesPass : Pass<"order-entries", "::mlir::func::FuncOp"> {
  let summary = "Put operations in one order";
  let description = [{
    Operations follow the order in which the result needs them, depth first; in a
    sum, what a linear adds comes second. Needs no dominance to be repaired.
  }];
}

def NameWeightsPass : Pass<"name-weights", "::mlir::ModuleOp"> {
  let summary = "Name weights by what reads them";
  let description = [{
    `layers.N.q`, `.k`, `.v`, `.o`, `.gate`, `.up`, `.down`, `head`, `embed`;
    `layers.N.attn_norm`, `.mlp_norm`, `.q_norm`, `.k_norm`, `final_norm`;
    `rope.frequencies`; `<linear>.bias`. N is that of the cache that the layer's
    attention reads. A weight with several names is several symbols that name the
    same bytes. Weights come in the order in which they are read, states by layer.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect"];
}

def VerifyRaisedPass : Pass<"verify-raised", "::mlir::ModuleOp"> {
  let summary = "Check what holds when a model leaves the raise room";
  let description = [{
    No graph and no generic node is left, every shape is static, and both entries
    are the same operations. Changes nothing. What is left is reported with one
    error for each operator and reason, which lists the nodes and shows what lies
    around the first.
  }];
}

//===----------------------------------------------------------------------===//
// Record: marks the inputs of linears
//===----------------------------------------------------------------------===//

def MarkRecordsPass : Pass<"mark-records", "::mlir::ModuleOp"> {
  let summary = "Give every distinct input of linears its calibration key";
  let description = [{
    Before: raised; each linear's weight is a `decode.load`. After: `x` of each
    `decode.linear` is a `decode.record`, one for each distinct value and entry,
    just before the first linear that reads it. Other users of the value keep
    the value itself.

    Keys are `layers.N.attn_in` (q, k, v, qkv), `layers.N.attn_out` (o),
    `layers.N.mlp_in` (gate, up, gate_up), `layers.N.mlp_mid` (down) and
    `head_in`, after the first linear that reads the value. A value that no such
    key fits, or whose key another value has, is `other.N_in`, N counting in
    program order. Both entries get the same keys, as they hold the same
    linears in the same order.

    ```mlir
    %q = decode.linear %x, %wq : ...         // @layers.0.q
    %k = decode.linear %x, %wk : ...         // @layers.0.k
    ```
    becomes
    ```mlir
    %m = decode.record %x "layers.0.attn_in" : tensor<1x1x64xf32>
    %q = decode.linear %m, %wq : ...
    %k = decode.linear %m, %wk : ...
    ```
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect"];
}

def VerifyRecordedPass : Pass<"verify-recorded", "::mlir::ModuleOp"> {
  let summary = "Check what holds when a model leaves the record room";
  let description = [{
    Every `decode.linear` reads a `decode.record` and loads its weight; a key
    has one value in an entry; entries agree on the key of each linear. Changes
    nothing; an error for each place where that does not hold.
  }];
}

//===----------------------------------------------------------------------===//
// Prune: dense linears -> nm.linear with new weights
//===----------------------------------------------------------------------===//

def PruneWeightsPass : Pass<"prune-weights", "::mlir::ModuleOp"> {
  let summary = "Give every linear its pattern and its new weights";
  let description = [{
    Before: raised and marked; linears are `decode.linear`. After: a linear with
    a pattern is an `nm.linear`, its `decode.weight` names new values of the
    compiled type, in the spool or in the work folder; a dense one is as it was.
    Every linear's weight has an `nm.report`, which for a dense one gives the
    reason. No `decode.record` is left: the key to the matrix has served.

    The pattern is `pattern`, for the head dense, unless `rules` say otherwise;
    a rule is `REGEX=N:M` or `REGEX=dense` and searches linear names and node
    names; the last that matches wins, and one that matches nothing is an
    error. With `keep-sparsity` nothing is pruned: a linear has the pattern that
    its weight has already. Matrices come from the calibration file, which must
    be of this model; only magnitude does without.

    A weight that is shared with an embedding is forked. The weights stream
    through; those that share an input share the factor of its matrix. The bytes
    don't depend on `threads`.

    ```mlir
    decode.weight @layers.0.q : tensor<64x64xf32> from #decode.file<"m", 0, 16384>
    %m = decode.record %x "layers.0.attn_in" : tensor<1x1x64xf32>
    %w = decode.load @layers.0.q : tensor<64x64xf32>
    %y = decode.linear %m, %w : ...
    ```
    becomes
    ```mlir
    decode.weight @layers.0.q : tensor<64x64xbf16> from #decode.file<"s", 0, 8192>
        {nm.report = #nm.report<16:32, "sparsegpt", damping 1.000000e-02, ...>}
    %w = decode.load @layers.0.q : tensor<64x64xbf16>
    %y = nm.linear %x, %w pattern <16:32> : ...
    ```
  }];
  let options = [
    Option<"pattern", "pattern", "std::string", [{"dense"}],
           "Pattern of all linears but the head: dense or N:M, N kept of M">,
    ListOption<"rules", "rules", "std::string",
               "Patterns by name, REGEX=N:M or REGEX=dense, later ones win">,
    Option<"method", "method", "std::string", [{"sparsegpt"}],
           "sparsegpt, wanda or magnitude">,
    Option<"damp", "damp", "double", "0.01",
           "Damping of SparseGPT, relative to the mean diagonal">,
    Option<"keepSparsity", "keep-sparsity", "bool", "false",
           "Keep the patterns that weights have, prune nothing">,
    Option<"calibration", "calibration", "std::string", [{""}],
           "Calibration file">,
    Option<"positions", "positions", "std::string", [{"decode"}],
           "Weights of recorded positions: decode, prompt, all, or three numbers "
           "for decode, prompt, first">,
    Option<"allowOtherWeights", "allow-other-weights", "bool", "false",
           "Take a calibration of other weights of the same architecture">,
    Option<"dtype", "dtype", "std::string", [{"auto"}],
           "Type of new weights: auto (16-bit types stay, wider ones become "
           "bf16), f32, f16 or bf16">,
    Option<"strict", "strict", "bool", "false",
           "A linear left dense without a rule, or damping raised, is an error">,
    Option<"work", "work", "std::string", [{""}],
           "Folder that keeps pruned weights for the next compile">,
    Option<"spoolPath", "spool", "std::string", [{""}],
           "File for new values, when there is no work folder">,
    Option<"folder", "folder", "std::string", [{""}],
           "Where relative paths of weights start; empty: beside the .mlir "
           "file">,
    Option<"threads", "threads", "unsigned", "1", "Threads">,
    Option<"maxMemory", "max-memory", "int64_t", "0",
           "Bytes that pruning may take; 0: what the largest input needs">,
    Option<"planOnly", "plan-only", "bool", "false",
           "Give new values their places, and leave these empty">,
  ];
  let dependentDialects = ["::sdc::decode::DecodeDialect",
                           "::sdc::nm::NMDialect"];
}

def VerifyPrunedPass : Pass<"verify-pruned", "::mlir::ModuleOp"> {
  let summary = "Check what holds when a model leaves the prune room";
  let description = [{
    No `decode.record` is left; the weight of every linear is a `decode.weight`
    with a report, whose pattern is the linear's, dense for a `decode.linear`,
    and then with a reason. Changes nothing; an error for each place where that
    does not hold.
  }];
}

//===----------------------------------------------------------------------===//
// Pack: weights -> the packed format
//===----------------------------------------------------------------------===//

def PackWeightsPass : Pass<"pack-weights", "::mlir::ModuleOp"> {
  let summary = "Put every weight into its compiled form, in a spool file";
  let description = [{
    Before: linears are `decode.linear` (dense) or `nm.linear` on plain tensors;
    weights are `decode.weight` of any source and view. After: every linear is
    an `nm.linear` whose weight is an `nm.weight` of kernels/Format, dense ones
    included; every other float weight is row-major bytes of a file without a
    view: of f32 if it is a vector, else of `dtype`. Weights that have that form
    already stay where they are; new bytes go to the spool, in the order of the
    symbols. An embedding whose table is the weight of a dense head reads the
    head's, as `nm.embed`; any other weight that a linear shares with another op
    (the head of tied weights, once it is pruned) is two weights from here on:
    `@head`, packed, and the plain `@embed`.

    The weights stream through in pieces of 16 MiB; equal ones are packed once.

    ```mlir
    decode.weight @layers.0.q : tensor<64x64xbf16>
        from #decode.file<"pruned", 0, 8192> {nm.report = #nm.report<2:4, ...>}
    %w = decode.load @layers.0.q : tensor<64x64xbf16>
    %y = nm.linear %x, %w pattern <2:4> : ...
    ```
    becomes
    ```mlir
    nm.weight @layers.0.q : !nm.packed<64x64xbf16, 2:4, rows8>
        from #decode.file<"packed", 0, 4608> report <2:4, ...>
    %w = decode.load @layers.0.q : !nm.packed<64x64xbf16, 2:4, rows8>
    %y = nm.linear %x, %w : ...
    ```
  }];
  let options = [
    Option<"dtype", "dtype", "std::string", [{"auto"}],
           "Type of matrices: auto (16-bit types stay, wider ones become bf16), "
           "f32, f16 or bf16">,
    Option<"tile", "tile", "std::string", [{""}],
           "Tile of packed weights, as in kernels/Format/Tile.h; empty: what "
           "kernels/Select chooses">,
    Option<"spoolPath", "spool", "std::string", [{""}],
           "File for the new bytes">,
    Option<"folder", "folder", "std::string", [{""}],
           "Where relative paths of weights start; empty: beside the .mlir "
           "file">,
    Option<"threads", "threads", "unsigned", "1", "Threads">,
    Option<"maxMemory", "max-memory", "int64_t", "0",
           "Bytes that packing may take; 0: what all threads take">,
    Option<"planOnly", "plan-only", "bool", "false",
           "Give new bytes their places, and leave these empty">,
  ];
  let dependentDialects = ["::sdc::decode::DecodeDialect",
                           "::sdc::nm::NMDialect"];
}

def VerifyPackedPass : Pass<"verify-packed", "::mlir::ModuleOp"> {
  let summary = "Check what holds when a model leaves the pack room";
  let description = [{
    No `decode.linear` is left; every `nm.linear` loads a packed weight; every
    weight is bytes of a file, without a view. Changes nothing; an error for
    each place where that does not hold.
  }];
}

//===----------------------------------------------------------------------===//
// Lower: ops -> kernels
//===----------------------------------------------------------------------===//

def ChooseCacheTypePass : Pass<"choose-cache-type", "::mlir::ModuleOp"> {
  let summary = "Choose what keys and values are kept as";
  let description = [{
    Before: states and caches are of the type that the source model has. After:
    all are of `type`; `auto` keeps 16-bit types and makes bf16 of f32.

    ```mlir
    decode.state @keys : !decode.cache<1x3x512x64xf32> past "p" present "q"
    ```

    becomes

    ```mlir
    decode.state @keys : !decode.cache<1x3x512x64xbf16> past "p" present "q"
    ```
  }];
  let options = [Option<"type", "type", "std::string", [{"auto"}],
                        "auto, f32, f16 or bf16">];
}

def FuseGatesPass : Pass<"fuse-gates", "::mlir::func::FuncOp"> {
  let summary = "Make activations part of the linears that they follow";
  let description = [{
    Before: packed linears, ops side by side. After: a `decode.gate` of two
    linears of the same x, and a `decode.activate` of one, are an `exec.group`
    with them, if nobody else reads what lies between.

    ```mlir
    %g = nm.linear %x, %wg : ...
    %u = nm.linear %x, %wu : ...
    %y = decode.gate silu %g, %u : tensor<1x1x160xf32>
    ```

    becomes

    ```mlir
    %y = exec.group -> tensor<1x1x160xf32> {
      %g = nm.linear %x, %wg : ...
      %u = nm.linear %x, %wu : ...
      %0 = decode.gate silu %g, %u : tensor<1x1x160xf32>
      exec.yield %0 : tensor<1x1x160xf32>
    }
    ```

    A pair whose weights differ in rows or tile stays apart: a unit of the
    kernel is one block of rows of both.
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def FuseProjectionsPass : Pass<"fuse-projections", "::mlir::func::FuncOp"> {
  let summary = "Make one launch of linears that read the same value";
  let description = [{
    Before: as after fuse-gates. After: linears of the same x that are in no
    group (q, k and v above all) are one group, at the place of the first.

    ```mlir
    %q = nm.linear %x, %wq : ...
    %k = nm.linear %x, %wk : ...
    ```

    becomes

    ```mlir
    %y:2 = exec.group -> tensor<1x1x64xf32>, tensor<1x1x32xf32> {
      %q = nm.linear %x, %wq : ...
      %k = nm.linear %x, %wk : ...
      exec.yield %q, %k : tensor<1x1x64xf32>, tensor<1x1x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def FuseInputsPass : Pass<"fuse-inputs", "::mlir::func::FuncOp"> {
  let summary = "Move norms and the choice of the last row into linears";
  let description = [{
    Before: as after fuse-projections. After: a norm or a `decode.last_row`
    whose users are all linear launches is part of each of them, since to
    compute it anew costs less than to wait for it.

    ```mlir
    %n = decode.rms_norm %x, %w eps 1.0e-05 : ...
    %y = nm.linear %n, %wq : ...
    ```

    becomes

    ```mlir
    %y = exec.group -> tensor<1x1x64xf32> {
      %n = decode.rms_norm %x, %w eps 1.0e-05 : ...
      %0 = nm.linear %n, %wq : ...
      exec.yield %0 : tensor<1x1x64xf32>
    }
    ```

    A value that is recorded is not a norm's result any more but that of its
    mark: so fusion ends there by itself.
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def FuseResidualsPass : Pass<"fuse-residuals", "::mlir::func::FuncOp"> {
  let summary = "Make an addition part of the linear whose result it adds";
  let description = [{
    Before: as after fuse-inputs. After: an `arith.addf` of a launch with one
    result, which nobody else reads, is the end of that launch.

    ```mlir
    %o = nm.linear %x, %w : ...
    %y = arith.addf %residual, %o : tensor<1x1x64xf32>
    ```

    becomes

    ```mlir
    %y = exec.group -> tensor<1x1x64xf32> {
      %o = nm.linear %x, %w : ...
      %0 = arith.addf %residual, %o : tensor<1x1x64xf32>
      exec.yield %0 : tensor<1x1x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def FuseRotaryPass : Pass<"fuse-rotary", "::mlir::func::FuncOp"> {
  let summary = "Make one launch of what happens to q, k, v before attention";
  let description = [{
    Before: as after fuse-residuals. After: the two `decode.append` of an
    attention, with the `decode.rotary` and the head norms in front of them, are
    one group; so are those of the queries, where they are turned by the same
    angles.

    ```mlir
    %q1 = decode.rotary %q, %positions, %f : ...
    %k1 = decode.rotary %k, %positions, %f : ...
    %k2 = decode.append %k1, %positions, %slots into @layers.0.keys : ...
    %v2 = decode.append %v, %positions, %slots into @layers.0.values : ...
    ```

    becomes a group that gives `%q1`, `%k2` and `%v2`.
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def LowerToKernelsPass : Pass<"lower-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Functions become entries, ops and groups become launches";
  let description = [{
    Before: functions of `decode`, `nm`, `arith` and `exec.group` ops; reshapes
    of `tensor`; every linear is packed. After: `exec` and nothing else. Each
    group, and each op in no group, is one launch of the kernel that its
    KernelSpec names (attention over a long context two); tensors are buffers;
    arguments, results and recorded values are bound; weights and states that
    are used become those of the executable, the others go.

    ```mlir
    func.func @decode(%tokens: tensor<1x1xi64>, ...) -> ...
        attributes {decode.entry = "decode"} {
      %table = decode.load @embed : tensor<256x64xbf16>
      %x = decode.embed %tokens, %table : ...
      ...
    ```

    becomes

    ```mlir
    exec.entry @decode decode batch 1 rows 1 {
      %0 = exec.buffer 4
      exec.bind tokens %0 "input_ids" : tensor<1xi32>
      %1 = exec.weight_ref @embed
      %2 = exec.buffer 256
      exec.launch @embed.t1.v256.h64.bf16 units 1 (in %0, in %1, out %2) "embed"
      ...
    ```

    What no kernel computes is an error that names every such op.
  }];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

def VerifyLoweredPass : Pass<"verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Checks what must hold before plan";
  let description = [{
    Only words of `exec` are left, and no groups; there is an `exec.model`;
    every kernel's name is a specification that a kernel can be built from, with
    the scratch that it needs, and every launch has the units and the number of
    operands that its kernel says.
  }];
}

def BuildCpuKernelsPass : Pass<"build-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels become functions that compute them on a CPU level";
  let description = [{
    Before: the names of kernels in `exec.kernel`. After: the functions of those
    names, with the calling convention of kernels/Spec, in func, scf, arith,
    vector and llvm, and nothing else. Emit does the same on its own way to
    machine code; this pass is there to look at kernels and to change them.

    ```mlir
    exec.kernel @norm.t1.k64.rms_f32_1em05 scratch 0
    ```

    becomes, among others for the avx2 level,

    ```mlir
    func.func @norm.t1.k64.rms_f32_1em05(%operands: !llvm.ptr, %begin: i64,
                                         %end: i64, %scratch: !llvm.ptr) {
      ...
      scf.for %row = %begin to %end step %c1 : i64 {
    ```

    A name that is no specification is an error.
  }];
  let options = [
    Option<"level", "level", "std::string", "\"avx512vbmi2\"",
           "avx2 or avx512vbmi2">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// Plan: buffers -> offsets, launches -> one list
//===----------------------------------------------------------------------===//

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives buffers and weights their places";
  let description = [{
    Before: a verified lowered module; buffers have sizes, weights have bytes
    to come from.

    After: every buffer of an entry has an offset in the arena of that entry,
    a multiple of 64, such that buffers that hold a value at the same time
    share no byte; every weight has a place in the one segment `@weights`, in
    the order of the module.

    ```mlir
    exec.entry @decode decode batch 1 rows 1 {
      %x = exec.buffer 256
      ...
    ```

    becomes

    ```mlir
    exec.entry @decode decode batch 1 rows 1 arena 1024 {
      %x = exec.buffer 256 at 512
      ...
    ```

    A bound buffer is never shared: the host may look at it at any time. A
    buffer that is read before it is written is an error.
  }];
}

def VerifyPlannedPass : Pass<"verify-planned", "::mlir::ModuleOp"> {
  let summary = "Checks what must hold before emit";
  let description = [{
    Every weight has a place of its own; every entry has an arena and every
    buffer in it an offset, such that buffers that live at the same time share
    no byte. Compares all pairs anew, from the IR alone.
  }];
}

//===----------------------------------------------------------------------===//
// Emit: exec -> the file
//===----------------------------------------------------------------------===//

def EmitExecutablePass : Pass<"emit-executable", "::mlir::ModuleOp"> {
  let summary = "Write the executable";
  let description = [{
    Before: a verified planned module. After: `output` is the executable, and
    the module has what the file has beyond it: an `exec.image` and a segment of
    code for each level, a segment of text if there is one.

    With `dry-run` nothing is written and no weight is read; the sizes, in the
    remark `emit`, are those that the file would have.
  }];
  let options = [
    Option<"output", "output", "std::string", [{""}], "The file">,
    ListOption<"levels", "levels", "std::string",
               "CPU levels of the code (default: all)">,
    Option<"text", "text", "std::string", [{""}],
           "File with a FlatBuffer of schema/text.fbs">,
    Option<"folder", "folder", "std::string", [{""}],
           "Where relative paths of weights start; empty: beside the .mlir "
           "file">,
    Option<"threads", "threads", "unsigned", "1", "Threads">,
    Option<"dryRun", "dry-run", "bool", "false", "Tell sizes only">,
  ];
  let dependentDialects = ["::sdc::exec::ExecDialect"];
}

//===----------------------------------------------------------------------===//
// Beside the walk: for trying and testing passes
//===----------------------------------------------------------------------===//

def NMEvaluatePass : Pass<"nm-evaluate", "::mlir::ModuleOp"> {
  let summary = "Fold nm ops on constants to their values";
  let description = [{
    Ops of nm, `decode.linear` and `decode.load` whose operands are constant
    become `arith.constant`s, computed by kernels/Format and kernels/Reference;
    weights are read from their files. Packed values are followed but have no
    constant of their own: what is unpacked, multiplied or masked of them has.
    Packing values that have no packed form is an error. For small modules: it
    is the one pass that makes constants of weights.

    ```mlir
    %w = arith.constant dense<[[1.0, -3.0, 0.5, 2.0]]> : tensor<1x4xf32>
    %q = nm.prune %w <2:4> : tensor<1x4xf32>
    ```
    becomes
    ```mlir
    %q = arith.constant dense<[[0.0, -3.0, 0.0, 2.0]]> : tensor<1x4xf32>
    ```
  }];
  let options = [
    Option<"folder", "folder", "std::string", [{""}],
           "Where relative paths of weights start; empty: beside the .mlir "
           "file">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ConvertNMToSparseTensorPass
    : Pass<"convert-nm-to-sparse-tensor", "::mlir::ModuleOp"> {
  let summary = "Say packed weights as structured tensors of sparse_tensor";
  let description = [{
    Where both dialects can say the same (an N:M pattern, K a multiple of M),
    `!nm.packed` becomes a tensor with a `structured[N, M]` level, `nm.pack` and
    `nm.unpack` become `sparse_tensor.convert`, and `nm.linear` a
    `linalg.generic` with that operand. Other packed types stay. The tile is
    lost; a mask of its own is an error, as are ops that have no such form
    (`nm.mask`, loads of `nm.weight`).

    ```mlir
    %p = nm.pack %w : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows8>
    ```
    becomes, with #E = (r, k) -> (r : dense, k floordiv 4 : dense,
    k mod 4 : structured[2, 4]),
    ```mlir
    %p = sparse_tensor.convert %w : tensor<8x32xf32> to tensor<8x32xf32, #E>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::sparse_tensor::SparseTensorDialect",
    "::mlir::tensor::TensorDialect"];
}

def ConvertSparseTensorToNMPass
    : Pass<"convert-sparse-tensor-to-nm", "::mlir::ModuleOp"> {
  let summary = "Say structured tensors of sparse_tensor as packed weights";
  let description = [{
    The way back: tensors whose encoding is (dense, dense over groups of M,
    structured[N, M]) become `!nm.packed`, conversions from and to dense tensors
    `nm.pack` and `nm.unpack`, products with them that start from 0 or from a
    broadcast bias `nm.linear`. Tensors of other encodings stay; an op on a
    structured tensor that has no form in nm is an error.
  }];
  let options = [
    Option<"tile", "tile", "std::string", [{""}],
           "Tile of the packed types; empty: what kernels/Select chooses">,
  ];
  let dependentDialects = ["::sdc::nm::NMDialect"];
}

#endif // SDC_COMPILER_PASSES_TD
