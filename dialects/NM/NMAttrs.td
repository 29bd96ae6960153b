// Attributes of the nm dialect: the geometry of sparsity, and what pruning has
// to say about a weight.

#ifndef SDC_DIALECTS_NM_NMATTRS_TD
#define SDC_DIALECTS_NM_NMATTRS_TD

include "dialects/NM/NMDialect.td"
include "mlir/IR/AttrTypeBase.td"

def NM_PatternAttr : AttrDef<NM_Dialect, "Pattern"> {
  let mnemonic = "pattern";
  let summary = "N weights kept of every M along K, or all of them";
  let description = [{
    Groups start at multiples of M and do not overlap. A row of K = 8 weights
    under `#nm.pattern<2:4>`, `x` being free to be non-zero:

    ```
    k     0 1 2 3   4 5 6 7
          . x x .   x . . x
    ```

    In a mask every group has exactly N bits, so that a kept weight may be zero
    but a dropped one never is anything else. `#nm.pattern<dense>` drops none.

    Constraint:
    - (C1) M is 2, 4, 8, 16 or 32 and 1 <= N < M; dense is N = M = 1.

    Refused by (C1), since N counts what is kept: `#nm.pattern<4:2>`
  }];
  let parameters = (ins "unsigned":$n, "unsigned":$m);
  let builders = [
    AttrBuilder<(ins "::sdc::Pattern":$pattern),
                [{ return $_get($_ctxt, pattern.n, pattern.m); }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The pattern as kernels/Format knows it.
    ::sdc::Pattern getValue() const { return {getN(), getM()}; }
    /// Whether the pattern keeps every weight.
    bool isDense() const { return getValue().isDense(); }
  }];
}

def NM_ReportAttr : AttrDef<NM_Dialect, "Report"> {
  let mnemonic = "report";
  let summary = "What pruning did to a weight, or why it did nothing";
  let description = [{
    `method` is "sparsegpt", "wanda", "magnitude", "kept" (the weight had its
    zeros already) or "none" (left dense). `damping` is the share of the mean
    diagonal that was added in the end, `loss` is ||(W - W')X||^2 over the
    recorded positions, `relativeLoss` the same over ||WX||^2; both are NaN,
    written `unknown`, where nothing was recorded. `notes` are
    sentences for people: why a linear stayed dense, that damping was raised,
    that K was padded.

    It is the attribute `report` of an `nm.weight`, and the discardable
    attribute `nm.report` of a `decode.weight`.

    Example:

    ```
    #nm.report<16:32, "sparsegpt", damping 1.000000e-02, loss 1.250000e+00,
               relative 3.000000e-02, notes "K = 90 was padded to 96">
    ```
  }];
  let parameters = (ins "::sdc::nm::PatternAttr":$pattern,
                        StringRefParameter<"method">:$method,
                        APFloatParameter<"damping">:$damping,
                        APFloatParameter<"loss">:$loss,
                        APFloatParameter<"relative loss">:$relativeLoss,
                        ArrayRefParameter<"::mlir::StringAttr">:$notes);
  let builders = [
    AttrBuilder<(ins "::sdc::Pattern":$pattern, "::llvm::StringRef":$method,
                     "double":$damping, "double":$loss, "double":$relativeLoss,
                     "::llvm::ArrayRef<::std::string>":$notes)>];
  let hasCustomAssemblyFormat = 1;
}

#endif // SDC_DIALECTS_NM_NMATTRS_TD
