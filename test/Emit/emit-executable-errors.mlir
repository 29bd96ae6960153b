// What emit refuses, all at once, and that it leaves no file.

// RUN: rm -rf %t && mkdir %t
// RUN: not sdc-opt %s -emit-executable="output=%t/m.sdx" -o /dev/null 2> %t/log
// RUN: FileCheck %s < %t/log
// CHECK: the module has no exec.model: it was not lowered
// CHECK: weight 'random' has no place: plan gives it
// CHECK: weight 'random' has no bytes that can be copied; pack-weights gives it some
// CHECK: weight 'short' takes 16 bytes, its source has 8
// CHECK: entry 'plain' has no arena: plan gives it
// RUN: not sdc-opt %s -emit-executable="output=%t/m.sdx levels=sse" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: no CPU level 'sse', expected avx2 or avx512vbmi2
// RUN: not sdc-opt %s -emit-executable -o /dev/null 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: expected the option output=FILE
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// LEFT: log
// LEFT-NOT: {{.}}

// The folder is not there; a file of a weight is not there.
// RUN: echo 'exec.model "m" layers 1 hidden 1 vocabulary 1 batch 1 context 1 of 1 chunk 1' > %t/empty.mlir
// RUN: not sdc-opt %t/empty.mlir -emit-executable="output=%t/no/m.sdx levels=avx2" -o /dev/null 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: no/m.sdx: the folder '{{.*}}/no': No such file or directory
// RUN: echo 'exec.segment @weights weights size 64 exec.weight @w : tensor<16xf32> size 64 from #decode.file<"absent", 0, 64> in @weights at 0' >> %t/empty.mlir
// RUN: not sdc-opt %t/empty.mlir -emit-executable="output=%t/m.sdx levels=avx2" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: weight 'w': {{.*}}absent
// RUN: not ls %t/m.sdx
exec.weight @random : tensor<4xf32> size 16 from #decode.random<1>
exec.weight @short : tensor<4xf32> size 16 from #decode.file<"f", 0, 8>
exec.entry @plain plain batch 1 rows 1 {
}
