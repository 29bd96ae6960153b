// What the verifiers refuse. (Cx) are the constraints in OnnxOps.td.
// RUN: sdc-opt %s -split-input-file -verify-diagnostics

// graph (C1), return (C1)
onnx.graph @main(%x: tensor<2xf32> {onnx.name = "x", onnx.role = "other"})
    -> (tensor<2xi64> {onnx.name = "y", onnx.role = "other"}) {
  // expected-error @+1 {{expected operands of types 'tensor<2xi64>', got 'tensor<2xf32>'}}
  onnx.return %x : tensor<2xf32>
}

// -----

// graph (C2)
// expected-error @+1 {{argument 0: expected a string onnx.name}}
onnx.graph @main(%x: tensor<2xf32> {onnx.role = "other"}) {
  onnx.return
}

// -----

// graph (C2)
// expected-error @+1 {{result 1: name 'y' is taken}}
onnx.graph @main(%x: tensor<2xf32> {onnx.name = "y", onnx.role = "other"})
    -> (tensor<2xf32> {onnx.name = "y", onnx.role = "other"},
        tensor<2xf32> {onnx.name = "y", onnx.role = "other"}) {
  onnx.return %x, %x : tensor<2xf32>, tensor<2xf32>
}

// -----

// graph (C3)
// expected-error @+1 {{argument 0: expected a string onnx.role}}
onnx.graph @main(%x: tensor<2xf32> {onnx.name = "x"}) {
  onnx.return
}

// -----

// graph (C3)
// expected-error @+1 {{argument 1: role 'input_ids' is taken}}
onnx.graph @main(
    %x: tensor<1x1xi64> {onnx.name = "x", onnx.role = "input_ids"},
    %y: tensor<1x1xi64> {onnx.name = "y", onnx.role = "input_ids"}) {
  onnx.return
}

// -----

// graph (C4)
// expected-error @+1 {{argument 0: onnx.dims is not an affine map}}
onnx.graph @main(%x: tensor<2xf32>
    {onnx.name = "x", onnx.role = "other", onnx.dims = [2]}) {
  onnx.return
}

// -----

// graph (C4)
// expected-error @+1 {{argument 0: expected onnx.dims over one symbol, got 1 dimensions and 0 symbols}}
onnx.graph @main(%x: tensor<?xf32>
    {onnx.name = "x", onnx.role = "other",
     onnx.dims = affine_map<(d0) -> (d0)>}) {
  onnx.return
}

// -----

// graph (C4)
// expected-error @+1 {{argument 0: expected 1 results of onnx.dims, got 2}}
onnx.graph @main(%x: tensor<?xf32>
    {onnx.name = "x", onnx.role = "other",
     onnx.dims = affine_map<()[P] -> (P, 1)>}) {
  onnx.return
}

// -----

// graph (C4)
// expected-error @+1 {{argument 0: onnx.dims on an unranked value}}
onnx.graph @main(%x: tensor<*xf32>
    {onnx.name = "x", onnx.role = "other",
     onnx.dims = affine_map<()[P] -> (P)>}) {
  onnx.return
}

// -----

// graph (C4): a size that depends on the past length is not static
// expected-error @+1 {{argument 0: onnx.dims and 'tensor<2x8xf32>' disagree}}
onnx.graph @main(%x: tensor<2x8xf32>
    {onnx.name = "x", onnx.role = "other",
     onnx.dims = affine_map<()[P] -> (2, P + 1)>}) {
  onnx.return
}

// -----

// graph (C4)
// expected-error @+1 {{argument 0: onnx.dims and 'tensor<2x?xf32>' disagree}}
onnx.graph @main(%x: tensor<2x?xf32>
    {onnx.name = "x", onnx.role = "other",
     onnx.dims = affine_map<()[P] -> (3, P)>}) {
  onnx.return
}

// -----

// node (C1)
onnx.graph @main() {
  // expected-error @+1 {{expected an operator name, got an empty one}}
  %x = onnx.node "" since 1 () : () -> tensor<2xf32>
  onnx.return
}

// -----

// node (C1)
onnx.graph @main() {
  // expected-error @+1 {{expected a positive schema version, got 0}}
  %x = onnx.node "RandomNormal" since 0 () : () -> tensor<2xf32>
  onnx.return
}

// -----

// node (C2)
onnx.graph @main(%x: tensor<2xf32> {onnx.name = "x", onnx.role = "other"}) {
  // expected-error @+1 {{output 1 is left out but used}}
  %y:2 = onnx.node "Dropout" since 22 (%x)
      : (tensor<2xf32>) -> (tensor<2xf32>, none)
  %z = onnx.node "Dropout" since 22 (%x, %y#1)
      : (tensor<2xf32>, none) -> tensor<2xf32>
  onnx.return
}

// -----

// constant (C1): 65536 bytes are allowed, one element more is not
onnx.graph @main() {
  %x = onnx.constant dense<0.0> : tensor<128x128xf32>
  // expected-error @+1 {{expected at most 65536 bytes, got 65540}}
  %y = onnx.constant dense<0.0> : tensor<16385xf32>
  onnx.return
}

// -----

// constant (C1): an i1 takes a byte
onnx.graph @main() {
  // expected-error @+1 {{expected at most 65536 bytes, got 65537}}
  %y = onnx.constant dense<true> : tensor<65537xi1>
  onnx.return
}

// -----

// weight_ref (C1)
onnx.graph @main() {
  // expected-error @+1 {{names no symbol: @w}}
  %w = onnx.weight_ref @w : tensor<2xf32>
  onnx.return
}

// -----

// weight_ref (C1)
decode.weight @w : tensor<3xf32> from #decode.file<"model.onnx.data", 0, 12>
onnx.graph @main() {
  // expected-error @+1 {{expected the type of @w, 'tensor<3xf32>', got 'tensor<2xf32>'}}
  %w = onnx.weight_ref @w : tensor<2xf32>
  onnx.return
}

// -----

// weight_ref (C1)
onnx.graph @other() {
  onnx.return
}
onnx.graph @main() {
  // expected-error @+1 {{@other is not a weight}}
  %w = onnx.weight_ref @other : tensor<2xf32>
  onnx.return
}
