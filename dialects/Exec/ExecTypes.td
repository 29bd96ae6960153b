// Types of the exec dialect.

#ifndef SDC_DIALECTS_EXEC_EXECTYPES_TD
#define SDC_DIALECTS_EXEC_EXECTYPES_TD

include "dialects/Exec/ExecDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Exec_OperandType : TypeDef<Exec_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "A place in memory that a launch is given";
  let description = [{
    Bytes of the arena, a weight, a state or the session's parameters. What
    lies there, and how, is the business of the kernel.
  }];
}

#endif // SDC_DIALECTS_EXEC_EXECTYPES_TD
