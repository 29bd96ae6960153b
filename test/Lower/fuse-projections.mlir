// Linears that read the same value become one launch.

// RUN: sdc-opt %s -pass-pipeline='builtin.module(func.func(fuse-projections))' | FileCheck %s

decode.weight @k : tensor<32xf32> from #decode.random<1>

// The bias is loaded between the two; it moves in front of the group.
// CHECK-LABEL: func.func @projections(
// CHECK: %[[B:.*]] = decode.load @k
// CHECK-NEXT: %[[Y:.*]]:2 = exec.group -> tensor<1x1x64xf32>, tensor<1x1x32xf32> {
// CHECK-NEXT: %[[Q:.*]] = nm.linear
// CHECK-NEXT: %[[K:.*]] = nm.linear {{.*}} bias %[[B]]
// CHECK-NEXT: exec.yield %[[Q]], %[[K]]
// CHECK: %[[A:.*]] = decode.activate relu %[[Y]]#0
// CHECK: return %[[A]], %[[Y]]#1
func.func @projections(%x: tensor<1x1x64xf32>,
                       %q: !nm.packed<64x64xbf16, 2:4, rows8>,
                       %k: !nm.packed<32x64xbf16, 2:4, rows8>)
    -> (tensor<1x1x64xf32>, tensor<1x1x32xf32>) {
  %0 = nm.linear %x, %q : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %1 = decode.activate relu %0 : tensor<1x1x64xf32>
  %b = decode.load @k : tensor<32xf32>
  %2 = nm.linear %x, %k bias %b : tensor<1x1x64xf32>,
      !nm.packed<32x64xbf16, 2:4, rows8> bias tensor<32xf32>
      -> tensor<1x1x32xf32>
  return %1, %2 : tensor<1x1x64xf32>, tensor<1x1x32xf32>
}

// CHECK-LABEL: func.func @different(
// CHECK-NOT: exec.group
// CHECK: return
func.func @different(%x: tensor<1x1x64xf32>, %y: tensor<1x1x64xf32>,
                     %q: !nm.packed<64x64xbf16, 2:4, rows8>)
    -> (tensor<1x1x64xf32>, tensor<1x1x64xf32>) {
  %0 = nm.linear %x, %q : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %1 = nm.linear %y, %q : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  return %0, %1 : tensor<1x1x64xf32>, tensor<1x1x64xf32>
}
