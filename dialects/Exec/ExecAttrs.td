// Attributes of the exec dialect: the enumerations of the schema, with its
// names and numbers, and how a weight was pruned.

#ifndef SDC_DIALECTS_EXEC_EXECATTRS_TD
#define SDC_DIALECTS_EXEC_EXECATTRS_TD

include "dialects/Exec/ExecDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sdc::exec";
}

def Exec_SegmentKind : Exec_Enum<"SegmentKind", "what a segment holds", [
    I32EnumAttrCase<"Weights", 0, "weights">,
    I32EnumAttrCase<"Code", 1, "code">,
    I32EnumAttrCase<"Text", 2, "text">]>;

def Exec_EntryKind : Exec_Enum<"EntryKind", "what an entry is for", [
    I32EnumAttrCase<"Decode", 0, "decode">,
    I32EnumAttrCase<"Prefill", 1, "prefill">,
    I32EnumAttrCase<"Plain", 2, "plain">]>;

def Exec_Role : Exec_Enum<"Role", "what a binding is for", [
    I32EnumAttrCase<"Tokens", 0, "tokens">,
    I32EnumAttrCase<"Positions", 1, "positions">,
    I32EnumAttrCase<"Slots", 2, "slots">,
    I32EnumAttrCase<"Logits", 3, "logits">,
    I32EnumAttrCase<"Input", 4, "input">,
    I32EnumAttrCase<"Output", 5, "output">,
    I32EnumAttrCase<"Tap", 6, "tap">]>;

def Exec_Access : Exec_Enum<"Access", "what a launch does with an operand", [
    I32EnumAttrCase<"In", 0, "in">,
    I32EnumAttrCase<"Out", 1, "out">,
    I32EnumAttrCase<"InOut", 2, "inout">]>;

def Exec_PruningAttr : AttrDef<Exec_Dialect, "Pruning"> {
  let mnemonic = "pruning";
  let summary = "How one linear was pruned";
  let description = [{
    `method` is "sparsegpt", "wanda", "magnitude", or "kept" for a pattern that
    was found in the model. `loss` is ||(W - W^) X||^2 over the calibration,
    `relative` the same divided by ||W X||^2.

    Example:

    ```mlir
    #exec.pruning<"sparsegpt", damping 1.000000e-02, loss 3.500000e+00,
                  relative 2.000000e-02, ["damping raised from 0.01 to 0.1"]>
    ```
  }];
  let parameters = (ins StringRefParameter<"method">:$method,
                        "::mlir::FloatAttr":$damping, "::mlir::FloatAttr":$loss,
                        "::mlir::FloatAttr":$relative,
                        OptionalParameter<"::mlir::ArrayAttr">:$notes);
  let assemblyFormat = [{
    `<` $method `,` `damping` custom<Number>($damping) `,`
    `loss` custom<Number>($loss) `,` `relative` custom<Number>($relative)
    (`,` $notes^)? `>`
  }];
}

#endif // SDC_DIALECTS_EXEC_EXECATTRS_TD
