// What may not leave the room plan.

// RUN: sdc-opt %s -split-input-file -verify-diagnostics -verify-planned

exec.kernel @k scratch 0
// expected-error@+1 {{buffers 0 and 1 share bytes at the same time}}
exec.entry @decode decode batch 1 rows 1 arena 512 {
  %x = exec.buffer 256 at 0
  exec.bind input %x "x" : tensor<64xf32>
  %y = exec.buffer 256 at 192
  exec.launch @k units 1 (in %x, out %y) "0"
}

// -----

exec.kernel @k scratch 0
// expected-error@+1 {{buffer 0: ends at 320, the arena at 256}}
exec.entry @decode decode batch 1 rows 1 arena 256 {
  %x = exec.buffer 256 at 64
  exec.launch @k units 1 (out %x) "0"
}

// -----

exec.kernel @k scratch 0
exec.entry @decode decode batch 1 rows 1 arena 256 {
  // expected-error@+1 {{has no offset}}
  %x = exec.buffer 256
  exec.launch @k units 1 (out %x) "0"
}

// -----

// expected-error@+1 {{has no arena}}
exec.entry @decode decode batch 1 rows 1 {
}

// -----

// expected-error@+1 {{has no place}}
exec.weight @a : tensor<1xf32> size 4 from dense<0.0> : tensor<1xf32>

// -----

exec.segment @weights weights size 128
exec.weight @a : tensor<25xf32> size 100 from dense<0.0> : tensor<25xf32>
    in @weights at 0
// expected-error@+1 {{overlaps the weight before it}}
exec.weight @b : tensor<1xf32> size 4 from dense<0.0> : tensor<1xf32>
    in @weights at 64
