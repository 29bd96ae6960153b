// Shapes over the past length: what does not depend on it becomes a number.
// RUN: sdc-opt %s --raise-fold-shapes | FileCheck %s

// CHECK-LABEL: onnx.graph @decode(
onnx.graph @decode(
    %ids: tensor<2x3xi64>
      {onnx.name = "input_ids", onnx.role = "input_ids",
       onnx.dims = affine_map<()[P] -> (2, 3)>},
    %past: tensor<2x4x?x16xf32>
      {onnx.name = "past", onnx.role = "past.key.0",
       onnx.dims = affine_map<()[P] -> (2, 4, P, 16)>},
    %new: tensor<2x4x3x16xf32>
      {onnx.name = "new", onnx.role = "other",
       onnx.dims = affine_map<()[P] -> (2, 4, 3, 16)>})
    -> (tensor<*xf32> {onnx.name = "a", onnx.role = "other.a"},
        tensor<*xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<*xf32> {onnx.name = "c", onnx.role = "other.c"},
        tensor<*xf32> {onnx.name = "d", onnx.role = "other.d"},
        tensor<*xi64> {onnx.name = "e", onnx.role = "other.e"},
        tensor<*xf32> {onnx.name = "f", onnx.role = "other.f"}) {
  // P + 3 positions in all.
  // CHECK: onnx.node "Concat" {{.*}} -> tensor<2x4x?x16xf32>
  %all = onnx.node "Concat" since 13 (%past, %new) attrs {axis = -2}
      : (tensor<2x4x?x16xf32>, tensor<2x4x3x16xf32>) -> tensor<*xf32>
  %shape = onnx.node "Shape" since 25 (%all)
      : (tensor<*xf32>) -> tensor<4xi64>

  // From 3 to the end, to the far end, and from the front to -P: the last
  // three rows, all but three, and as many as are new.
  %three = onnx.constant dense<3> : tensor<1xi64>
  %far = onnx.constant dense<9223372036854775807> : tensor<1xi64>
  %nearest = onnx.constant dense<-9223372036854775808> : tensor<1xi64>
  %minus3 = onnx.constant dense<-3> : tensor<1xi64>
  %axis = onnx.constant dense<2> : tensor<1xi64>
  // CHECK: onnx.node "Slice" {{.*}} -> tensor<2x4x3x16xf32>
  %last = onnx.node "Slice" since 13 (%all, %minus3, %far, %axis)
      : (tensor<*xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
      -> tensor<*xf32>
  // CHECK: onnx.node "Slice" {{.*}} -> tensor<2x4x?x16xf32>
  %first = onnx.node "Slice" since 13 (%all, %nearest, %minus3, %axis)
      : (tensor<*xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
      -> tensor<*xf32>

  // The end of the past: P, by arithmetic, so three rows are behind it.
  %two = onnx.constant dense<2> : tensor<i64>
  %total = onnx.node "Gather" since 13 (%shape, %two)
      : (tensor<4xi64>, tensor<i64>) -> tensor<*xi64>
  %n = onnx.constant dense<3> : tensor<i64>
  %length = onnx.node "Sub" since 14 (%total, %n)
      : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %zero = onnx.constant dense<0> : tensor<1xi64>
  %start = onnx.node "Unsqueeze" since 25 (%length, %zero)
      : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: onnx.node "Slice" {{.*}} -> tensor<2x4x3x16xf32>
  %behind = onnx.node "Slice" since 13 (%all, %start, %far, %axis)
      : (tensor<*xf32>, tensor<*xi64>, tensor<1xi64>, tensor<1xi64>)
      -> tensor<*xf32>

  // Reshape with 0 (kept) and -1 (the rest): [2, 3, 4 * 16].
  // CHECK: onnx.node "Transpose" {{.*}} -> tensor<2x3x4x16xf32>
  %rows = onnx.node "Transpose" since 25 (%last)
      attrs {perm = array<i64: 0, 2, 1, 3>} : (tensor<*xf32>) -> tensor<*xf32>
  %flat = onnx.constant dense<[0, 0, -1]> : tensor<3xi64>
  // CHECK: onnx.node "Reshape" {{.*}} -> tensor<2x3x64xf32>
  %y = onnx.node "Reshape" since 25 (%rows, %flat)
      : (tensor<*xf32>, tensor<3xi64>) -> tensor<*xf32>

  // -1 with the past in it: [2, 4 * (P + 3), 16] stays dynamic.
  %rest = onnx.constant dense<[2, -1, 16]> : tensor<3xi64>
  // CHECK: onnx.node "Reshape" {{.*}} -> tensor<2x?x16xf32>
  %z = onnx.node "Reshape" since 25 (%all, %rest)
      : (tensor<*xf32>, tensor<3xi64>) -> tensor<*xf32>

  // What does not depend on the past is a constant: [2, 4].
  %ends = onnx.constant dense<2> : tensor<1xi64>
  // CHECK: onnx.constant dense<[2, 4]> : tensor<2xi64>
  %lead = onnx.node "Slice" since 13 (%shape, %zero, %ends)
      : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: onnx.return
  // CHECK-SAME: tensor<2x4x3x16xf32>, tensor<2x4x?x16xf32>, tensor<2x3x64xf32>, tensor<2x?x16xf32>, tensor<2xi64>, tensor<2x4x3x16xf32>
  onnx.return %last, %first, %y, %z, %lead, %behind
      : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>,
        tensor<*xi64>, tensor<*xf32>
}
