// A graph of raised operations becomes a function; one that still has a node
// stays.
// RUN: sdc-opt %s --raise-entries | FileCheck %s
// RUN: sdc-opt %s --raise-entries='all-logits=true' | FileCheck %s --check-prefix=ALL

decode.weight @embed : tensor<8x4xf32> from #decode.file<"w", 0, 128>

// CHECK: onnx.graph @decode(
// CHECK: onnx.node "Identity"
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids"},
    %mask: tensor<1x?xi64> {onnx.name = "m", onnx.role = "attention_mask"},
    %p: tensor<1x2xi32> {onnx.name = "p", onnx.role = "row_positions"},
    %s: tensor<1xi32> {onnx.name = "s", onnx.role = "row_slots"})
    -> (tensor<1x2x8xf32> {onnx.name = "y", onnx.role = "logits"}) {
  %w = decode.load @embed : tensor<8x4xf32>
  %x = decode.embed %ids, %w
      : tensor<1x2xi64>, tensor<8x4xf32> -> tensor<1x2x4xf32>
  %i = onnx.node "Identity" since 25 (%x)
      : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %y = decode.linear %i, %w
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  onnx.return %y : tensor<1x2x8xf32>
}

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[T:.*]]: tensor<1x2xi64>, %[[P:.*]]: tensor<1x2xi32>, %[[S:.*]]: tensor<1xi32>) -> tensor<1x1x8xf32> attributes {decode.entry = "prefill"}
// ALL-LABEL: func.func @prefill(
// ALL-SAME: -> tensor<1x2x8xf32>
// ALL-NOT: decode.last_row
onnx.graph @prefill(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids"},
    %mask: tensor<1x?xi64> {onnx.name = "m", onnx.role = "attention_mask"},
    %p: tensor<1x2xi32> {onnx.name = "p", onnx.role = "row_positions"},
    %s: tensor<1xi32> {onnx.name = "s", onnx.role = "row_slots"})
    -> (tensor<1x2x8xf32> {onnx.name = "y", onnx.role = "logits"}) {
  %w = decode.load @embed : tensor<8x4xf32>
  // CHECK: %[[X:.*]] = decode.embed %[[T]]
  %x = decode.embed %ids, %w
      : tensor<1x2xi64>, tensor<8x4xf32> -> tensor<1x2x4xf32>
  // CHECK: %[[R:.*]] = decode.last_row %[[X]], %[[P]]
  // CHECK: %[[Y:.*]] = decode.linear %[[R]]
  %y = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  // CHECK: return %[[Y]] : tensor<1x1x8xf32>
  onnx.return %y : tensor<1x2x8xf32>
}
