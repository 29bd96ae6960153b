// The exec dialect itself, and the base class of its operations.

#ifndef SDC_DIALECTS_EXEC_EXECDIALECT_TD
#define SDC_DIALECTS_EXEC_EXECDIALECT_TD

include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::sdc::exec";
  let summary = "The executable as text: one operation for each schema table";
  let description = [{
    Says what runtime/schema/executable.fbs says, with symbols in place of
    indices, so that emission is a walk. The words at module level are `model`,
    `provenance`, `segment`, `weight`, `state`, `kernel` and `image`; an
    `entry` holds what one step does:

    ```mlir
    exec.entry @decode decode batch 1 rows 1 {
      %tokens = exec.buffer 4
      exec.bind tokens %tokens "input_ids" : tensor<1xi32>
      %table = exec.weight_ref @embed
      %x = exec.buffer 2304
      exec.launch @embed_bf16 units 1 (in %tokens, in %table, out %x)
    }
    ```

    Three things fill in as the walk goes on: `lower` leaves buffers without
    offsets and weights without places, `plan` gives both, and `emit` adds the
    images, since only then is there code.

    `exec.group` is the exception, a word of the room `lower` alone: the ops
    that one launch will compute.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

#endif // SDC_DIALECTS_EXEC_EXECDIALECT_TD
