// Head norms, rotation and both appends become one launch.

// RUN: sdc-opt %s -pass-pipeline='builtin.module(func.func(fuse-rotary))' | FileCheck %s

!q = tensor<1x1x4x16xf32>
!kv = tensor<1x1x2x16xf32>
!cache = !decode.cache<1x2x128x16xbf16>
!p = tensor<1x1xi32>
!s = tensor<1xi32>
decode.state @keys : !cache past "pk" present "k"
decode.state @values : !cache past "pv" present "v"

// CHECK-LABEL: func.func @all(
// CHECK: %[[Y:.*]]:3 = exec.group -> tensor<1x1x4x16xf32>, !decode.cache<1x2x128x16xbf16>, !decode.cache<1x2x128x16xbf16> {
// CHECK-NEXT: %[[N:.*]] = decode.rms_norm
// CHECK-NEXT: %[[Q:.*]] = decode.rotary %[[N]]
// CHECK-NEXT: %[[R:.*]] = decode.rotary
// CHECK-NEXT: %[[K:.*]] = decode.append %[[R]], {{.*}} into @keys
// CHECK-NEXT: %[[V:.*]] = decode.append {{.*}} into @values
// CHECK-NEXT: exec.yield %[[Q]], %[[K]], %[[V]]
// CHECK: decode.attention %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
func.func @all(%q: !q, %k: !kv, %v: !kv, %p: !p, %s: !s, %f: tensor<8xf32>,
               %n: tensor<16xf32>) -> !q {
  %0 = decode.rms_norm %q, %n eps 1.0e-6 : !q, tensor<16xf32>
  %1 = decode.rotary %0, %p, %f : !q, !p, tensor<8xf32>
  %2 = decode.rotary %k, %p, %f : !kv, !p, tensor<8xf32>
  %3 = decode.append %2, %p, %s into @keys : !kv, !p, !s -> !cache
  %4 = decode.append %v, %p, %s into @values : !kv, !p, !s -> !cache
  %5 = decode.attention %1, %3, %4, %p, %s scale 0.25
      : !q, !cache, !cache, !p, !s -> !q
  return %5 : !q
}

// Queries that are turned by other angles stay outside.
// CHECK-LABEL: func.func @other_angles(
// CHECK: decode.rotary {{.*}} {interleaved}
// CHECK: exec.group -> !decode.cache<1x2x128x16xbf16>, !decode.cache<1x2x128x16xbf16> {
// CHECK-NEXT: decode.rotary
// CHECK-NEXT: decode.append
// CHECK-NEXT: decode.append
// CHECK-NEXT: exec.yield
func.func @other_angles(%q: !q, %k: !kv, %v: !kv, %p: !p, %s: !s,
                        %f: tensor<8xf32>) -> !q {
  %1 = decode.rotary %q, %p, %f {interleaved} : !q, !p, tensor<8xf32>
  %2 = decode.rotary %k, %p, %f : !kv, !p, tensor<8xf32>
  %3 = decode.append %2, %p, %s into @keys : !kv, !p, !s -> !cache
  %4 = decode.append %v, %p, %s into @values : !kv, !p, !s -> !cache
  %5 = decode.attention %1, %3, %4, %p, %s scale 0.25
      : !q, !cache, !cache, !p, !s -> !q
  return %5 : !q
}

// Without rotation: both appends, and nothing of the queries.
// CHECK-LABEL: func.func @no_rotation(
// CHECK: %[[Y:.*]]:2 = exec.group
// CHECK-NEXT: decode.append {{.*}} into @keys
// CHECK-NEXT: decode.append {{.*}} into @values
// CHECK-NEXT: exec.yield
func.func @no_rotation(%q: !q, %k: !kv, %v: !kv, %p: !p, %s: !s) -> !q {
  %3 = decode.append %k, %p, %s into @keys : !kv, !p, !s -> !cache
  %4 = decode.append %v, %p, %s into @values : !kv, !p, !s -> !cache
  %5 = decode.attention %q, %3, %4, %p, %s scale 0.25
      : !q, !cache, !cache, !p, !s -> !q
  return %5 : !q
}
