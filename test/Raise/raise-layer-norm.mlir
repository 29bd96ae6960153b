// LayerNormalization over the last axis, with a bias or without.
// RUN: sdc-opt %s --raise-layer-norm | FileCheck %s

// CHECK-LABEL: onnx.graph @decode(
// CHECK-SAME: %[[X:arg1]]: tensor<1x2x4xf32>
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>})
    -> (tensor<1x2x4xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x4xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<1x2x4xf32> {onnx.name = "c", onnx.role = "other.c"}) {
  %w = onnx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = onnx.constant dense<[4.0, 3.0, 2.0, 1.0]> : tensor<4xf32>
  // CHECK: %[[A:.*]] = decode.layer_norm %[[X]], %{{.*}}, %{{.*}} eps 9.9999999999999995E-7 : tensor<1x2x4xf32>, tensor<4xf32>, tensor<4xf32>
  %a = onnx.node "LayerNormalization" since 17 (%x, %w, %v)
      attrs {axis = 2, epsilon = 1.0e-6 : f32}
      : (tensor<1x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  // CHECK: %[[B:.*]] = decode.layer_norm %[[X]], %{{.*}} eps 1.000000e-05 : tensor<1x2x4xf32>, tensor<4xf32>
  %b = onnx.node "LayerNormalization" since 17 (%x, %w)
      : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  // Over two axes: not one of these.
  %m = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]> : tensor<2x4xf32>
  // CHECK: %[[C:.*]] = onnx.node "LayerNormalization"
  %c = onnx.node "LayerNormalization" since 17 (%x, %m)
      attrs {axis = 1}
      : (tensor<1x2x4xf32>, tensor<2x4xf32>) -> tensor<1x2x4xf32>
  // CHECK: onnx.return %[[A]], %[[B]], %[[C]]
  onnx.return %a, %b, %c
      : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
