// Every operation of the dialect, printed and parsed again.
// RUN: sdc-opt %s | sdc-opt | FileCheck %s
// RUN: sdc-opt %s --mlir-print-op-generic | sdc-opt | FileCheck %s

// CHECK: decode.weight @w
decode.weight @w : tensor<256x128xf32>
    from #decode.file<"model.onnx.data", 0, 131072>

// CHECK-LABEL: onnx.graph @decode(
// CHECK-SAME: %[[IDS:.*]]: tensor<1x1xi64> {onnx.dims = affine_map<()[s0] -> (1, 1)>, onnx.name = "input_ids", onnx.role = "input_ids"}
// CHECK-SAME: %[[PAST:[^:]*]]: tensor<1x2x?x128xf32>
// CHECK-SAME: onnx.dims = affine_map<()[s0] -> (1, 2, s0, 128)>
// CHECK-SAME: -> (tensor<1x256xf32> {onnx.name = "logits", onnx.role = "logits"}, tensor<*xf32>
onnx.graph @decode(
    %ids: tensor<1x1xi64>
      {onnx.name = "input_ids", onnx.role = "input_ids",
       onnx.dims = affine_map<()[P] -> (1, 1)>},
    %past: tensor<1x2x?x128xf32>
      {onnx.name = "past.0.key", onnx.role = "past.key.0",
       onnx.dims = affine_map<()[P] -> (1, 2, P, 128)>})
    -> (tensor<1x256xf32> {onnx.name = "logits", onnx.role = "logits"},
        tensor<*xf32> {onnx.name = "x", onnx.role = "other"}) {
  // CHECK: %[[NONE:.*]] = onnx.none
  %none = onnx.none
  // CHECK: %[[W:.*]] = onnx.weight_ref @w : tensor<256x128xf32>
  %w = onnx.weight_ref @w : tensor<256x128xf32>
  // CHECK: onnx.constant named "axes" dense<[-1, 0]> : tensor<2xi64>
  %axes = onnx.constant named "axes" dense<[-1, 0]> : tensor<2xi64>
  // CHECK: onnx.constant dense<true> : tensor<i1>
  %flag = onnx.constant dense<true> : tensor<i1>
  // CHECK: %[[X:.*]] = onnx.node "Gather" since 13(%[[W]], %[[IDS]]) : (tensor<256x128xf32>, tensor<1x1xi64>) -> tensor<1x1x128xf32>
  %x = onnx.node "Gather" since 13 (%w, %ids)
      : (tensor<256x128xf32>, tensor<1x1xi64>) -> tensor<1x1x128xf32>
  // CHECK: %[[Y:.*]]:2 = onnx.node "Odd" in "my.domain" since 1 named "/odd"(%[[X]], %[[NONE]], %[[PAST]])
  // CHECK-SAME: attrs {axes = array<i64: 0, 1>, axis = -1 : i64, eps = 9.99999974E-6 : f32, mode = "linear", names = ["a", "b"], value = dense<1.0{{.*}}> : tensor<2xbf16>}
  %y:2 = onnx.node "Odd" in "my.domain" since 1 named "/odd" (%x, %none, %past)
      attrs {axis = -1, eps = 1.0e-5 : f32, mode = "linear",
             axes = array<i64: 0, 1>, names = ["a", "b"],
             value = dense<1.0> : tensor<2xbf16>}
      : (tensor<1x1x128xf32>, none, tensor<1x2x?x128xf32>)
      -> (tensor<1x256xf32>, none)
  // CHECK: %[[R:.*]] = onnx.node "RandomNormal" since 22() : () -> tensor<*xf32>
  %r = onnx.node "RandomNormal" since 22 () : () -> tensor<*xf32>
  // CHECK: onnx.return %[[Y]]#0, %[[R]] : tensor<1x256xf32>, tensor<*xf32>
  onnx.return %y#0, %r : tensor<1x256xf32>, tensor<*xf32>
}

// A graph may have neither inputs nor outputs.
// CHECK-LABEL: onnx.graph @main() {
// CHECK-NEXT: onnx.return
onnx.graph @main() {
  onnx.return
}
