// What must not be left when a model leaves the raise room.
// RUN: sdc-opt %s --verify-raised -split-input-file -verify-diagnostics

// Every node of an operator is listed once, plain ones only if nothing else is
// left; the other entry has the same nodes and is not repeated.
onnx.graph @decode(
    %x: tensor<1x4xf32> {onnx.name = "input_ids", onnx.role = "input_ids"})
    -> (tensor<1x4xf32> {onnx.name = "y", onnx.role = "logits"}) {
  // expected-note@below {{around 'a' (ai.onnx::Softmax since 13)}}
  // expected-error@below {{ai.onnx::Softmax was not recognised as a part of a decoder: it is odd; 2 nodes in entry 'decode': 'a' (ai.onnx::Softmax since 13), 'b' (ai.onnx::Softmax since 13)}}
  %a = onnx.node "Softmax" since 13 named "a" (%x) {raise.reason = "it is odd"}
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %n = onnx.node "Neg" since 13 named "n" (%a)
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %b = onnx.node "Softmax" since 13 named "b" (%n) {raise.reason = "it is odd"}
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  // expected-note@below {{around 'f' (com.other::Fancy since 3)}}
  // expected-error@below {{com.other::Fancy was not recognised as a part of a decoder; 1 node in entry 'decode': 'f' (com.other::Fancy since 3)}}
  %f = onnx.node "Fancy" in "com.other" since 3 named "f" (%b)
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  onnx.return %f : tensor<1x4xf32>
}
onnx.graph @prefill(
    %x: tensor<1x4xf32> {onnx.name = "input_ids", onnx.role = "input_ids"})
    -> (tensor<1x4xf32> {onnx.name = "y", onnx.role = "logits"}) {
  %a = onnx.node "Softmax" since 13 named "a" (%x)
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  onnx.return %a : tensor<1x4xf32>
}

// -----

// expected-note@below {{input 'past.key.0' is read}}
// expected-error@below {{entry 'decode' is not that of a decoder: expected logits as the only output besides caches, got 'present.key.0'}}
onnx.graph @decode(
    %x: tensor<1x2x?x4xf32> {onnx.name = "k", onnx.role = "past.key.0"})
    -> (tensor<1x2x?x4xf32> {onnx.name = "p", onnx.role = "present.key.0"}) {
  onnx.return %x : tensor<1x2x?x4xf32>
}

// -----

func.func @decode(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    attributes {decode.entry = "decode"} {
  return %x : tensor<1x2x4xf32>
}

// expected-error@below {{entries 'decode' and 'prefill' are not the same operations}}
func.func @prefill(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    attributes {decode.entry = "prefill"} {
  %y = decode.activate silu %x : tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// -----

// The same operations with other attributes are other operations.
func.func @decode(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    attributes {decode.entry = "decode"} {
  %y = decode.activate relu %x : tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// expected-error@below {{entries 'decode' and 'prefill' are not the same operations}}
func.func @prefill(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    attributes {decode.entry = "prefill"} {
  %y = decode.activate silu %x : tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}
