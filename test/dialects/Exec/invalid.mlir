// What the verifiers of the exec dialect refuse; (Cx) as in ExecOps.td.

// RUN: sdc-opt %s -split-input-file -verify-diagnostics

// model (C1)
// expected-error@+1 {{layers is -1, expected 0 to 4294967295}}
exec.model "m" layers -1 hidden 1 vocabulary 1 batch 1 context 1 of 1 chunk 1

// -----

// model (C2)
exec.model "m" layers 1 hidden 1 vocabulary 1 batch 1 context 1 of 1 chunk 1
// expected-error@+1 {{is there twice}}
exec.model "m" layers 1 hidden 1 vocabulary 1 batch 1 context 1 of 1 chunk 1

// -----

// provenance (C1)
// expected-error@+1 {{expected strings as flags, got 1}}
exec.provenance "sdc" flags [1] model "" calibration "" positions [] notes []

// -----

// provenance (C2)
exec.provenance "sdc" flags [] model "" calibration "" positions [] notes []
// expected-error@+1 {{is there twice}}
exec.provenance "sdc" flags [] model "" calibration "" positions [] notes []

// -----

// segment (C1)
// expected-error@+1 {{expected a size of at least 0}}
exec.segment @s weights size -4

// -----

// weight (C1)
// expected-error@+1 {{expected a static tensor of elements that the executable knows, got 'tensor<?xf32>'}}
exec.weight @w : tensor<?xf32> size 4 from "x"

// -----

// weight (C2)
// expected-error@+1 {{expected 1 <= n < m <= 32 in a pattern, got 4:2}}
exec.weight @w : tensor<8x32xf32> pattern 4 : 2 tile "rows8" size 64 from "x"

// -----

// weight (C2)
// expected-error@+1 {{a pattern needs a tile}}
exec.weight @w : tensor<8x32xf32> pattern 2 : 4 size 64 from "x"

// -----

// weight (C3)
// expected-error@+1 {{has 64 bytes, the tensor takes 1024}}
exec.weight @w : tensor<8x32xf32> size 64 from "x"

// -----

// weight (C4)
exec.segment @s weights size 4096
// expected-error@+1 {{the offset 32 is not a multiple of 64}}
exec.weight @w : tensor<8xf32> size 32 from "x" in @s at 32

// -----

// weight (C4)
exec.segment @s weights size 64
// expected-error@+1 {{bytes 64 to 96 are not in the 64 of @s}}
exec.weight @w : tensor<8xf32> size 32 from "x" in @s at 64

// -----

// weight (C4)
exec.segment @s code size 64
// expected-error@+1 {{no segment of weights of the name @s}}
exec.weight @w : tensor<8xf32> size 32 from "x" in @s at 0

// -----

// weight (C5)
// expected-error@+1 {{the segment and the offset are given together}}
"exec.weight"() <{sym_name = "w", type = tensor<8xf32>, size = 32 : i64,
                  source = "x", offset = 0 : i64}> : () -> ()

// -----

// weight (C6)
// expected-error@+1 {{expected strings as notes, got 7}}
exec.weight @w : tensor<8xf32> size 32 from "x" notes [7]

// -----

// state (C1)
// expected-error@+1 {{expected a static tensor of rank 4 of f32, f16 or bf16, got 'tensor<1x2x3xf32>'}}
exec.state @s : tensor<1x2x3xf32> past "a" present "b"

// -----

// kernel (C1)
// expected-error@+1 {{scratch is 100, expected a multiple of 64}}
exec.kernel @k scratch 100

// -----

// image (C1)
exec.segment @s weights size 64
// expected-error@+1 {{no segment of code of the name @s}}
exec.image "avx2" in @s code 64 kernels [0]

// -----

// image (C1)
exec.segment @s code size 64
// expected-error@+1 {{the code has 65 bytes, its segment 64}}
exec.image "avx2" in @s code 65 kernels [0]

// -----

// image (C2)
exec.segment @s code size 64
// expected-error@+1 {{a kernel begins at 64, outside the code of 64 bytes}}
exec.image "avx2" in @s code 64 kernels [64]

// -----

// entry (C1)
// expected-error@+1 {{a decode entry has rows 1, got 2}}
exec.entry @e decode batch 1 rows 2 {
}

// -----

// entry (C1)
// expected-error@+1 {{a prefill entry has batch 1, got 2}}
exec.entry @e prefill batch 2 rows 2 {
}

// -----

// entry (C1)
// expected-error@+1 {{expected a batch and rows of at least 1, got 0 and 1}}
exec.entry @e plain batch 0 rows 1 {
}

// -----

// entry (C2)
// expected-error@+1 {{the arena's size 65 is not a multiple of 64}}
exec.entry @e plain batch 1 rows 1 arena 65 {
}

// -----

// entry (C3)
exec.entry @e plain batch 1 rows 1 {
  // expected-error@+1 {{belongs to the module, not to an entry}}
  exec.kernel @k scratch 0
}

// -----

// buffer (C1)
exec.entry @e plain batch 1 rows 1 {
  // expected-error@+1 {{expected a size of at least 1}}
  %x = exec.buffer 0
}

// -----

// buffer (C2)
exec.entry @e plain batch 1 rows 1 {
  // expected-error@+1 {{the offset 8 is not a multiple of 64}}
  %x = exec.buffer 8 at 8
}

// -----

// weight_ref (C1)
exec.entry @e plain batch 1 rows 1 {
  // expected-error@+1 {{no weight of the name @w}}
  %w = exec.weight_ref @w
}

// -----

// state_ref (C1)
exec.entry @e plain batch 1 rows 1 {
  // expected-error@+1 {{no state of the name @s}}
  %s = exec.state_ref @s
}

// -----

// bind (C1)
exec.entry @e plain batch 1 rows 1 {
  %p = exec.params
  // expected-error@+1 {{expected an exec.buffer}}
  exec.bind tokens %p "t" : tensor<1xi32>
}

// -----

// bind (C2)
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{takes 16 bytes of a buffer of 8}}
  exec.bind input %x "x" : tensor<4xf32>
}

// -----

// bind (C3)
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{expected i32 of rank 1, got 'tensor<1xi64>'}}
  exec.bind tokens %x "x" : tensor<1xi64>
}

// -----

// bind (C3)
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{expected f32 of rank 2, got 'tensor<2xf32>'}}
  exec.bind logits %x "x" : tensor<2xf32>
}

// -----

// bind (C4)
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{needs a name}}
  exec.bind input %x "" : tensor<2xf32>
}

// -----

// launch (C1)
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{no kernel of the name @k}}
  exec.launch @k units 1 (out %x) "x"
}

// -----

// launch (C2)
exec.kernel @k scratch 0
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{expected units of 1 to 4294967295, got 0}}
  exec.launch @k units 0 (out %x) "x"
}

// -----

// launch (C3)
exec.kernel @k scratch 0
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{has 1 operands and 2 accesses}}
  "exec.launch"(%x) <{kernel = @k, units = 1 : i64, access = array<i32: 0, 1>,
                      label = ""}> : (!exec.operand) -> ()
}

// -----

// launch (C4)
exec.kernel @k scratch 0
exec.entry @e plain batch 1 rows 1 {
  %p = exec.params
  // expected-error@+1 {{writes operand 0, a constant}}
  exec.launch @k units 1 (out %p) "x"
}

// -----

// launch (C5)
exec.kernel @k scratch 0
exec.entry @e plain batch 1 rows 1 {
  %x = exec.buffer 8
  // expected-error@+1 {{writes operand 1, which is given twice}}
  exec.launch @k units 1 (in %x, out %x) "x"
}

// -----

// group (C1)
func.func @group(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{gives 1 results of other types than the 1 values yielded}}
  %y = exec.group -> tensor<3xf32> {
    exec.yield %x : tensor<2xf32>
  }
  return %y : tensor<3xf32>
}
