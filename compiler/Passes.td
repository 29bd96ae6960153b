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
