// A planned module becomes a file: its root is what the ops say, its size is
// what a dry run says, and the same module gives the same bytes.

// RUN: rm -rf %t && mkdir -p %t/a %t/b
// RUN: sdc-opt %s -emit-executable="output=%t/a/m.sdx levels=avx2" \
// RUN:   -remarks-filter=emit -remark-format=emitRemark -o %t/m.mlir 2> %t/wet
// RUN: FileCheck %s --check-prefix=OPS < %t/m.mlir
// RUN: sdc-opt %s -emit-executable="dry-run levels=avx2" -o /dev/null \
// RUN:   -remarks-filter=emit -remark-format=emitRemark 2> %t/dry
// RUN: diff %t/wet %t/dry
// RUN: stat -c "bytes=%%s" %t/a/m.sdx > %t/size
// RUN: cat %t/wet %t/size | FileCheck %s --check-prefix=SIZE
// SIZE: bytes=[[BYTES:[0-9]+]]
// SIZE: bytes=[[BYTES]]{{$}}

// The same bytes in another folder and with another number of threads, and
// nothing but the file is left there.
// RUN: sdc-opt %s -emit-executable="output=%t/b/m.sdx levels=avx2 threads=2" -o /dev/null
// RUN: cmp %t/a/m.sdx %t/b/m.sdx
// RUN: ls -A %t/b | FileCheck %s --check-prefix=LEFT
// LEFT: m.sdx
// LEFT-NOT: {{.}}

// flatc reads the root, and verifies it first.
// RUN: tail -c +65 %t/a/m.sdx > %t/root.bin
// RUN: flatc --json --strict-json --natural-utf8 --raw-binary --defaults-json -o %t %sdc_src/runtime/schema/executable.fbs -- %t/root.bin
// RUN: FileCheck %s --check-prefix=ROOT < %t/root.json

// Code in front of the weights, so that what is checked on open lies together.
// OPS: exec.segment @code_avx2 code size [[CODE:[0-9]+]]
// OPS: exec.segment @weights weights size 704
// OPS: exec.image "avx2" in @code_avx2 code [[CODE]] kernels [{{[0-9]+}}, {{[0-9]+}}]

// ROOT: "name": "toy"
// ROOT: "context": 8
// ROOT: "kind": "Code"
// ROOT-NEXT: "offset": 4096
// ROOT: "kind": "Weights"
// ROOT: "size": 704
// ROOT: "name": "norm"
// ROOT-NEXT: "segment": 1
// ROOT-NEXT: "offset": 0
// ROOT-NEXT: "size": 128
// ROOT-NEXT: "element": "F32"
// ROOT: "name": "w"
// ROOT: "offset": 128
// ROOT: "pattern_n": 2
// ROOT-NEXT: "pattern_m": 4
// ROOT-NEXT: "tile": "rows8"
// ROOT: "method": "magnitude"
// ROOT: "damping": 0.0
// ROOT-NEXT: "loss": 1.5
// ROOT: "padded"
// ROOT: "name": "keys"
// ROOT: "past_name": "pk"
// ROOT: "head_size": 4
// ROOT: "name": "norm.t1.k32.rms_f32_1em05"
// ROOT: "level": "avx2"
// ROOT: "name": "plain"
// ROOT-NEXT: "kind": "Plain"
// ROOT: "arena_size": 384
// ROOT: "role": "Input"
// ROOT-NEXT: "name": "x"
// ROOT-NEXT: "offset": 0
// ROOT: "role": "Output"
// ROOT: "offset": 256
// ROOT: "kernel": 0
// ROOT: "kind": "Arena"
// ROOT: "kind": "Weight"
// ROOT-NEXT: "index": 0
// ROOT: "label": "norm"
// ROOT: "kernel": 1
// ROOT: "text_segment": -1
module @toy {
exec.model "toy" layers 1 hidden 32 vocabulary 8 batch 1 context 8 of 64 chunk 4
exec.kernel @norm.t1.k32.rms_f32_1em05 scratch 0
exec.kernel @linear.t1.k32.w8_2of4_f32_rows8 scratch 0
exec.segment @weights weights size 704
exec.weight @norm : tensor<32xf32> size 128 from dense<1.0> : tensor<32xf32>
    in @weights at 0
exec.weight @w : tensor<8x32xf32> pattern 2 : 4 tile "rows8" size 576
    from dense<0> : tensor<576xi8> in @weights at 128
    pruned <"magnitude", damping 0.0, loss 1.5, relative 0.5, ["padded"]>
exec.state @keys : tensor<1x1x8x4xf32> past "pk" present "k"
exec.entry @plain plain batch 1 rows 1 arena 384 {
  %x = exec.buffer 128 at 0
  exec.bind input %x "x" : tensor<1x32xf32>
  %n = exec.weight_ref @norm
  %y = exec.buffer 128 at 128
  exec.launch @norm.t1.k32.rms_f32_1em05 units 1 (in %x, in %n, out %y) "norm"
  %w = exec.weight_ref @w
  %z = exec.buffer 32 at 256
  exec.launch @linear.t1.k32.w8_2of4_f32_rows8 units 1 (in %y, in %w, out %z) "w"
  exec.bind output %z "z" : tensor<1x8xf32>
}
}
