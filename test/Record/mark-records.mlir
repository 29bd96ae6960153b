// RUN: sdc-opt %s -mark-records | FileCheck %s
// Marking twice is marking once.
// RUN: sdc-opt %s -mark-records -mark-records | FileCheck %s

decode.weight @layers.0.q : tensor<8x4xf32> from #decode.file<"w", 0, 128>
decode.weight @layers.0.k : tensor<8x4xf32> from #decode.file<"w", 0, 128>
decode.weight @layers.0.o : tensor<4x8xf32> from #decode.file<"w", 0, 128>
decode.weight @layers.0.gate_up : tensor<8x4xf32> from #decode.file<"w", 0, 128>
decode.weight @layers.0.down : tensor<4x8xf32> from #decode.file<"w", 0, 128>
decode.weight @"/pool/MatMul" : tensor<4x4xf32> from #decode.file<"w", 0, 64>
decode.weight @head : tensor<8x4xf32> from #decode.file<"w", 0, 128>

// One mark for q and k; the other user of %x keeps %x.
// CHECK-LABEL: @decode
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4xf32>)
// CHECK: %[[ATTN:.*]] = decode.record %[[X]] "layers.0.attn_in"
// CHECK-NEXT: decode.linear %[[ATTN]]
// CHECK-NOT: decode.record
// CHECK: decode.linear %[[ATTN]]
// CHECK: decode.activate silu %[[X]]
// CHECK: decode.record %{{.*}} "layers.0.attn_out" : tensor<1x1x8xf32>
// CHECK: decode.record %{{.*}} "layers.0.mlp_in"
// CHECK: decode.record %{{.*}} "layers.0.mlp_mid"
// CHECK: decode.record %{{.*}} "other.0_in"
// CHECK: %[[HEAD:.*]] = decode.record %{{.*}} "head_in"
// CHECK-NEXT: decode.linear %[[HEAD]]
func.func @decode(%x: tensor<1x1x4xf32>)
    -> (tensor<1x1x8xf32>, tensor<1x1x4xf32>) attributes {decode.entry = "decode"} {
  %wq = decode.load @layers.0.q : tensor<8x4xf32>
  %wk = decode.load @layers.0.k : tensor<8x4xf32>
  %wo = decode.load @layers.0.o : tensor<4x8xf32>
  %wg = decode.load @layers.0.gate_up : tensor<8x4xf32>
  %wd = decode.load @layers.0.down : tensor<4x8xf32>
  %wp = decode.load @"/pool/MatMul" : tensor<4x4xf32>
  %wh = decode.load @head : tensor<8x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  %k = decode.linear %x, %wk
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  %side = decode.activate silu %x : tensor<1x1x4xf32>
  %qk = decode.gate silu %q, %k : tensor<1x1x8xf32>
  %o = decode.linear %qk, %wo
      : tensor<1x1x8xf32>, tensor<4x8xf32> -> tensor<1x1x4xf32>
  %g = decode.linear %o, %wg
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  %d = decode.linear %g, %wd
      : tensor<1x1x8xf32>, tensor<4x8xf32> -> tensor<1x1x4xf32>
  %p = decode.linear %d, %wp
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %h = decode.linear %p, %wh
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %h, %side : tensor<1x1x8xf32>, tensor<1x1x4xf32>
}

// A block whose attention and MLP read one norm has one key; a second value
// that would have the same key has a counted one.
// CHECK-LABEL: @parallel
// CHECK: %[[ONE:.*]] = decode.record %{{.*}} "layers.0.attn_in"
// CHECK: decode.linear %[[ONE]]
// CHECK: decode.linear %[[ONE]]
// CHECK: decode.record %{{.*}} "other.0_in"
func.func @parallel(%x: tensor<1x1x4xf32>, %y: tensor<1x1x4xf32>)
    -> (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>) {
  %wk = decode.load @layers.0.k : tensor<8x4xf32>
  %wg = decode.load @layers.0.gate_up : tensor<8x4xf32>
  %k = decode.linear %x, %wk
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  %g = decode.linear %x, %wg
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  %k2 = decode.linear %y, %wk
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %k, %g, %k2 : tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>
}
