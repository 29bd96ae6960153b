// One norm in many spellings.
// RUN: sdc-opt %s --raise-rms-norm | FileCheck %s

// CHECK: decode.weight @[[ONES:.*]] : tensor<4xf32> from dense<1.000000e+00>
// CHECK: decode.weight @[[W:.*]] : tensor<4xf32> from dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>

// CHECK-LABEL: onnx.graph @decode(
// CHECK-SAME: %[[X:arg1]]: tensor<1x2x4xf32>
// CHECK-SAME: %[[S:arg2]]: tensor<1x2x4xf32>
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other",
                           onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %s: tensor<1x2x4xf32> {onnx.name = "s", onnx.role = "other.s",
                           onnx.dims = affine_map<()[P] -> (1, 2, 4)>})
    -> (tensor<1x2x4xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x4xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<1x2x4xf32> {onnx.name = "c", onnx.role = "other.c"},
        tensor<1x2x4xf32> {onnx.name = "d", onnx.role = "other.d"},
        tensor<1x2x4xf32> {onnx.name = "e", onnx.role = "other.e"},
        tensor<1x2x4xf32> {onnx.name = "f", onnx.role = "other.f"},
        tensor<1x2x4xf32> {onnx.name = "g", onnx.role = "other.g"},
        tensor<1x2x4xf32> {onnx.name = "h", onnx.role = "other.h"}) {
  %w = onnx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %eps = onnx.constant dense<1.0e-5> : tensor<f32>
  %two = onnx.constant dense<2.0> : tensor<f32>
  %axes = onnx.constant dense<-1> : tensor<1xi64>
  %one = onnx.constant dense<1.0> : tensor<f32>
  %half = onnx.constant dense<-0.5> : tensor<f32>

  // One operator.
  // CHECK: %[[A:.*]] = decode.rms_norm %[[X]], %{{.*}} eps 1.000000e-05 :
  %a = onnx.node "RMSNormalization" since 23 (%x, %w)
      : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  // CHECK: %[[B:.*]] = decode.rms_norm %[[X]], %{{.*}} eps 9.9999999999999995E-7 :
  %b:2 = onnx.node "SimplifiedLayerNormalization" since 1 (%x, %w)
      attrs {axis = -1, epsilon = 1.0e-6 : f32}
      : (tensor<1x2x4xf32>, tensor<4xf32>) -> (tensor<1x2x4xf32>, none)

  // One operator that adds and norms, and hands out the sum.
  // CHECK: %[[SUM:.*]] = arith.addf %[[X]], %[[S]]
  // CHECK: %[[C:.*]] = decode.rms_norm %[[SUM]],
  %c:4 = onnx.node "SkipSimplifiedLayerNormalization" in "com.microsoft"
      since 1 (%x, %s, %w)
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<4xf32>)
      -> (tensor<1x2x4xf32>, none, none, tensor<1x2x4xf32>)

  // Pow, Sqrt, Reciprocal; the weight first.
  // CHECK: %[[D:.*]] = decode.rms_norm %[[X]], %{{.*}} eps 1.000000e-05 :
  %d0 = onnx.node "Pow" since 15 (%x, %two)
      : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %d1 = onnx.node "ReduceMean" since 18 (%d0, %axes)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x2x1xf32>
  %d2 = onnx.node "Add" since 14 (%d1, %eps)
      : (tensor<1x2x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
  %d3 = onnx.node "Sqrt" since 13 (%d2) : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %d4 = onnx.node "Reciprocal" since 13 (%d3)
      : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %d5 = onnx.node "Mul" since 14 (%x, %d4)
      : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %d = onnx.node "Mul" since 14 (%w, %d5)
      : (tensor<4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>

  // Mul by itself, Div; the weight last.
  // CHECK: %[[E:.*]] = decode.rms_norm %[[S]], %{{.*}} eps 1.000000e-05 :
  %e0 = onnx.node "Mul" since 14 (%s, %s)
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %e1 = onnx.node "ReduceMean" since 18 (%e0, %axes)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x2x1xf32>
  %e2 = onnx.node "Add" since 14 (%eps, %e1)
      : (tensor<f32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %e3 = onnx.node "Sqrt" since 13 (%e2) : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %e4 = onnx.node "Div" since 14 (%s, %e3)
      : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %e = onnx.node "Mul" since 14 (%e4, %w)
      : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>

  // Pow -0.5 without a weight: ones.
  // CHECK: %[[LO:.*]] = decode.load @[[ONES]]
  // CHECK: %[[F:.*]] = decode.rms_norm %[[SUM]], %[[LO]] eps
  %f0 = onnx.node "Pow" since 15 (%c#3, %two)
      : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %f1 = onnx.node "ReduceMean" since 18 (%f0, %axes)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x2x1xf32>
  %f2 = onnx.node "Add" since 14 (%f1, %eps)
      : (tensor<1x2x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
  %f3 = onnx.node "Pow" since 15 (%f2, %half)
      : (tensor<1x2x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
  %f = onnx.node "Mul" since 14 (%c#3, %f3)
      : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>

  // The mean of x, not of its squares: no norm.
  // CHECK: onnx.node "ReduceMean"
  %g1 = onnx.node "ReduceMean" since 18 (%x, %axes)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x2x1xf32>
  %g2 = onnx.node "Add" since 14 (%g1, %eps)
      : (tensor<1x2x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
  %g3 = onnx.node "Sqrt" since 13 (%g2) : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  // CHECK: %[[G:.*]] = onnx.node "Div"
  %g = onnx.node "Div" since 14 (%x, %g3)
      : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  // CHECK: onnx.return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]], %[[G]], %[[SUM]]
  onnx.return %a, %b#0, %c#0, %d, %e, %f, %g, %c#3
      : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>,
        tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>,
        tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
