// RUN: sdc-opt %s -split-input-file -verify-diagnostics -nm-evaluate \
// RUN:   | FileCheck %s

// Of 1 -3 0.5 2 the two largest are -3 and 2; of equals the lower column stays;
// a zero that is kept has no sign. The last group has one column.
// CHECK-LABEL: @prune
// CHECK: dense<{{\[\[}}0.000000e+00, -3.000000e+00, 0.000000e+00, 2.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 7.000000e+00]]>
// CHECK-NOT: nm.
func.func @prune() -> tensor<1x9xf32> {
  %w = arith.constant dense<[[1.0, -3.0, 0.5, 2.0, 1.0, 1.0, -0.0, 1.0, 7.0]]>
      : tensor<1x9xf32>
  %q = nm.prune %w <2:4> : tensor<1x9xf32>
  return %q : tensor<1x9xf32>
}

// Bits 1 and 3 of the first group: 0b1010 = 10; of the second the non-zero is
// column 6 and the lowest other joins it: 0b0101 = 5. Columns from 8 on are
// beyond K; their groups keep the lowest two: 0b0011. From the top:
// 0x3333335A. A mask of the same weight as f32 and packed in bf16 are equal.
// CHECK-LABEL: @mask
// CHECK-COUNT-2: dense<858993498> : tensor<1x1xi32>
func.func @mask() -> (tensor<1x1xi32>, tensor<1x1xi32>) {
  %w = arith.constant dense<[[0.0, -3.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0]]>
      : tensor<1x8xf32>
  %m = nm.mask %w pattern <2:4> : tensor<1x8xf32> -> tensor<1x1xi32>
  %p = nm.pack %w : tensor<1x8xf32> -> !nm.packed<1x8xbf16, 2:4, rows4>
  %n = nm.mask %p : !nm.packed<1x8xbf16, 2:4, rows4> -> tensor<1x1xi32>
  return %m, %n : tensor<1x1xi32>, tensor<1x1xi32>
}

// Rows 2 and 0 of the table, times 4; a token beyond it has no row.
// CHECK-LABEL: @embed
// CHECK: dense<{{\[\[\[}}2.000000e+01, 2.400000e+01], [4.000000e+00, -8.000000e+00]]]> : tensor<1x2x2xf32>
func.func @embed() -> tensor<1x2x2xf32> {
  %w = arith.constant dense<[[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]]>
      : tensor<3x2xf32>
  %ids = arith.constant dense<[[2, 0]]> : tensor<1x2xi64>
  %p = nm.pack %w : tensor<3x2xf32> -> !nm.packed<3x2xf32, dense, rows2>
  %x = nm.embed %ids, %p {scale = 4.0}
      : tensor<1x2xi64>, !nm.packed<3x2xf32, dense, rows2> -> tensor<1x2x2xf32>
  return %x : tensor<1x2x2xf32>
}

// 1.00390625 lies between the bf16 values 1 and 1.0078125, and 1 is even.
// CHECK-LABEL: @round_trip
// CHECK: dense<{{\[\[}}0.000000e+00, 1.000000e+00], [-2.500000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]]> : tensor<3x2xbf16>
func.func @round_trip() -> tensor<3x2xbf16> {
  %w = arith.constant dense<[[0.0, 1.00390625], [-2.5, 0.0], [0.0, 0.0]]>
      : tensor<3x2xf32>
  %p = nm.pack %w : tensor<3x2xf32> -> !nm.packed<3x2xbf16, 1:2, rows2>
  %u = nm.unpack %p : !nm.packed<3x2xbf16, 1:2, rows2> -> tensor<3x2xbf16>
  return %u : tensor<3x2xbf16>
}

// y = x W^T + b with W = [[0 2 0 3], [4 0 0 5]], b = [10 20]:
// x = [1 2 3 4]: 10 + 4 + 12 = 26, 20 + 4 + 20 = 44;
// x = [1 0 0 -1]: 10 - 3 = 7, 20 + 4 - 5 = 19.
// CHECK-LABEL: @linear
// CHECK-COUNT-3: dense<{{\[\[\[}}2.600000e+01, 4.400000e+01], [7.000000e+00, 1.900000e+01]]]> : tensor<1x2x2xf32>
func.func @linear()
    -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %x = arith.constant dense<[[[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, -1.0]]]>
      : tensor<1x2x4xf32>
  %w = arith.constant dense<[[0.0, 2.0, 0.0, 3.0], [4.0, 0.0, 0.0, 5.0]]>
      : tensor<2x4xf16>
  %b = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %p = nm.pack %w : tensor<2x4xf16> -> !nm.packed<2x4xf32, 2:4, rows8>
  %0 = nm.linear %x, %p bias %b
      : tensor<1x2x4xf32>, !nm.packed<2x4xf32, 2:4, rows8> bias tensor<2xf32>
      -> tensor<1x2x2xf32>
  %1 = nm.linear %x, %w bias %b pattern <2:4>
      : tensor<1x2x4xf32>, tensor<2x4xf16> bias tensor<2xf32>
      -> tensor<1x2x2xf32>
  %2 = decode.linear %x, %w bias %b
      : tensor<1x2x4xf32>, tensor<2x4xf16> bias tensor<2xf32>
      -> tensor<1x2x2xf32>
  return %0, %1, %2 : tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}

// Weights are loaded; what hangs on an argument stays.
// CHECK-LABEL: @load
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x2xf32>)
// CHECK: %[[W:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]>
// CHECK: decode.linear %[[X]], %[[W]]
decode.weight @w : tensor<2x2xf32>
    from dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    view #decode.view<tensor<2x2xf32>, 0, transposed>
func.func @load(%x: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %w = decode.load @w : tensor<2x2xf32>
  %y = decode.linear %x, %w
      : tensor<1x1x2xf32>, tensor<2x2xf32> -> tensor<1x1x2xf32>
  return %y : tensor<1x1x2xf32>
}

// -----

func.func @too_many() -> tensor<1x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 0.0]]> : tensor<1x4xf32>
  // expected-error @+1 {{row 0, column 0: group has 3 non-zeros, expected at most 2}}
  %p = nm.pack %w : tensor<1x4xf32> -> !nm.packed<1x4xf32, 2:4, rows1>
  %u = nm.unpack %p : !nm.packed<1x4xf32, 2:4, rows1> -> tensor<1x4xf32>
  return %u : tensor<1x4xf32>
}

// -----

func.func @lost() -> tensor<1x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0]]> : tensor<1x4xf32>
  %m = arith.constant dense<5> : tensor<1x1xi32>
  // expected-error @+1 {{row 0, column 1: weight 2 is not zero and its mask does not keep it}}
  %p = nm.pack %w mask %m : tensor<1x4xf32>, tensor<1x1xi32>
      -> !nm.packed<1x4xf32, 2:4, rows1>
  %u = nm.unpack %p : !nm.packed<1x4xf32, 2:4, rows1> -> tensor<1x4xf32>
  return %u : tensor<1x4xf32>
}

// -----

func.func @beyond() -> tensor<1x1x2xf32> {
  %w = arith.constant dense<[[1.0, -2.0]]> : tensor<1x2xf32>
  %ids = arith.constant dense<[[1]]> : tensor<1x1xi64>
  %p = nm.pack %w : tensor<1x2xf32> -> !nm.packed<1x2xf32, dense, rows1>
  // expected-error @+1 {{token 1 is not in the table of 1 rows}}
  %x = nm.embed %ids, %p
      : tensor<1x1xi64>, !nm.packed<1x2xf32, dense, rows1> -> tensor<1x1x2xf32>
  return %x : tensor<1x1x2xf32>
}
