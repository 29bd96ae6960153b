// One order of operations, whatever the order in the file.
// RUN: sdc-opt %s --pass-pipeline='builtin.module(func.func(order-entries))' | FileCheck %s

decode.weight @embed : tensor<8x4xf32> from #decode.file<"w", 0, 128>
decode.weight @w : tensor<4x4xf32> from #decode.file<"w", 128, 64>

// CHECK-LABEL: func.func @decode(
func.func @decode(%t: tensor<1x1xi64>, %p: tensor<1x1xi32>, %s: tensor<1xi32>)
    -> tensor<1x1x4xf32> attributes {decode.entry = "decode"} {
  // CHECK-NEXT: %[[E:.*]] = decode.load @embed
  // CHECK-NEXT: %[[X:.*]] = decode.embed
  // CHECK-NEXT: %[[W:.*]] = decode.load @w
  // CHECK-NEXT: %[[L:.*]] = decode.linear %[[X]], %[[W]]
  // What the linear adds comes second; what nothing reads is gone.
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[L]]
  // CHECK-NEXT: return %[[Y]]
  %w = decode.load @w : tensor<4x4xf32>
  %e = decode.load @embed : tensor<8x4xf32>
  %x = decode.embed %t, %e
      : tensor<1x1xi64>, tensor<8x4xf32> -> tensor<1x1x4xf32>
  %unused = arith.addf %x, %x : tensor<1x1x4xf32>
  %l = decode.linear %x, %w
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %y = arith.addf %l, %x : tensor<1x1x4xf32>
  return %y : tensor<1x1x4xf32>
}

// Other functions are left alone.
// CHECK-LABEL: func.func @other(
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: arith.addf
  %unused = arith.addf %x, %x : tensor<4xf32>
  return %x : tensor<4xf32>
}
