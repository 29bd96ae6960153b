// Every pass of the compiler, in pipeline order: its table of contents.

#ifndef SDC_COMPILER_PASSES_TD
#define SDC_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Raise: generic ONNX operators -> decode
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Pack: weights -> the packed format
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Lower: ops -> kernels
//===----------------------------------------------------------------------===//

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

#endif // SDC_COMPILER_PASSES_TD
