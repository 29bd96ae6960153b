// Products with constants: every orientation becomes [rows, K] by a view.
// RUN: sdc-opt %s --raise-linear | FileCheck %s

// CHECK-DAG: decode.weight @[[KFIRST:weight.*]] : tensor<3x4xf32> from #decode.file<"w", 0, 48> view <tensor<4x3xf32>, 0, transposed>
// CHECK-DAG: decode.weight @[[SOME:weight.*]] : tensor<2x4xf32> from #decode.file<"w", 48, 48> view <tensor<3x4xf32>, 1>
// CHECK-DAG: decode.weight @[[BIAS:weight.*]] : tensor<3xf32> from dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
decode.weight @k_first : tensor<4x3xf32> from #decode.file<"w", 0, 48>
decode.weight @rows_first : tensor<3x4xf32> from #decode.file<"w", 48, 48>

// CHECK-LABEL: onnx.graph @decode(
// CHECK-SAME: %[[X:arg1]]: tensor<1x2x4xf32>
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other",
                           onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %v: tensor<4x3xf32> {onnx.name = "v", onnx.role = "other.v",
                         onnx.dims = affine_map<()[P] -> (4, 3)>})
    -> (tensor<1x2x3xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x3xf32> {onnx.name = "b", onnx.role = "other"},
        tensor<1x2x3xf32> {onnx.name = "c", onnx.role = "other.c"},
        tensor<1x2x2xf32> {onnx.name = "d", onnx.role = "other.d"},
        tensor<2x3xf32> {onnx.name = "e", onnx.role = "other.e"},
        tensor<1x2x3xf32> {onnx.name = "f", onnx.role = "other.f"}) {
  // MatMul stores K first. The bias may be added from either side.
  %k = onnx.weight_ref @k_first : tensor<4x3xf32>
  %bias = onnx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  // CHECK: %[[W0:.*]] = decode.load @[[KFIRST]]
  // CHECK: %[[A:.*]] = decode.linear %[[X]], %[[W0]] bias %{{.*}} :
  %0 = onnx.node "MatMul" since 13 (%x, %k)
      : (tensor<1x2x4xf32>, tensor<4x3xf32>) -> tensor<1x2x3xf32>
  %a = onnx.node "Add" since 14 (%bias, %0)
      : (tensor<3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>

  // Rows first behind a Transpose and an Identity.
  %r = onnx.weight_ref @rows_first : tensor<3x4xf32>
  %t = onnx.node "Transpose" since 25 (%r) attrs {perm = array<i64: 1, 0>}
      : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %i = onnx.node "Identity" since 25 (%t) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: %[[W1:.*]] = decode.load @rows_first
  // CHECK: %[[B:.*]] = decode.linear %[[X]], %[[W1]] :
  %b = onnx.node "MatMul" since 13 (%x, %i)
      : (tensor<1x2x4xf32>, tensor<4x3xf32>) -> tensor<1x2x3xf32>

  // Some of the rows.
  %one = onnx.constant dense<1> : tensor<1xi64>
  %three = onnx.constant dense<3> : tensor<1xi64>
  %s = onnx.node "Slice" since 13 (%t, %one, %three, %one)
      : (tensor<4x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
      -> tensor<4x2xf32>
  // CHECK: %[[W2:.*]] = decode.load @[[SOME]]
  // CHECK: %[[D:.*]] = decode.linear %[[X]], %[[W2]] :
  %d = onnx.node "MatMul" since 13 (%x, %s)
      : (tensor<1x2x4xf32>, tensor<4x2xf32>) -> tensor<1x2x2xf32>

  // A Gemm on rows of all sequences reads the rows of tokens instead.
  %sizes = onnx.constant dense<[-1, 4]> : tensor<2xi64>
  %flat = onnx.node "Reshape" since 25 (%x, %sizes)
      : (tensor<1x2x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // CHECK: %[[W3:.*]] = decode.load @rows_first
  // CHECK: %[[E:.*]] = decode.linear %{{.*}}, %[[W3]] bias
  // CHECK: onnx.node "Reshape" since 14(%[[E]]
  %e = onnx.node "Gemm" since 13 (%flat, %r, %bias) attrs {transB = 1}
      : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>

  // No constant: no linear. A factor: none either.
  // CHECK: onnx.node "MatMul" since 13(%[[X]], %arg2)
  %c = onnx.node "MatMul" since 13 (%x, %v)
      : (tensor<1x2x4xf32>, tensor<4x3xf32>) -> tensor<1x2x3xf32>
  %two = onnx.constant dense<2.0> : tensor<f32>
  %scaled = onnx.node "Mul" since 14 (%k, %two)
      : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  // CHECK: onnx.node "MatMul"
  %f = onnx.node "MatMul" since 13 (%x, %scaled)
      : (tensor<1x2x4xf32>, tensor<4x3xf32>) -> tensor<1x2x3xf32>
  onnx.return %a, %b, %c, %d, %e, %f
      : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>,
        tensor<1x2x2xf32>, tensor<2x3xf32>, tensor<1x2x3xf32>
}
