// Sums of raised rows become arith.addf; other sums stay.
// RUN: sdc-opt %s --raise-residual | FileCheck %s

decode.weight @w : tensor<4x4xf32> from #decode.file<"w", 0, 64>

// CHECK-LABEL: onnx.graph @decode(
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>})
    -> (tensor<1x2x4xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x4xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<1x2x4xf32> {onnx.name = "c", onnx.role = "other.c"},
        tensor<1x2x4xf32> {onnx.name = "d", onnx.role = "other.d"}) {
  %w = decode.load @w : tensor<4x4xf32>
  // CHECK: %[[L:.*]] = decode.linear
  %l = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<4x4xf32> -> tensor<1x2x4xf32>
  // CHECK: %[[A:.*]] = arith.addf %[[L]], %[[L]]
  %a = onnx.node "Add" since 14 (%l, %l)
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  // CHECK: %[[B:.*]] = arith.addf %[[A]], %[[L]]
  %b = onnx.node "Add" since 14 (%a, %l)
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  // A reshape of rows and back is looked through.
  %shape2 = onnx.constant dense<[2, 4]> : tensor<2xi64>
  %shape3 = onnx.constant dense<[1, 2, 4]> : tensor<3xi64>
  %flat = onnx.node "Reshape" since 14 (%l, %shape2)
      : (tensor<1x2x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %rows = onnx.node "Reshape" since 14 (%flat, %shape3)
      : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<1x2x4xf32>
  // CHECK: %[[D:.*]] = arith.addf %[[L]], %[[B]]
  %d = onnx.node "Add" since 14 (%rows, %b)
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %k = onnx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  // CHECK: %[[C:.*]] = onnx.node "Add"
  %c = onnx.node "Add" since 14 (%b, %k)
      : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  // CHECK: onnx.return %[[A]], %[[B]], %[[C]], %[[D]]
  onnx.return %a, %b, %c, %d : tensor<1x2x4xf32>, tensor<1x2x4xf32>,
      tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
