// RUN: sdc-opt %s -split-input-file -verify-diagnostics \
// RUN:   -convert-nm-to-sparse-tensor | FileCheck %s

// CHECK: #[[E:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 floordiv 4 : dense, d1 mod 4 : structured[2, 4]) }>
// CHECK-LABEL: @convert
// CHECK-SAME: (%[[W:.*]]: tensor<8x32xf32>, %[[P:.*]]: tensor<8x32xf32, #[[E]]>)
// CHECK: %[[Q:.*]] = sparse_tensor.convert %[[W]] : tensor<8x32xf32> to tensor<8x32xf32, #[[E]]>
// CHECK: %[[U:.*]] = sparse_tensor.convert %[[P]] : tensor<8x32xf32, #[[E]]> to tensor<8x32xf32>
// CHECK: return %[[Q]], %[[U]]
func.func @convert(%w: tensor<8x32xf32>, %p: !nm.packed<8x32xf32, 2:4, rows8>)
    -> (!nm.packed<8x32xf32, 2:4, rows8>, tensor<8x32xf32>) {
  %q = nm.pack %w : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows8>
  %u = nm.unpack %p : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  return %q, %u : !nm.packed<8x32xf32, 2:4, rows8>, tensor<8x32xf32>
}

// Packing rounds, a conversion of sparse_tensor does not.
// CHECK-LABEL: @round
// CHECK: %[[R:.*]] = arith.truncf %{{.*}} : tensor<8x32xf32> to tensor<8x32xbf16>
// CHECK: sparse_tensor.convert %[[R]]
func.func @round(%w: tensor<8x32xf32>) -> !nm.packed<8x32xbf16, 16:32, rows4> {
  %q = nm.pack %w : tensor<8x32xf32> -> !nm.packed<8x32xbf16, 16:32, rows4>
  return %q : !nm.packed<8x32xbf16, 16:32, rows4>
}

// CHECK-LABEL: @linear
// CHECK: %[[INIT:.*]] = linalg.broadcast ins(%{{.*}} : tensor<8xf32>) {{.*}} dimensions = [0, 1]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x1x32xf32>, tensor<8x32xbf16, #{{.*}}>) outs(%[[INIT]] : tensor<1x1x8xf32>)
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @linear(%x: tensor<1x1x32xf32>, %b: tensor<8xf32>,
                  %p: !nm.packed<8x32xbf16, 2:4, rows8>) -> tensor<1x1x8xf32> {
  %y = nm.linear %x, %p bias %b
      : tensor<1x1x32xf32>, !nm.packed<8x32xbf16, 2:4, rows8>
        bias tensor<8xf32> -> tensor<1x1x8xf32>
  return %y : tensor<1x1x8xf32>
}

// What sparse_tensor can't say stays: dense, and a last group cut short.
// CHECK-LABEL: @stay
// CHECK-SAME: !nm.packed<8x32xf32, dense, rows8>, %{{.*}}: !nm.packed<8x30xf32, 2:4, rows8>
func.func @stay(%p: !nm.packed<8x32xf32, dense, rows8>,
                %q: !nm.packed<8x30xf32, 2:4, rows8>) {
  return
}

// -----

func.func @mask(%w: tensor<8x32xf32>, %m: tensor<8x1xi32>)
    -> !nm.packed<8x32xf32, 2:4, rows8> {
  // expected-error @+1 {{failed to legalize operation 'nm.pack'}}
  %q = nm.pack %w mask %m : tensor<8x32xf32>, tensor<8x1xi32>
      -> !nm.packed<8x32xf32, 2:4, rows8>
  return %q : !nm.packed<8x32xf32, 2:4, rows8>
}
