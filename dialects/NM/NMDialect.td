// The nm dialect itself, and the base class of its operations.

#ifndef SDC_DIALECTS_NM_NMDIALECT_TD
#define SDC_DIALECTS_NM_NMDIALECT_TD

include "mlir/IR/OpBase.td"

def NM_Dialect : Dialect {
  let name = "nm";
  let cppNamespace = "::sdc::nm";
  let summary = "Products with N:M structured-sparse weights";
  let description = [{
    N:M means N weights **kept** of every M consecutive ones along K, the
    reduction axis, of one output row. `#nm.pattern` says so of a tensor that
    still holds its zeros; `!nm.packed` is a weight that holds none, in the
    layout of kernels/Format.

    From prune to pack a sparse linear is an `nm.linear` on a plain tensor with
    a pattern, a dense one a `decode.linear`. After pack every linear is an
    `nm.linear` on a `!nm.packed`, `dense` being a pattern like any other. The
    value ops (`nm.prune`, `nm.mask`, `nm.pack`, `nm.unpack`) say on values what
    those rooms do to weights in files; `--nm-evaluate` folds them to numbers.
  }];
  let dependentDialects = ["::sdc::decode::DecodeDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class NM_Op<string mnemonic, list<Trait> traits = []>
    : Op<NM_Dialect, mnemonic, traits>;

#endif // SDC_DIALECTS_NM_NMDIALECT_TD
