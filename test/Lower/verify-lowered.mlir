// What may not leave the room lower.

// RUN: sdc-opt %s -split-input-file -verify-diagnostics -verify-lowered

exec.model "m" layers 1 hidden 1 vocabulary 1 batch 1 context 1 of 1 chunk 1
// expected-error@+1 {{the name is no specification}}
exec.kernel @matmul scratch 0
exec.kernel @norm.t1.k64.rms_f32_1em05 scratch 0
// expected-error@+1 {{scratch is 64, its specification needs 0}}
exec.kernel @add.t1.k64 scratch 64
exec.entry @decode decode batch 1 rows 1 {
  %x = exec.buffer 256
  // expected-error@+1 {{has 2 units, its kernel 1}}
  exec.launch @norm.t1.k64.rms_f32_1em05 units 2 (out %x) "a"
  // expected-error@+1 {{has 1 operands, its kernel 3}}
  exec.launch @norm.t1.k64.rms_f32_1em05 units 1 (out %x) "b"
  // expected-error@+1 {{is left behind lower}}
  exec.group {
  }
}
// expected-error@+1 {{is left behind lower}}
decode.weight @w : tensor<4xf32> from #decode.random<1>

// -----

// expected-error@+1 {{has no exec.model}}
module {
}
