// Gated activations by their formula, whatever the nodes and their order.
// RUN: sdc-opt %s --raise-gate | FileCheck %s

decode.weight @g : tensor<6x4xf32> from #decode.file<"w", 0, 96>
decode.weight @u : tensor<6x4xf32> from #decode.file<"w", 96, 96>
// Gate and up in one product become two linears: rows 0 to 6 and 6 to 12.
// CHECK-DAG: decode.weight @[[LOW:weight.*]] : tensor<6x4xf32> from #decode.file<"w", 192, 192> view <tensor<12x4xf32>, 0>
// CHECK-DAG: decode.weight @[[HIGH:weight.*]] : tensor<6x4xf32> from #decode.file<"w", 192, 192> view <tensor<12x4xf32>, 6>
decode.weight @gate_up : tensor<12x4xf32> from #decode.file<"w", 192, 192>

// CHECK-LABEL: onnx.graph @decode(
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>})
    -> (tensor<1x2x6xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x6xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<1x2x6xf32> {onnx.name = "c", onnx.role = "other.c"},
        tensor<1x2x6xf32> {onnx.name = "d", onnx.role = "other.d"},
        tensor<1x2x6xf32> {onnx.name = "e", onnx.role = "other.e"},
        tensor<1x2x6xf32> {onnx.name = "f", onnx.role = "other.f"}) {
  %wg = decode.load @g : tensor<6x4xf32>
  %g = decode.linear %x, %wg
      : tensor<1x2x4xf32>, tensor<6x4xf32> -> tensor<1x2x6xf32>
  %wu = decode.load @u : tensor<6x4xf32>
  %u = decode.linear %x, %wu
      : tensor<1x2x4xf32>, tensor<6x4xf32> -> tensor<1x2x6xf32>
  // CHECK: %[[G:.*]] = decode.linear
  // CHECK: %[[U:.*]] = decode.linear
  // x sigmoid(x), times up from the left.
  // CHECK: %[[A:.*]] = decode.gate  silu %[[G]], %[[U]] :
  %a0 = onnx.node "Sigmoid" since 13 (%g)
      : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %a1 = onnx.node "Mul" since 14 (%g, %a0)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %a = onnx.node "Mul" since 14 (%u, %a1)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // sigmoid(x) times (up x).
  // CHECK: %[[B:.*]] = decode.gate  silu %[[G]], %[[U]] :
  %b1 = onnx.node "Mul" since 14 (%g, %u)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %b = onnx.node "Mul" since 14 (%a0, %b1)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // GELU by tanh, with the exporter's rounding.
  // CHECK: %[[C:.*]] = decode.gate  gelu_tanh %[[G]], %[[U]] :
  %three = onnx.constant dense<3.0> : tensor<f32>
  %cubic = onnx.constant dense<0.044715> : tensor<f32>
  %root = onnx.constant dense<0.7978846> : tensor<f32>
  %one = onnx.constant dense<1.0> : tensor<f32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %c0 = onnx.node "Pow" since 15 (%g, %three)
      : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %c1 = onnx.node "Mul" since 14 (%c0, %cubic)
      : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %c2 = onnx.node "Add" since 14 (%g, %c1)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %c3 = onnx.node "Mul" since 14 (%root, %c2)
      : (tensor<f32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %c4 = onnx.node "Tanh" since 13 (%c3)
      : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %c5 = onnx.node "Add" since 14 (%one, %c4)
      : (tensor<f32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %c6 = onnx.node "Mul" since 14 (%g, %half)
      : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %c7 = onnx.node "Mul" since 14 (%c6, %c5)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %c = onnx.node "Mul" since 14 (%c7, %u)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // One operator, alone.
  // CHECK: %[[D:.*]] = decode.activate  gelu_erf %[[G]] :
  %d = onnx.node "Gelu" since 20 (%g)
      : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // Two halves of one product.
  %wgu = decode.load @gate_up : tensor<12x4xf32>
  %gu = decode.linear %x, %wgu
      : tensor<1x2x4xf32>, tensor<12x4xf32> -> tensor<1x2x12xf32>
  %e:2 = onnx.node "Split" since 18 (%gu) attrs {axis = -1, num_outputs = 2}
      : (tensor<1x2x12xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  %e1 = onnx.node "Sigmoid" since 13 (%e#0)
      : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %e2 = onnx.node "Mul" since 14 (%e#0, %e1)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // CHECK-DAG: %[[LL:.*]] = decode.load @[[LOW]]
  // CHECK-DAG: %[[L:.*]] = decode.linear %arg1, %[[LL]]
  // CHECK-DAG: %[[LH:.*]] = decode.load @[[HIGH]]
  // CHECK-DAG: %[[H:.*]] = decode.linear %arg1, %[[LH]]
  // CHECK: %[[E:.*]] = decode.gate  silu %[[L]], %[[H]] :
  %e3 = onnx.node "Mul" since 14 (%e2, %e#1)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // x tanh(x) is none of them.
  // CHECK: onnx.node "Tanh"
  %f0 = onnx.node "Tanh" since 13 (%g)
      : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // CHECK: %[[F:.*]] = onnx.node "Mul"
  %f = onnx.node "Mul" since 14 (%g, %f0)
      : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  // CHECK: onnx.return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]]
  onnx.return %a, %b, %c, %d, %e3, %f
      : tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>,
        tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>
}
