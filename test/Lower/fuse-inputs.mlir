// Norms and the choice of the last row move into the linears behind them.

// RUN: sdc-opt %s -pass-pipeline='builtin.module(func.func(fuse-inputs))' | FileCheck %s

// Two launches read the norm: each computes it for itself.
// CHECK-LABEL: func.func @two_readers(
// CHECK-NOT: decode.rms_norm
// CHECK: exec.group
// CHECK-NEXT: %[[N:.*]] = decode.rms_norm
// CHECK-NEXT: nm.linear %[[N]]
// CHECK: exec.group
// CHECK-NEXT: %[[M:.*]] = decode.rms_norm
// CHECK-NEXT: nm.linear %[[M]]
// CHECK: return
func.func @two_readers(%x: tensor<1x1x64xf32>, %n: tensor<64xf32>,
                       %w: !nm.packed<64x64xbf16, 2:4, rows8>)
    -> (tensor<1x1x64xf32>, tensor<1x1x64xf32>) {
  %0 = decode.rms_norm %x, %n eps 1.0e-5 : tensor<1x1x64xf32>, tensor<64xf32>
  %1 = nm.linear %0, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %2 = nm.linear %0, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  return %1, %2 : tensor<1x1x64xf32>, tensor<1x1x64xf32>
}

// The last row is chosen before or behind the norm.
// CHECK-LABEL: func.func @last_row_behind(
// CHECK: exec.group -> tensor<1x1x32xf32> {
// CHECK-NEXT: decode.layer_norm
// CHECK-NEXT: decode.last_row
// CHECK-NEXT: nm.linear
// CHECK-NEXT: exec.yield
func.func @last_row_behind(%x: tensor<1x4x64xf32>, %p: tensor<1x4xi32>,
                           %n: tensor<64xf32>,
                           %w: !nm.packed<32x64xbf16, 2:4, rows8>)
    -> tensor<1x1x32xf32> {
  %0 = decode.layer_norm %x, %n eps 1.0e-5 : tensor<1x4x64xf32>, tensor<64xf32>
  %1 = decode.last_row %0, %p
      : tensor<1x4x64xf32>, tensor<1x4xi32> -> tensor<1x1x64xf32>
  %2 = nm.linear %1, %w : tensor<1x1x64xf32>,
      !nm.packed<32x64xbf16, 2:4, rows8> -> tensor<1x1x32xf32>
  return %2 : tensor<1x1x32xf32>
}

// CHECK-LABEL: func.func @last_row_before(
// CHECK: exec.group -> tensor<1x1x32xf32> {
// CHECK-NEXT: decode.last_row
// CHECK-NEXT: decode.rms_norm
// CHECK-NEXT: nm.linear
// CHECK-NEXT: exec.yield
func.func @last_row_before(%x: tensor<1x4x64xf32>, %p: tensor<1x4xi32>,
                           %n: tensor<64xf32>,
                           %w: !nm.packed<32x64xbf16, 2:4, rows8>)
    -> tensor<1x1x32xf32> {
  %0 = decode.last_row %x, %p
      : tensor<1x4x64xf32>, tensor<1x4xi32> -> tensor<1x1x64xf32>
  %1 = decode.rms_norm %0, %n eps 1.0e-5 : tensor<1x1x64xf32>, tensor<64xf32>
  %2 = nm.linear %1, %w : tensor<1x1x64xf32>,
      !nm.packed<32x64xbf16, 2:4, rows8> -> tensor<1x1x32xf32>
  return %2 : tensor<1x1x32xf32>
}

// The sum reads the norm too, so the norm must be written.
// CHECK-LABEL: func.func @other_reader(
// CHECK: decode.rms_norm
// CHECK-NOT: exec.group
// CHECK: return
func.func @other_reader(%x: tensor<1x1x64xf32>, %n: tensor<64xf32>,
                        %w: !nm.packed<64x64xbf16, 2:4, rows8>)
    -> tensor<1x1x64xf32> {
  %0 = decode.rms_norm %x, %n eps 1.0e-5 : tensor<1x1x64xf32>, tensor<64xf32>
  %1 = nm.linear %0, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<1x1x64xf32>
  %2 = arith.addf %0, %1 : tensor<1x1x64xf32>
  return %2 : tensor<1x1x64xf32>
}

// In a recording build fusion ends at the mark.
// CHECK-LABEL: func.func @recorded(
// CHECK: %[[N:.*]] = decode.rms_norm
// CHECK-NEXT: %[[R:.*]] = decode.record %[[N]]
// CHECK-NEXT: nm.linear %[[R]]
func.func @recorded(%x: tensor<1x1x64xf32>, %n: tensor<64xf32>,
                    %w: !nm.packed<64x64xbf16, dense, rows8>)
    -> tensor<1x1x64xf32> {
  %0 = decode.rms_norm %x, %n eps 1.0e-5 : tensor<1x1x64xf32>, tensor<64xf32>
  %1 = decode.record %0 "layers.0.attn_in" : tensor<1x1x64xf32>
  %2 = nm.linear %1, %w : tensor<1x1x64xf32>,
      !nm.packed<64x64xbf16, dense, rows8> -> tensor<1x1x64xf32>
  return %2 : tensor<1x1x64xf32>
}
