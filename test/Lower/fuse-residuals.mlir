// An addition becomes the end of the launch whose result it adds.

// RUN: sdc-opt %s -pass-pipeline='builtin.module(func.func(fuse-residuals))' | FileCheck %s

// Of x + a + b, with two products, each sum ends its own product.
// CHECK-LABEL: func.func @parallel(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<1x1x64xf32>
// CHECK: %[[A:.*]] = exec.group -> tensor<1x1x64xf32> {
// CHECK-NEXT: %[[P:.*]] = nm.linear
// CHECK-NEXT: arith.addf %[[X]], %[[P]]
// CHECK: exec.group -> tensor<1x1x64xf32> {
// CHECK-NEXT: %[[Q:.*]] = nm.linear
// CHECK-NEXT: arith.addf %[[A]], %[[Q]]
func.func @parallel(%x: tensor<1x1x64xf32>, %y: tensor<1x1x64xf32>,
                    %w: !nm.packed<64x64xbf16, 2:4, rows8>)
    -> tensor<1x1x64xf32> {
  %0 = nm.linear %y, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %1 = arith.addf %x, %0 : tensor<1x1x64xf32>
  %2 = nm.linear %y, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %3 = arith.addf %1, %2 : tensor<1x1x64xf32>
  return %3 : tensor<1x1x64xf32>
}

// The product is read twice, so it must be written.
// CHECK-LABEL: func.func @read_twice(
// CHECK-NOT: exec.group
// CHECK: return
func.func @read_twice(%x: tensor<1x1x64xf32>,
                      %w: !nm.packed<64x64xbf16, 2:4, rows8>)
    -> (tensor<1x1x64xf32>, tensor<1x1x64xf32>) {
  %0 = nm.linear %x, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %1 = arith.addf %x, %0 : tensor<1x1x64xf32>
  return %0, %1 : tensor<1x1x64xf32>, tensor<1x1x64xf32>
}

// A sum of no product.
// CHECK-LABEL: func.func @no_product(
// CHECK-NOT: exec.group
// CHECK: return
func.func @no_product(%x: tensor<1x1x64xf32>) -> tensor<1x1x64xf32> {
  %0 = arith.addf %x, %x : tensor<1x1x64xf32>
  return %0 : tensor<1x1x64xf32>
}
