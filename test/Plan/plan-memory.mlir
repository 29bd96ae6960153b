// Buffers that live at the same time get bytes of their own, others share;
// weights follow each other at multiples of 64.

// RUN: sdc-opt %s -split-input-file -verify-diagnostics -plan-memory -verify-planned | FileCheck %s

exec.kernel @k scratch 0

// The three weights take 100 + 64 + 4 bytes: the second starts at the next
// multiple of 64 behind 100, the third at that behind 192, the segment ends at
// that behind 196.
// CHECK: exec.segment @weights weights size 256
// CHECK-NEXT: exec.weight @a {{.*}} in @weights at 0
exec.weight @a : tensor<25xf32> size 100 from dense<0.0> : tensor<25xf32>
// CHECK-NEXT: exec.weight @b {{.*}} in @weights at 128
exec.weight @b : tensor<16xf32> size 64 from dense<0.0> : tensor<16xf32>
// CHECK-NEXT: exec.weight @c {{.*}} in @weights at 192
exec.weight @c : tensor<1xf32> size 4 from dense<0.0> : tensor<1xf32>

// A chain of four launches, two bound ends:
//
//   buffer   bytes  steps      place     why
//   %x         512  0-1        0         the largest first
//   %z         512  2-3        0         %x is over
//   %in        256  host-host  512       bound: shared with nothing
//   %y         128  1-3        768       behind %in, which is never over
//   %out       100  host-host  896       bound, the smallest
//
// 0     512  768 896  1024
// | x,z | in | y | out |
// CHECK-LABEL: exec.entry @decode decode batch 1 rows 1 arena 1024 {
exec.entry @decode decode batch 1 rows 1 {
  // CHECK: %[[IN:.*]] = exec.buffer 256 at 512
  %in = exec.buffer 256
  exec.bind input %in "in" : tensor<64xf32>
  // CHECK: %[[X:.*]] = exec.buffer 512 at 0
  %x = exec.buffer 512
  // CHECK: %[[Y:.*]] = exec.buffer 128 at 768
  %y = exec.buffer 128
  // CHECK: %[[Z:.*]] = exec.buffer 512 at 0
  %z = exec.buffer 512
  // CHECK: %[[OUT:.*]] = exec.buffer 100 at 896
  %out = exec.buffer 100
  %w = exec.weight_ref @a
  exec.launch @k units 1 (in %in, in %w, out %x) "0"
  exec.launch @k units 1 (in %x, out %y) "1"
  exec.launch @k units 1 (in %y, out %z) "2"
  exec.launch @k units 1 (in %z, in %y, out %out) "3"
  exec.bind output %out "out" : tensor<25xf32>
}

// Without buffers there is no arena.
// CHECK-LABEL: exec.entry @empty plain batch 1 rows 1 arena 0 {
exec.entry @empty plain batch 1 rows 1 {
}

// -----

exec.kernel @k scratch 0
exec.entry @decode decode batch 1 rows 1 {
  %x = exec.buffer 256
  // expected-error@+1 {{no launch and no binding uses it}}
  %y = exec.buffer 256
  %z = exec.buffer 256
  // expected-error@+1 {{reads operand 0 before anything is written to it}}
  exec.launch @k units 1 (in %x) "0"
  // expected-error@+1 {{nothing writes logits "logits"}}
  exec.bind logits %z "logits" : tensor<1x64xf32>
}

// -----

// expected-error@-2 {{has a symbol named weights: is it planned already?}}
exec.segment @weights weights size 0
