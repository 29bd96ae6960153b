// Folds and canonical forms of nm, and near misses that must stay.
// RUN: sdc-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @unpack_of_pruned
// CHECK-SAME: (%[[W:.*]]: tensor<8x32xf32>
// CHECK: %[[P:.*]] = nm.prune %[[W]] <2:4>
// CHECK: return %[[P]]
func.func @unpack_of_pruned(%w: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = nm.prune %w <2:4> : tensor<8x32xf32>
  %1 = nm.pack %0 : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows8>
  %2 = nm.unpack %1 : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// CHECK-LABEL: @unpack_of_dense
// CHECK-SAME: (%[[W:.*]]: tensor<8x32xf16>
// CHECK: return %[[W]]
func.func @unpack_of_dense(%w: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %0 = nm.pack %w : tensor<8x32xf16> -> !nm.packed<8x32xf16, dense, rows8>
  %1 = nm.unpack %0 : !nm.packed<8x32xf16, dense, rows8> -> tensor<8x32xf16>
  return %1 : tensor<8x32xf16>
}

// Without pruning before, a -0 may come back as +0.
// CHECK-LABEL: @unpack_of_unknown
// CHECK: nm.pack
// CHECK: nm.unpack
func.func @unpack_of_unknown(%w: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = nm.pack %w : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows8>
  %1 = nm.unpack %0 : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// CHECK-LABEL: @unpack_of_rounded
// CHECK: nm.unpack
func.func @unpack_of_rounded(%w: tensor<8x32xf32>) -> tensor<8x32xbf16> {
  %0 = nm.pack %w : tensor<8x32xf32> -> !nm.packed<8x32xbf16, dense, rows8>
  %1 = nm.unpack %0 : !nm.packed<8x32xbf16, dense, rows8> -> tensor<8x32xbf16>
  return %1 : tensor<8x32xbf16>
}

// CHECK-LABEL: @pack_of_unpack
// CHECK-SAME: (%[[P:.*]]: !nm.packed
// CHECK: return %[[P]]
func.func @pack_of_unpack(%p: !nm.packed<8x32xf32, 2:4, rows8>)
    -> !nm.packed<8x32xf32, 2:4, rows8> {
  %0 = nm.unpack %p : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  %1 = nm.mask %p : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x1xi32>
  %2 = nm.pack %0 mask %1 : tensor<8x32xf32>, tensor<8x1xi32>
      -> !nm.packed<8x32xf32, 2:4, rows8>
  return %2 : !nm.packed<8x32xf32, 2:4, rows8>
}

// A kept zero would lose its place.
// CHECK-LABEL: @pack_of_unpack_without_mask
// CHECK: nm.pack
func.func @pack_of_unpack_without_mask(%p: !nm.packed<8x32xf32, 2:4, rows8>)
    -> !nm.packed<8x32xf32, 2:4, rows8> {
  %0 = nm.unpack %p : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  %1 = nm.pack %0 : tensor<8x32xf32> -> !nm.packed<8x32xf32, 2:4, rows8>
  return %1 : !nm.packed<8x32xf32, 2:4, rows8>
}

// CHECK-LABEL: @prune_twice
// CHECK-COUNT-1: nm.prune {{.*}} <2:4>
// CHECK-NOT: <2:4>
// CHECK: nm.prune {{.*}} <1:4>
func.func @prune_twice(%w: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = nm.prune %w <dense> : tensor<8x32xf32>
  %1 = nm.prune %0 <2:4> : tensor<8x32xf32>
  %2 = nm.prune %1 <2:4> : tensor<8x32xf32>
  %3 = nm.prune %2 <1:4> : tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}

// CHECK-LABEL: @linear_of_unpack
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x32xf32>, %[[P:.*]]: !nm.packed
// CHECK-NEXT: nm.linear %[[X]], %[[P]] : tensor<1x1x32xf32>, !nm.packed
func.func @linear_of_unpack(%x: tensor<1x1x32xf32>,
                            %p: !nm.packed<8x32xf32, 2:4, rows8>)
    -> tensor<1x1x8xf32> {
  %0 = nm.unpack %p : !nm.packed<8x32xf32, 2:4, rows8> -> tensor<8x32xf32>
  %1 = nm.linear %x, %0 pattern <2:4>
      : tensor<1x1x32xf32>, tensor<8x32xf32> -> tensor<1x1x8xf32>
  return %1 : tensor<1x1x8xf32>
}

// 1:2 implies 2:4, but what the user wrote stays.
// CHECK-LABEL: @linear_of_another_pattern
// CHECK: nm.unpack
// CHECK: nm.linear {{.*}} pattern <2:4>
func.func @linear_of_another_pattern(%x: tensor<1x1x32xf32>,
                                     %p: !nm.packed<8x32xf32, 1:2, rows8>)
    -> tensor<1x1x8xf32> {
  %0 = nm.unpack %p : !nm.packed<8x32xf32, 1:2, rows8> -> tensor<8x32xf32>
  %1 = nm.linear %x, %0 pattern <2:4>
      : tensor<1x1x32xf32>, tensor<8x32xf32> -> tensor<1x1x8xf32>
  return %1 : tensor<1x1x8xf32>
}
