// Activations become f32; a cast of a weight stays, and with it the type in
// which the weight is stored.
// RUN: sdc-opt %s --raise-promote-floats | FileCheck %s

// CHECK-LABEL: onnx.graph @decode(
onnx.graph @decode(
    %ids: tensor<1x1xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 1)>})
    -> (tensor<1x1x2xf16> {onnx.name = "logits", onnx.role = "logits"}) {
  %w = onnx.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
  // CHECK: %[[X:.*]] = onnx.node "Gather" {{.*}} -> tensor<1x1x2xf32>
  %x = onnx.node "Gather" since 13 (%w, %ids)
      : (tensor<2x2xf16>, tensor<1x1xi64>) -> tensor<1x1x2xf16>
  // CHECK: onnx.node "Neg" since 13(%[[X]]) : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %wide = onnx.node "Cast" since 25 (%x) attrs {to = 1}
      : (tensor<1x1x2xf16>) -> tensor<1x1x2xf32>
  %n = onnx.node "Neg" since 13 (%wide) : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %y = onnx.node "Cast" since 25 (%n) attrs {to = 10}
      : (tensor<1x1x2xf32>) -> tensor<1x1x2xf16>
  // CHECK: %[[W:.*]] = onnx.node "Cast" since 25({{.*}}) {{.*}} : (tensor<2x2xf16>) -> tensor<2x2xf32>
  %ww = onnx.node "Cast" since 25 (%w) attrs {to = 1}
      : (tensor<2x2xf16>) -> tensor<2x2xf32>
  // CHECK: onnx.node "MatMul" since 13({{.*}}, %[[W]])
  %z = onnx.node "MatMul" since 13 (%y, %ww)
      : (tensor<1x1x2xf16>, tensor<2x2xf32>) -> tensor<1x1x2xf16>
  // CHECK: onnx.return {{.*}} : tensor<1x1x2xf32>
  onnx.return %z : tensor<1x1x2xf16>
}
