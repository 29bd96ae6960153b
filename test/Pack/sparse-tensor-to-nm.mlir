// RUN: sdc-opt %s -split-input-file -verify-diagnostics \
// RUN:   -convert-sparse-tensor-to-nm=tile=rows4 | FileCheck %s
// There and back again is nothing, but for the tile.
// RUN: sdc-opt %s -split-input-file -verify-diagnostics \
// RUN:   -convert-sparse-tensor-to-nm=tile=rows4 -o %t.nm.mlir
// RUN: sdc-opt %t.nm.mlir -split-input-file -convert-nm-to-sparse-tensor \
// RUN:   -convert-sparse-tensor-to-nm=tile=rows4 -canonicalize -o %t.again.mlir
// RUN: sdc-opt %t.nm.mlir -split-input-file -canonicalize -o %t.once.mlir
// RUN: diff %t.once.mlir %t.again.mlir

#NM24 = #sparse_tensor.encoding<{
  map = (i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])
}>
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

// CHECK-LABEL: @convert
// CHECK-SAME: %[[P:arg1]]: !nm.packed<8x32xf32, 2:4, rows4>
// CHECK: nm.pack %{{.*}} : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows4>
// CHECK: nm.unpack %[[P]] : !nm.packed<8x32xf32, 2:4, rows4> -> tensor<8x32xf32>
func.func @convert(%w: tensor<8x32xf32>, %p: tensor<8x32xf32, #NM24>)
    -> (tensor<8x32xf32, #NM24>, tensor<8x32xf32>) {
  %q = sparse_tensor.convert %w : tensor<8x32xf32> to tensor<8x32xf32, #NM24>
  %u = sparse_tensor.convert %p : tensor<8x32xf32, #NM24> to tensor<8x32xf32>
  return %q, %u : tensor<8x32xf32, #NM24>, tensor<8x32xf32>
}

// Other sparse tensors are none of our business.
// CHECK-LABEL: @csr
// CHECK: sparse_tensor.convert
func.func @csr(%w: tensor<8x32xf32>) -> tensor<8x32xf32, #CSR> {
  %q = sparse_tensor.convert %w : tensor<8x32xf32> to tensor<8x32xf32, #CSR>
  return %q : tensor<8x32xf32, #CSR>
}

// CHECK-LABEL: @product
// CHECK: nm.linear %{{.*}}, %{{.*}} : tensor<1x2x32xf32>, !nm.packed<8x32xbf16, 2:4, rows4> -> tensor<1x2x8xf32>
func.func @product(%x: tensor<1x2x32xf32>, %w: tensor<8x32xbf16, #NM24>)
    -> tensor<1x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x2x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x2x8xf32>)
      -> tensor<1x2x8xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(b, s, r, k) -> (b, s, k)>,
                       affine_map<(b, s, r, k) -> (r, k)>,
                       affine_map<(b, s, r, k) -> (b, s, r)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x2x32xf32>, tensor<8x32xbf16, #NM24>)
      outs(%init : tensor<1x2x8xf32>) {
  ^bb0(%a: f32, %b: bf16, %c: f32):
    %wide = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide, %a : f32
    %sum = arith.addf %p, %c : f32
    linalg.yield %sum : f32
  } -> tensor<1x2x8xf32>
  return %y : tensor<1x2x8xf32>
}
