// RUN: sdc-opt %s -mark-records -o %t.marked.mlir \
// RUN:   -prune-weights="pattern=2:4 method=magnitude dtype=f32 spool=%t.spool rules=o$=1:4,down=dense" -verify-pruned
// RUN: FileCheck %s < %t.marked.mlir
// The new values, read back from the spool.
// RUN: sdc-opt %t.marked.mlir -nm-evaluate | FileCheck %s --check-prefix=VALUES
// The same bytes from two threads.
// RUN: cp %t.spool %t.one
// RUN: sdc-opt %s -mark-records -o %t.two.mlir \
// RUN:   -prune-weights="threads=2 pattern=2:4 method=magnitude dtype=f32 spool=%t.spool rules=o$=1:4,down=dense"
// RUN: cmp %t.spool %t.one
// RUN: cmp %t.marked.mlir %t.two.mlir
// And into a work folder, where a second run finds them.
// RUN: rm -rf %t.work
// RUN: sdc-opt %s -mark-records -o %t.work1.mlir \
// RUN:   -prune-weights="pattern=2:4 method=magnitude dtype=f32 work=%t.work rules=o$=1:4,down=dense"
// RUN: sdc-opt %t.work1.mlir -nm-evaluate | FileCheck %s --check-prefix=VALUES
// RUN: ls %t.work | count 2

// CHECK: decode.weight @layers.0.q : tensor<2x6xf32> from #decode.file<"{{.*}}.spool", 0, 48> {nm.report = #nm.report<2:4, "magnitude", damping 0.000000e+00, loss unknown, relative unknown, notes "K = 6 is padded to 32">}
decode.weight @layers.0.q : tensor<2x6xf32>
    from dense<[[1.0, 0.5], [-2.0, 7.0], [3.0, 0.25], [0.0, -8.0], [5.0, 9.0],
                [6.0, 0.0]]> : tensor<6x2xf32>
    view #decode.view<tensor<6x2xf32>, 0, transposed>

// CHECK: decode.weight @layers.0.o : tensor<6x2xf32> from #decode.file<"{{.*}}.spool", 4096, 48> {nm.report = #nm.report<1:4, "magnitude", {{.*}}, notes "K = 2 is padded to 32">}
decode.weight @layers.0.o : tensor<6x2xf32>
    from dense<[[1.0, 2.0], [2.0, 1.0], [3.0, -3.0], [0.0, 4.0], [5.0, 0.0],
                [6.0, 7.0]]> : tensor<6x2xf32>

// Dense by rule: untouched, with the reason.
// CHECK: decode.weight @layers.0.down : tensor<6x6xf32> from dense<1.000000e+00> : tensor<6x6xf32> {nm.report = #nm.report<dense, "none", damping 0.000000e+00, loss unknown, relative unknown, notes "the rule 'down' skips it">}
decode.weight @layers.0.down : tensor<6x6xf32>
    from dense<1.0> : tensor<6x6xf32>

// The head is dense unless a rule names it; its table becomes a symbol of its
// own, so that nothing that happens to the one happens to the other.
// CHECK: decode.weight @embed : tensor<8x6xf32> from dense<5.000000e-01> : tensor<8x6xf32>
// CHECK-NEXT: decode.weight @head : tensor<8x6xf32> {{.*}} notes "the head stays dense unless a rule says otherwise">}
decode.weight @head : tensor<8x6xf32> from dense<0.5> : tensor<8x6xf32>

// CHECK-LABEL: @decode
// CHECK-NOT: decode.record
// CHECK-DAG: %[[Q:.*]] = decode.load @layers.0.q : tensor<2x6xf32>
// CHECK-DAG: %[[O:.*]] = decode.load @layers.0.o : tensor<6x2xf32>
// CHECK-DAG: %[[HEAD:.*]] = decode.load @head
// CHECK-DAG: %[[TABLE:.*]] = decode.load @embed
// CHECK: %[[X:.*]] = decode.embed %{{.*}}, %[[TABLE]]
// CHECK: nm.linear %[[X]], %[[Q]] pattern <2:4>
// CHECK: nm.linear %{{.*}}, %[[O]] bias %{{.*}} pattern <1:4>
// CHECK: decode.linear
// CHECK: decode.linear %{{.*}}, %[[HEAD]]
func.func @decode(%ids: tensor<1x1xi64>, %b: tensor<6xf32>)
    -> tensor<1x1x8xf32> attributes {decode.entry = "decode"} {
  %wq = decode.load @layers.0.q : tensor<2x6xf32>
  %wo = decode.load @layers.0.o : tensor<6x2xf32>
  %wd = decode.load @layers.0.down : tensor<6x6xf32>
  %wh = decode.load @head : tensor<8x6xf32>
  %x = decode.embed %ids, %wh
      : tensor<1x1xi64>, tensor<8x6xf32> -> tensor<1x1x6xf32>
  %q = decode.linear %x, %wq
      : tensor<1x1x6xf32>, tensor<2x6xf32> -> tensor<1x1x2xf32>
  %o = decode.linear %q, %wo bias %b
      : tensor<1x1x2xf32>, tensor<6x2xf32> bias tensor<6xf32>
      -> tensor<1x1x6xf32>
  %d = decode.linear %o, %wd
      : tensor<1x1x6xf32>, tensor<6x6xf32> -> tensor<1x1x6xf32>
  %h = decode.linear %d, %wh
      : tensor<1x1x6xf32>, tensor<8x6xf32> -> tensor<1x1x8xf32>
  return %h : tensor<1x1x8xf32>
}

// Rows of W, as read through the view: [1 -2 3 0 | 5 6] keeps -2, 3 and both of
// the short group; [0.5 7 0.25 -8 | 9 0] keeps 7, -8, 9 and a zero. @layers.0.o
// keeps the larger of each row.
// VALUES-LABEL: @weights
// VALUES-DAG: dense<{{\[\[}}0.000000e+00, -2.000000e+00, 3.000000e+00, 0.000000e+00, 5.000000e+00, 6.000000e+00], [0.000000e+00, 7.000000e+00, 0.000000e+00, -8.000000e+00, 9.000000e+00, 0.000000e+00]]>
// VALUES-DAG: dense<{{\[\[}}0.000000e+00, 2.000000e+00], [2.000000e+00, 0.000000e+00], [3.000000e+00, 0.000000e+00], [0.000000e+00, 4.000000e+00], [5.000000e+00, 0.000000e+00], [0.000000e+00, 7.000000e+00]]>
func.func @weights(%x: tensor<1x1x6xf32>, %y: tensor<1x1x2xf32>)
    -> (tensor<1x1x2xf32>, tensor<1x1x6xf32>) {
  %wq = decode.load @layers.0.q : tensor<2x6xf32>
  %wo = decode.load @layers.0.o : tensor<6x2xf32>
  %q = decode.linear %x, %wq
      : tensor<1x1x6xf32>, tensor<2x6xf32> -> tensor<1x1x2xf32>
  %o = decode.linear %y, %wo
      : tensor<1x1x2xf32>, tensor<6x2xf32> -> tensor<1x1x6xf32>
  return %q, %o : tensor<1x1x2xf32>, tensor<1x1x6xf32>
}
