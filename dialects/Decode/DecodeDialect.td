// The decode dialect itself, and the base class of its operations.

#ifndef SDC_DIALECTS_DECODE_DECODEDIALECT_TD
#define SDC_DIALECTS_DECODE_DECODEDIALECT_TD

include "mlir/IR/OpBase.td"

def Decode_Dialect : Dialect {
  let name = "decode";
  let cppNamespace = "::sdc::decode";
  let summary = "A decoder language model at the level at which people draw it";
  let description = [{
    Values are ordinary tensors with static shapes; what a step remembers is a
    `!decode.cache`; what a model knows is a module-level `decode.weight`.

    An *entry* is a `func.func` with the attribute `decode.entry` ("decode" or
    "prefill"), of the form

    ```mlir
    func.func @decode(%tokens: tensor<BxSxi64>, %positions: tensor<BxSxi32>,
                      %slots: tensor<Bxi32>) -> tensor<BxSxVxf32>
        attributes {decode.entry = "decode"}
    ```

    Row (b, s) is one token. `%positions[b, s]` is its place in its sequence,
    or -1 for a row that takes no part: it writes nothing into a cache and its
    results are unspecified. `%slots[b]` is the sequence of the batch that the
    rows b belong to. A decode entry has S = 1, a prefill entry B = 1.

    Arguments and results may carry `decode.name`, their name in the source
    model; a module may carry `decode.model_context`, the context that the model
    was made for. A `func.func` without `decode.entry` is a plain graph.

    Activations are f32: casts between float types of the source model are
    dropped, sums are f32, and only weights and caches are narrower.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class Decode_Op<string mnemonic, list<Trait> traits = []>
    : Op<Decode_Dialect, mnemonic, traits>;

#endif // SDC_DIALECTS_DECODE_DECODEDIALECT_TD
