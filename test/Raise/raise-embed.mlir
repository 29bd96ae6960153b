// Rows of a table by token id, of tables stored either way, or by position.
// RUN: sdc-opt %s --raise-embed=context=5 | FileCheck %s
// RUN: not sdc-opt %s --raise-embed=context=7 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: the table of positions has 6 rows, expected the 7 of the context
// SHORT-NOT: error:

// The transposed table is read through a view.
// CHECK: decode.weight @[[T:.*]] : tensor<8x4xf32> from #decode.file<"w", 0, 128> view <tensor<4x8xf32>, 0, transposed>
// CHECK: decode.weight @[[W:.*]] : tensor<8x4xf32> from #decode.file<"w", 128, 128>
decode.weight @columns : tensor<4x8xf32> from #decode.file<"w", 0, 128>
decode.weight @rows : tensor<8x4xf32> from #decode.file<"w", 128, 128>

// CHECK-LABEL: onnx.graph @decode(%arg0
onnx.graph @decode(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>})
    -> (tensor<1x2x4xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x4xf32> {onnx.name = "b", onnx.role = "other"}) {
  %w = onnx.weight_ref @rows : tensor<8x4xf32>
  // CHECK: %[[LW:.*]] = decode.load
  // CHECK: %[[X:.*]] = decode.embed %arg0, %[[LW]] : tensor<1x2xi64>, tensor<8x4xf32> -> tensor<1x2x4xf32>
  %x = onnx.node "Gather" since 13 (%w, %ids)
      : (tensor<8x4xf32>, tensor<1x2xi64>) -> tensor<1x2x4xf32>
  %c = onnx.weight_ref @columns : tensor<4x8xf32>
  %t = onnx.node "Transpose" since 25 (%c) attrs {perm = array<i64: 1, 0>}
      : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: %[[LT:.*]] = decode.load
  // CHECK: %[[Y:.*]] = decode.embed %arg0, %[[LT]]
  %y = onnx.node "Gather" since 13 (%t, %ids)
      : (tensor<8x4xf32>, tensor<1x2xi64>) -> tensor<1x2x4xf32>
  // CHECK: onnx.return %[[X]], %[[Y]]
  onnx.return %x, %y : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// Columns chosen by token id are no embedding.
// CHECK-LABEL: onnx.graph @columns_by_id(
onnx.graph @columns_by_id(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>})
    -> (tensor<8x1x2xf32> {onnx.name = "a", onnx.role = "logits"}) {
  %w = onnx.weight_ref @rows : tensor<8x4xf32>
  // CHECK: onnx.node "Gather"
  // CHECK-NOT: decode.embed
  %x = onnx.node "Gather" since 13 (%w, %ids) attrs {axis = 1}
      : (tensor<8x4xf32>, tensor<1x2xi64>) -> tensor<8x1x2xf32>
  onnx.return %x : tensor<8x1x2xf32>
}

// Position p reads row p + 2; rows behind the context are left out.
// CHECK-LABEL: onnx.graph @positions(
onnx.graph @positions(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %ps: tensor<1x2xi64> {onnx.name = "position_ids",
                          onnx.role = "position_ids",
                          onnx.dims = affine_map<()[P] -> (1, 2)>},
    // CHECK: %[[P:arg[0-9]+]]: tensor<1x2xi32> {{.*}}onnx.role = "row_positions"
    %p: tensor<1x2xi32> {onnx.name = "row_positions",
                         onnx.role = "row_positions",
                         onnx.dims = affine_map<()[P] -> (1, 2)>})
    -> (tensor<1x2x4xf32> {onnx.name = "a", onnx.role = "logits"}) {
  %w = onnx.weight_ref @rows : tensor<8x4xf32>
  %two = onnx.constant dense<2> : tensor<i64>
  %i = onnx.node "Add" since 14 (%ps, %two)
      : (tensor<1x2xi64>, tensor<i64>) -> tensor<1x2xi64>
  // CHECK: %[[T:.*]] = decode.load @{{.*}} : tensor<5x4xf32>
  // CHECK: decode.embed %[[P]], %[[T]] : tensor<1x2xi32>, tensor<5x4xf32> -> tensor<1x2x4xf32>
  %x = onnx.node "Gather" since 13 (%w, %i)
      : (tensor<8x4xf32>, tensor<1x2xi64>) -> tensor<1x2x4xf32>
  onnx.return %x : tensor<1x2x4xf32>
}
