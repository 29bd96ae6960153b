// RUN: sdc-opt %s -pack-weights="tile=rows8 spool=%t.spool" -verify-packed \
// RUN:   -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// The bytes, by what they unpack to.
// RUN: sdc-opt %t.mlir -nm-evaluate | FileCheck %s --check-prefix=VALUES
// Two threads write the same file.
// RUN: cp %t.spool %t.one
// RUN: sdc-opt %s -pack-weights="tile=rows8 spool=%t.spool threads=2" -o %t.two.mlir
// RUN: cmp %t.spool %t.one
// RUN: cmp %t.mlir %t.two.mlir
// No value of a weight is in the text: what is left of constants are the two
// inputs of @products.
// RUN: FileCheck %s --check-prefix=TEXT < %t.mlir
// TEXT-NOT: dense<
// TEXT-LABEL: @products
// TEXT-COUNT-2: dense<
// TEXT-NOT: dense<

// A stored [K, rows] matrix, read through a transposed view, and packed in bf16, which f32
// models become.
// CHECK: nm.weight @layers.0.q : !nm.packed<2x4xbf16, 2:4, rows8> from #decode.file<"{{.*}}.spool", 0, {{[0-9]+}}> report <2:4, "magnitude", damping 0.000000e+00, loss 0.000000e+00, relative 0.000000e+00>
decode.weight @layers.0.q : tensor<2x4xf32>
    from dense<[[1.0, 0.0], [0.0, 4.0], [0.0, 0.0], [-2.0, 5.0]]> : tensor<4x2xf32>
    view #decode.view<tensor<4x2xf32>, 0, transposed>
    {nm.report = #nm.report<2:4, "magnitude", damping 0.0, loss 0.0, relative 0.0>}

// Equal to @layers.0.q in source and form: the bytes are packed once.
// CHECK: nm.weight @layers.0.k : !nm.packed<2x4xbf16, 2:4, rows8> from #decode.file<"{{.*}}.spool", 0, {{[0-9]+}}>
decode.weight @layers.0.k : tensor<2x4xf32>
    from dense<[[1.0, 0.0], [0.0, 4.0], [0.0, 0.0], [-2.0, 5.0]]> : tensor<4x2xf32>
    view #decode.view<tensor<4x2xf32>, 0, transposed>

// A tied head that is dense: the embedding reads it, and there is one weight.
// CHECK-NOT: @embed
// CHECK: nm.weight @head : !nm.packed<3x2xbf16, dense, rows8>
decode.weight @head : tensor<3x2xf32>
    from dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>

// The same values by another symbol, as raise names them: not a second copy.
// CHECK-NOT: @table
decode.weight @table : tensor<3x2xf32>
    from dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>

// A tied head that is pruned: the table stays, as a plain matrix under a name of
// its own.
// CHECK: decode.weight @[[PLAINNAME:embed.*]] : tensor<3x2xbf16> from #decode.file<"{{.*}}.spool", {{[0-9]+}}, 12>
// CHECK: nm.weight @pruned : !nm.packed<3x2xbf16, 1:2, rows8>
decode.weight @pruned : tensor<3x2xf32>
    from dense<[[1.0, 0.0], [0.0, 4.0], [5.0, 0.0]]> : tensor<3x2xf32>

// Vectors are f32.
// CHECK: decode.weight @norm : tensor<2xf32> from #decode.file<"{{.*}}.spool", {{[0-9]+}}, 8>
decode.weight @norm : tensor<2xf16> from dense<[0.5, 1.5]> : tensor<2xf16>

// What has its form already stays where it is; its file is not even opened.
// CHECK: decode.weight @there : tensor<2x2xbf16> from #decode.file<"nowhere", 0, 8>
decode.weight @there : tensor<2x2xbf16> from #decode.file<"nowhere", 0, 8>

// CHECK-LABEL: @decode
// VALUES-LABEL: @decode
func.func @decode(%ids: tensor<1x1xi64>, %x: tensor<1x1x4xf32>)
    -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x3xf32>) {
  // CHECK-DAG: %[[Q:.*]] = decode.load @layers.0.q : !nm.packed<2x4xbf16, 2:4, rows8>
  // CHECK-DAG: %[[NORM:.*]] = decode.load @norm : tensor<2xf32>
  // CHECK-DAG: %[[HEAD:.*]] = decode.load @head : !nm.packed<3x2xbf16, dense, rows8>
  // VALUES-DAG: dense<[5.000000e-01, 1.500000e+00]> : tensor<2xf32>
  %wq = decode.load @layers.0.q : tensor<2x4xf32>
  %wk = decode.load @layers.0.k : tensor<2x4xf32>
  %wn = decode.load @norm : tensor<2xf16>
  %wh = decode.load @head : tensor<3x2xf32>
  // CHECK: nm.embed %{{.*}}, %[[HEAD]] : tensor<1x1xi64>, !nm.packed<3x2xbf16, dense, rows8> -> tensor<1x1x2xf32>
  %e = decode.embed %ids, %wh
      : tensor<1x1xi64>, tensor<3x2xf32> -> tensor<1x1x2xf32>
  %n = decode.rms_norm %e, %wn eps 1.0e-05 : tensor<1x1x2xf32>, tensor<2xf16>
  // CHECK: nm.linear %{{.*}}, %[[Q]] : tensor<1x1x4xf32>, !nm.packed
  %q = nm.linear %x, %wq pattern <2:4>
      : tensor<1x1x4xf32>, tensor<2x4xf32> -> tensor<1x1x2xf32>
  %k = nm.linear %x, %wk pattern <2:4>
      : tensor<1x1x4xf32>, tensor<2x4xf32> -> tensor<1x1x2xf32>
  // CHECK: nm.linear %{{.*}}, %{{.*}} : tensor<1x1x2xf32>, !nm.packed<3x2xbf16, dense, rows8>
  %h = decode.linear %n, %wh
      : tensor<1x1x2xf32>, tensor<3x2xf32> -> tensor<1x1x3xf32>
  return %q, %k, %h : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x3xf32>
}

// CHECK-LABEL: @tables
// VALUES-LABEL: @tables
func.func @tables(%ids: tensor<1x2xi64>)
    -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x3xf32>) {
  // CHECK: %[[SAME:.*]] = decode.load @head : !nm.packed
  // CHECK: %[[PLAIN:.*]] = decode.load @[[PLAINNAME]] : tensor<3x2xbf16>
  // CHECK: %[[PRUNED:.*]] = decode.load @pruned : !nm.packed
  // VALUES: dense<{{\[\[}}1.000000e+00, 0.000000e+00], [0.000000e+00, 4.000000e+00], [5.000000e+00, 0.000000e+00]]> : tensor<3x2xbf16>
  %wt = decode.load @table : tensor<3x2xf32>
  %wp = decode.load @pruned : tensor<3x2xf32>
  // CHECK: nm.embed %{{.*}}, %[[SAME]] {scale = 2.000000e+00 : f64}
  %a = decode.embed %ids, %wt {scale = 2.0}
      : tensor<1x2xi64>, tensor<3x2xf32> -> tensor<1x2x2xf32>
  // CHECK: decode.embed %{{.*}}, %[[PLAIN]]
  %b = decode.embed %ids, %wp
      : tensor<1x2xi64>, tensor<3x2xf32> -> tensor<1x2x2xf32>
  // CHECK: nm.linear %{{.*}}, %[[PRUNED]]
  %h = nm.linear %b, %wp pattern <1:2>
      : tensor<1x2x2xf32>, tensor<3x2xf32> -> tensor<1x2x3xf32>
  return %a, %b, %h
      : tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x3xf32>
}

// x = [1 10 100 1000] against rows [1 0 0 -2] and [0 4 0 5]; x = [1 10] against
// the head.
// VALUES-LABEL: @products
// VALUES-DAG: dense<{{\[\[\[}}-1.999000e+03, 5.040000e+03]]]>
// VALUES-DAG: dense<{{\[\[\[}}2.100000e+01, 4.300000e+01, 6.500000e+01]]]>
func.func @products() -> (tensor<1x1x2xf32>, tensor<1x1x3xf32>) {
  %x = arith.constant dense<[[[1.0, 10.0, 100.0, 1000.0]]]> : tensor<1x1x4xf32>
  %z = arith.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %wq = decode.load @layers.0.q : tensor<2x4xf32>
  %wh = decode.load @head : tensor<3x2xf32>
  %q = nm.linear %x, %wq pattern <2:4>
      : tensor<1x1x4xf32>, tensor<2x4xf32> -> tensor<1x1x2xf32>
  %h = decode.linear %z, %wh
      : tensor<1x1x2xf32>, tensor<3x2xf32> -> tensor<1x1x3xf32>
  return %q, %h : tensor<1x1x2xf32>, tensor<1x1x3xf32>
}
