// A decoder entry gets the positions and slots of its rows; a plain graph is
// left alone.
// RUN: sdc-opt %s --raise-open-entries | FileCheck %s

// CHECK-LABEL: onnx.graph @decode(
// CHECK-SAME: tensor<3x1xi64> {{[^}]*}}onnx.role = "input_ids"}
// CHECK-SAME: tensor<3x1xi32> {onnx.dims = affine_map<()[s0] -> (3, 1)>, onnx.name = "row_positions", onnx.role = "row_positions"}
// CHECK-SAME: tensor<3xi32> {onnx.dims = affine_map<()[s0] -> (3)>, onnx.name = "row_slots", onnx.role = "row_slots"}
onnx.graph @decode(%ids: tensor<3x1xi64>
      {onnx.name = "input_ids", onnx.role = "input_ids",
       onnx.dims = affine_map<()[P] -> (3, 1)>})
    -> (tensor<3x1xi64> {onnx.name = "y", onnx.role = "logits"}) {
  onnx.return %ids : tensor<3x1xi64>
}

// CHECK-LABEL: onnx.graph @main(
// CHECK-NOT: row_
onnx.graph @main(%x: tensor<2xf32> {onnx.name = "x", onnx.role = "other"})
    -> (tensor<2xf32> {onnx.name = "y", onnx.role = "other"}) {
  onnx.return %x : tensor<2xf32>
}
