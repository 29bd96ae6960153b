// A gate or an activation joins the linears in front of it.

// RUN: sdc-opt %s -pass-pipeline='builtin.module(func.func(fuse-gates))' | FileCheck %s

// The kernel's order is gate, up, whatever the order of the ops.
// CHECK-LABEL: func.func @gate(
// CHECK-SAME: %[[X:.*]]: tensor<1x1x64xf32>, %[[U:.*]]: !nm.packed<{{.*}}>, %[[G:.*]]: !nm
// CHECK: %[[Y:.*]] = exec.group -> tensor<1x1x160xf32> {
// CHECK-NEXT: %[[A:.*]] = nm.linear %[[X]], %[[G]]
// CHECK-NEXT: %[[B:.*]] = nm.linear %[[X]], %[[U]]
// CHECK-NEXT: %[[C:.*]] = decode.gate silu %[[A]], %[[B]]
// CHECK-NEXT: exec.yield %[[C]]
// CHECK: return %[[Y]]
func.func @gate(%x: tensor<1x1x64xf32>,
                %up: !nm.packed<160x64xbf16, 2:4, rows8>,
                %gate: !nm.packed<160x64xbf16, 2:4, rows8>)
    -> tensor<1x1x160xf32> {
  %u = nm.linear %x, %up : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %g = nm.linear %x, %gate : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %y = decode.gate silu %g, %u : tensor<1x1x160xf32>
  return %y : tensor<1x1x160xf32>
}

// CHECK-LABEL: func.func @activation(
// CHECK: exec.group -> tensor<1x1x160xf32> {
// CHECK-NEXT: nm.linear
// CHECK-NEXT: decode.activate gelu_tanh
// CHECK-NEXT: exec.yield
func.func @activation(%x: tensor<1x1x64xf32>,
                      %w: !nm.packed<160x64xbf16, 2:4, rows8>)
    -> tensor<1x1x160xf32> {
  %0 = nm.linear %x, %w : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %y = decode.activate gelu_tanh %0 : tensor<1x1x160xf32>
  return %y : tensor<1x1x160xf32>
}

// Someone else reads the gate's linear, so it must be written.
// CHECK-LABEL: func.func @read_twice(
// CHECK-NOT: exec.group
// CHECK: decode.gate
func.func @read_twice(%x: tensor<1x1x64xf32>,
                      %w: !nm.packed<160x64xbf16, 2:4, rows8>)
    -> (tensor<1x1x160xf32>, tensor<1x1x160xf32>) {
  %g = nm.linear %x, %w : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %u = nm.linear %x, %w : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %y = decode.gate silu %g, %u : tensor<1x1x160xf32>
  return %y, %g : tensor<1x1x160xf32>, tensor<1x1x160xf32>
}

// The two weights are cut into blocks of different height.
// CHECK-LABEL: func.func @other_tile(
// CHECK-NOT: exec.group
// CHECK: decode.gate
func.func @other_tile(%x: tensor<1x1x64xf32>,
                      %a: !nm.packed<160x64xbf16, 2:4, rows8>,
                      %b: !nm.packed<160x64xbf16, 2:4, rows4>)
    -> tensor<1x1x160xf32> {
  %g = nm.linear %x, %a : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows8> -> tensor<1x1x160xf32>
  %u = nm.linear %x, %b : tensor<1x1x64xf32>,
      !nm.packed<160x64xbf16, 2:4, rows4> -> tensor<1x1x160xf32>
  %y = decode.gate silu %g, %u : tensor<1x1x160xf32>
  return %y : tensor<1x1x160xf32>
}
