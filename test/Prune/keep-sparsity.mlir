// A weight that has its zeros already keeps them, and its bytes.
// RUN: sdc-opt %s -mark-records -prune-weights="keep-sparsity" -verify-pruned \
// RUN:   | FileCheck %s
// What is asked is taken where the weight obeys it too.
// RUN: sdc-opt %s -mark-records \
// RUN:   -prune-weights="keep-sparsity pattern=4:8" -verify-pruned \
// RUN:   | FileCheck %s --check-prefix=ASKED

// CHECK: decode.weight @layers.0.q : tensor<1x32xf32> from dense<{{.*}}> : tensor<1x32xf32> {nm.report = #nm.report<2:4, "kept", damping 0.000000e+00, loss 0.000000e+00, relative 0.000000e+00>}
// ASKED: @layers.0.q {{.*}} #nm.report<4:8, "kept"
decode.weight @layers.0.q : tensor<1x32xf32>
    from dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0,
                 0.0, 5.0, 6.0, 0.0, 7.0, 8.0, 0.0, 0.0,
                 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0,
                 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]]> : tensor<1x32xf32>

// CHECK: decode.weight @layers.0.k {{.*}} #nm.report<dense, "none", damping 0.000000e+00, loss unknown, relative unknown, notes "its weight has no N:M sparsity to keep">
// ASKED: @layers.0.k {{.*}} #nm.report<dense
decode.weight @layers.0.k : tensor<1x32xf32>
    from dense<1.0> : tensor<1x32xf32>

// CHECK: nm.linear %{{.*}} pattern <2:4>
// CHECK: decode.linear
func.func @decode(%x: tensor<1x1x32xf32>)
    -> (tensor<1x1x1xf32>, tensor<1x1x1xf32>) {
  %wq = decode.load @layers.0.q : tensor<1x32xf32>
  %wk = decode.load @layers.0.k : tensor<1x32xf32>
  %q = decode.linear %x, %wq
      : tensor<1x1x32xf32>, tensor<1x32xf32> -> tensor<1x1x1xf32>
  %k = decode.linear %x, %wk
      : tensor<1x1x32xf32>, tensor<1x32xf32> -> tensor<1x1x1xf32>
  return %q, %k : tensor<1x1x1xf32>, tensor<1x1x1xf32>
}
