// What raised operations read through moves, they read from raised values.
// RUN: sdc-opt %s --raise-moves | FileCheck %s

decode.weight @w : tensor<4x4xf32> from #decode.file<"w", 0, 64>

// CHECK-LABEL: onnx.graph @decode(
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %f: tensor<1xf32> {onnx.name = "f", onnx.role = "other.f",
        onnx.dims = affine_map<()[P] -> (1)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x4xf32> {onnx.name = "y", onnx.role = "logits"}) {
  %w = decode.load @w : tensor<4x4xf32>
  %l = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<4x4xf32> -> tensor<1x2x4xf32>
  // CHECK: %[[L:.*]] = decode.linear
  // CHECK: %[[H:.*]] = tensor.expand_shape %[[L]]
  %h = tensor.expand_shape %l [[0], [1], [2, 3]] output_shape [1, 2, 2, 2]
      : tensor<1x2x4xf32> into tensor<1x2x2x2xf32>
  // CHECK: %[[R:.*]] = decode.rotary %[[H]]
  %r = decode.rotary %h, %positions, %f
      : tensor<1x2x2x2xf32>, tensor<1x2xi32>, tensor<1xf32>
  // Heads first and back, then joined.
  // CHECK: %[[C:.*]] = tensor.collapse_shape %[[R]] {{.*}} into tensor<1x2x4xf32>
  %t = onnx.node "Transpose" since 25 (%r)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %b = onnx.node "Transpose" since 25 (%t)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %s = onnx.constant dense<[1, 2, 4]> : tensor<3xi64>
  %j = onnx.node "Reshape" since 25 (%b, %s)
      : (tensor<1x2x2x2xf32>, tensor<3xi64>) -> tensor<1x2x4xf32>
  // CHECK: decode.linear %[[C]]
  %m = decode.linear %j, %w
      : tensor<1x2x4xf32>, tensor<4x4xf32> -> tensor<1x2x4xf32>
  // Heads and rows swapped for good: no rows of tokens.
  // CHECK: %[[J:.*]] = onnx.node "Reshape"
  // CHECK: decode.linear %[[J]]
  %j2 = onnx.node "Reshape" since 25 (%t, %s)
      : (tensor<1x2x2x2xf32>, tensor<3xi64>) -> tensor<1x2x4xf32>
  %n = decode.linear %j2, %w
      : tensor<1x2x4xf32>, tensor<4x4xf32> -> tensor<1x2x4xf32>
  %sum = arith.addf %m, %n : tensor<1x2x4xf32>
  onnx.return %sum : tensor<1x2x4xf32>
}
