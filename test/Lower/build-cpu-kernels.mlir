// Kernels as functions of a level: the expansion, the fixed trip, the sum.

// RUN: sdc-opt %s -build-cpu-kernels -canonicalize -cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: sdc-opt %s -build-cpu-kernels=level=avx2 -canonicalize -cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: not sdc-opt %s -build-cpu-kernels=level=sse2 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEVEL

// LEVEL: error: level 'sse2' is not known, expected avx2 or avx512vbmi2

// Two rows share each load of x; 96 columns are three words, always.
// CHECK-LABEL: func.func @linear.t1.k96.w2_16of32_bf16_rows2(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[THREE]] step %[[ONE]] iter_args(%[[SUM0:.*]] = %{{.*}}, %[[SUM1:.*]] = %{{.*}})
// CHECK-NOT: scf.if
// AVX512: %[[MASK:.*]] = llvm.load %{{.*}} -> i32
// AVX512: %[[BITS:.*]] = vector.bitcast %{{.*}} : vector<1xi32> to vector<32xi1>
// AVX512: %[[KEPT:.*]] = llvm.load %{{.*}} -> vector<16xi16>
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.expand.v32i16"(%{{.*}}, %{{.*}}, %[[BITS]])
// AVX2-COUNT-4: llvm.call_intrinsic "llvm.x86.ssse3.pshuf.b.128"
// The lower halves are columns 0, 2, ..., the upper ones 1, 3, ...
// CHECK: arith.andi %{{.*}} : vector<16xi32>
// CHECK: arith.shli %{{.*}} : vector<16xi32>
// CHECK: %[[EVEN:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM0]])
// CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[EVEN]])
// CHECK-NOT: scf.if
// CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM1]])
// CHECK-NOT: scf.if
// CHECK: scf.yield
exec.kernel @linear.t1.k96.w2_16of32_bf16_rows2 scratch 384

// The module has no other words left.
// CHECK-LABEL: func.func @add.t1.k64(
// CHECK-NOT: exec.
exec.kernel @add.t1.k64 scratch 0
