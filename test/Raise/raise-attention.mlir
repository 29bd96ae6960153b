// Attention in many spellings, with two query heads for each of two heads of
// keys and values, rows 2 behind a past of P.
// RUN: sdc-opt %s --raise-attention='context=32' -split-input-file | FileCheck %s

// CHECK-DAG: decode.state @layers.0.keys : !decode.cache<1x2x32x4xf32> past "pk" present "ok"
// CHECK-DAG: decode.state @layers.0.values : !decode.cache<1x2x32x4xf32> past "pv" present "ov"
decode.weight @q : tensor<16x4xf32> from #decode.file<"w", 0, 256>
decode.weight @k : tensor<8x4xf32> from #decode.file<"w", 256, 128>
decode.weight @v : tensor<8x4xf32> from #decode.file<"w", 384, 128>

// Heads repeated, both sides times 4^-0.25, an added mask of a finite number, a
// guard of masked rows.
// CHECK-LABEL: onnx.graph @spelled_out(
// CHECK-SAME: %[[P:arg4]]: tensor<1x2xi32>
// CHECK-SAME: %[[S:arg5]]: tensor<1xi32>
// CHECK-SAME: -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"}) {
// CHECK: %[[Q:.*]] = tensor.expand_shape %{{.*}} into tensor<1x2x4x4xf32>
onnx.graph @spelled_out(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pk: tensor<1x2x?x4xf32> {onnx.name = "pk", onnx.role = "past.key.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %pv: tensor<1x2x?x4xf32> {onnx.name = "pv", onnx.role = "past.value.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"},
        tensor<1x2x?x4xf32> {onnx.name = "ok", onnx.role = "present.key.0"},
        tensor<1x2x?x4xf32> {onnx.name = "ov", onnx.role = "present.value.0"}) {
  %wq = decode.load @q : tensor<16x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x2x4xf32>, tensor<16x4xf32> -> tensor<1x2x16xf32>
  %wk = decode.load @k : tensor<8x4xf32>
  %k = decode.linear %x, %wk
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %wv = decode.load @v : tensor<8x4xf32>
  %v = decode.linear %x, %wv
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %two = onnx.constant dense<2> : tensor<1xi64>
  %wide = onnx.constant dense<[1, 1, 2, 1, 1]> : tensor<5xi64>
  %joined = onnx.constant dense<[1, 4, -1, 4]> : tensor<4xi64>
  %s0 = onnx.constant dense<0> : tensor<i64>
  %s1 = onnx.constant dense<1> : tensor<i64>
  %s2 = onnx.constant dense<2> : tensor<i64>
  %qs = onnx.constant dense<[1, 2, 4, 4]> : tensor<4xi64>
  %qr = onnx.node "Reshape" since 25 (%q, %qs)
      : (tensor<1x2x16xf32>, tensor<4xi64>) -> tensor<1x2x4x4xf32>
  %qh = onnx.node "Transpose" since 25 (%qr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x4x4xf32>) -> tensor<1x4x2x4xf32>
  %ks = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %kr = onnx.node "Reshape" since 25 (%k, %ks)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %kh = onnx.node "Transpose" since 25 (%kr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %vs = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %vr = onnx.node "Reshape" since 25 (%v, %vs)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %vh = onnx.node "Transpose" since 25 (%vr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %ok = onnx.node "Concat" since 13 (%pk, %kh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %ov = onnx.node "Concat" since 13 (%pv, %vh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %kku = onnx.node "Unsqueeze" since 25 (%ok, %two)
      : (tensor<1x2x?x4xf32>, tensor<1xi64>) -> tensor<1x2x1x?x4xf32>
  %kke = onnx.node "Expand" since 13 (%kku, %wide)
      : (tensor<1x2x1x?x4xf32>, tensor<5xi64>) -> tensor<1x2x2x?x4xf32>
  %kk = onnx.node "Reshape" since 25 (%kke, %joined)
      : (tensor<1x2x2x?x4xf32>, tensor<4xi64>) -> tensor<1x4x?x4xf32>
  %vvu = onnx.node "Unsqueeze" since 25 (%ov, %two)
      : (tensor<1x2x?x4xf32>, tensor<1xi64>) -> tensor<1x2x1x?x4xf32>
  %vve = onnx.node "Expand" since 13 (%vvu, %wide)
      : (tensor<1x2x1x?x4xf32>, tensor<5xi64>) -> tensor<1x2x2x?x4xf32>
  %vv = onnx.node "Reshape" since 25 (%vve, %joined)
      : (tensor<1x2x2x?x4xf32>, tensor<4xi64>) -> tensor<1x4x?x4xf32>
  %shape = onnx.node "Shape" since 25 (%ok)
      : (tensor<1x2x?x4xf32>) -> tensor<4xi64>
  %total = onnx.node "Gather" since 13 (%shape, %s2)
      : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %past = onnx.node "Sub" since 14 (%total, %s2)
      : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %column = onnx.node "Range" since 11 (%s0, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %row0 = onnx.node "Range" since 11 (%past, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %one = onnx.constant dense<1> : tensor<1xi64>
  %row = onnx.node "Unsqueeze" since 25 (%row0, %one)
      : (tensor<?xi64>, tensor<1xi64>) -> tensor<2x1xi64>
  %allowed = onnx.node "LessOrEqual" since 16 (%column, %row)
      : (tensor<?xi64>, tensor<2x1xi64>) -> tensor<2x?xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %low = onnx.constant dense<-3.4028234663852886e+38> : tensor<f32>
  %root = onnx.constant dense<0.707106781> : tensor<f32>
  %mask = onnx.node "Where" since 16 (%allowed, %zero, %low)
      : (tensor<2x?xi1>, tensor<f32>, tensor<f32>) -> tensor<2x?xf32>
  %qs2 = onnx.node "Mul" since 14 (%qh, %root)
      : (tensor<1x4x2x4xf32>, tensor<f32>) -> tensor<1x4x2x4xf32>
  %kt = onnx.node "Transpose" since 25 (%kk)
      attrs {perm = array<i64: 0, 1, 3, 2>}
      : (tensor<1x4x?x4xf32>) -> tensor<1x4x4x?xf32>
  %ks2 = onnx.node "Mul" since 14 (%kt, %root)
      : (tensor<1x4x4x?xf32>, tensor<f32>) -> tensor<1x4x4x?xf32>
  %scores = onnx.node "MatMul" since 13 (%qs2, %ks2)
      : (tensor<1x4x2x4xf32>, tensor<1x4x4x?xf32>) -> tensor<1x4x2x?xf32>
  %masked = onnx.node "Add" since 14 (%scores, %mask)
      : (tensor<1x4x2x?xf32>, tensor<2x?xf32>) -> tensor<1x4x2x?xf32>
  %p = onnx.node "Softmax" since 13 (%masked)
      attrs {axis = -1}
      : (tensor<1x4x2x?xf32>) -> tensor<1x4x2x?xf32>
  %nan = onnx.node "IsNaN" since 20 (%p)
      : (tensor<1x4x2x?xf32>) -> tensor<1x4x2x?xi1>
  %pg = onnx.node "Where" since 16 (%nan, %zero, %p)
      : (tensor<1x4x2x?xi1>, tensor<f32>, tensor<1x4x2x?xf32>) -> tensor<1x4x2x?xf32>
  // CHECK: %[[K:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.keys : tensor<1x2x2x4xf32>
  // CHECK: %[[V:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.values
  // CHECK: decode.attention %[[Q]], %[[K]], %[[V]], %[[P]], %[[S]] scale 5.000000e-01 : tensor<1x2x4x4xf32>
  %o = onnx.node "MatMul" since 13 (%pg, %vv)
      : (tensor<1x4x2x?xf32>, tensor<1x4x?x4xf32>) -> tensor<1x4x2x4xf32>
  %ys = onnx.constant dense<[1, 2, 16]> : tensor<3xi64>
  %yt = onnx.node "Transpose" since 25 (%o)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %y = onnx.node "Reshape" since 25 (%yt, %ys)
      : (tensor<1x2x4x4xf32>, tensor<3xi64>) -> tensor<1x2x16xf32>
  onnx.return %y, %ok, %ov
      : tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}

// -----

decode.weight @q : tensor<16x4xf32> from #decode.file<"w", 0, 256>
decode.weight @k : tensor<8x4xf32> from #decode.file<"w", 256, 128>
decode.weight @v : tensor<8x4xf32> from #decode.file<"w", 384, 128>

// One operator, which repeats heads itself; a window of 3, a softcap.
// CHECK-LABEL: onnx.graph @operator(
// CHECK-SAME: %[[P:arg4]]: tensor<1x2xi32>
// CHECK-SAME: %[[S:arg5]]: tensor<1xi32>
// CHECK-SAME: -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"}) {
// CHECK: %[[Q:.*]] = tensor.expand_shape %{{.*}} into tensor<1x2x4x4xf32>
onnx.graph @operator(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pk: tensor<1x2x?x4xf32> {onnx.name = "pk", onnx.role = "past.key.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %pv: tensor<1x2x?x4xf32> {onnx.name = "pv", onnx.role = "past.value.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"},
        tensor<1x2x?x4xf32> {onnx.name = "ok", onnx.role = "present.key.0"},
        tensor<1x2x?x4xf32> {onnx.name = "ov", onnx.role = "present.value.0"}) {
  %wq = decode.load @q : tensor<16x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x2x4xf32>, tensor<16x4xf32> -> tensor<1x2x16xf32>
  %wk = decode.load @k : tensor<8x4xf32>
  %k = decode.linear %x, %wk
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %wv = decode.load @v : tensor<8x4xf32>
  %v = decode.linear %x, %wv
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %two = onnx.constant dense<2> : tensor<1xi64>
  %wide = onnx.constant dense<[1, 1, 2, 1, 1]> : tensor<5xi64>
  %joined = onnx.constant dense<[1, 4, -1, 4]> : tensor<4xi64>
  %s0 = onnx.constant dense<0> : tensor<i64>
  %s1 = onnx.constant dense<1> : tensor<i64>
  %s2 = onnx.constant dense<2> : tensor<i64>
  %qs = onnx.constant dense<[1, 2, 4, 4]> : tensor<4xi64>
  %qr = onnx.node "Reshape" since 25 (%q, %qs)
      : (tensor<1x2x16xf32>, tensor<4xi64>) -> tensor<1x2x4x4xf32>
  %qh = onnx.node "Transpose" since 25 (%qr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x4x4xf32>) -> tensor<1x4x2x4xf32>
  %ks = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %kr = onnx.node "Reshape" since 25 (%k, %ks)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %kh = onnx.node "Transpose" since 25 (%kr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %vs = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %vr = onnx.node "Reshape" since 25 (%v, %vs)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %vh = onnx.node "Transpose" since 25 (%vr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %ok = onnx.node "Concat" since 13 (%pk, %kh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %ov = onnx.node "Concat" since 13 (%pv, %vh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %shape = onnx.node "Shape" since 25 (%ok)
      : (tensor<1x2x?x4xf32>) -> tensor<4xi64>
  %total = onnx.node "Gather" since 13 (%shape, %s2)
      : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %past = onnx.node "Sub" since 14 (%total, %s2)
      : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %column = onnx.node "Range" since 11 (%s0, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %row0 = onnx.node "Range" since 11 (%past, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %one = onnx.constant dense<1> : tensor<1xi64>
  %row = onnx.node "Unsqueeze" since 25 (%row0, %one)
      : (tensor<?xi64>, tensor<1xi64>) -> tensor<2x1xi64>
  %causal = onnx.node "LessOrEqual" since 16 (%column, %row)
      : (tensor<?xi64>, tensor<2x1xi64>) -> tensor<2x?xi1>
  %three = onnx.constant dense<3> : tensor<i64>
  %first = onnx.node "Sub" since 14 (%row, %three)
      : (tensor<2x1xi64>, tensor<i64>) -> tensor<2x1xi64>
  %near = onnx.node "Greater" since 13 (%column, %first)
      : (tensor<?xi64>, tensor<2x1xi64>) -> tensor<2x?xi1>
  %mask = onnx.node "And" since 7 (%near, %causal)
      : (tensor<2x?xi1>, tensor<2x?xi1>) -> tensor<2x?xi1>
  // CHECK: %[[K:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.keys : tensor<1x2x2x4xf32>
  // CHECK: %[[V:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.values
  // CHECK: decode.attention %[[Q]], %[[K]], %[[V]], %[[P]], %[[S]] scale 2.500000e-01 {softcap = 3.000000e+01 : f64, window = 3 : i64} :
  %o = onnx.node "Attention" since 24 (%qh, %ok, %ov, %mask)
      attrs {scale = 0.25 : f32, softcap = 30.0 : f32}
      : (tensor<1x4x2x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<2x?xi1>) -> tensor<1x4x2x4xf32>
  %ys = onnx.constant dense<[1, 2, 16]> : tensor<3xi64>
  %yt = onnx.node "Transpose" since 25 (%o)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %y = onnx.node "Reshape" since 25 (%yt, %ys)
      : (tensor<1x2x4x4xf32>, tensor<3xi64>) -> tensor<1x2x16xf32>
  onnx.return %y, %ok, %ov
      : tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}

// -----

decode.weight @q : tensor<16x4xf32> from #decode.file<"w", 0, 256>
decode.weight @k : tensor<8x4xf32> from #decode.file<"w", 256, 128>
decode.weight @v : tensor<8x4xf32> from #decode.file<"w", 384, 128>

// The operator with the past as input and the present as output; the rows of
// the columns are aligned at the end.
// CHECK-LABEL: onnx.graph @operator_with_past(
// CHECK-SAME: %[[P:arg4]]: tensor<1x2xi32>
// CHECK-SAME: %[[S:arg5]]: tensor<1xi32>
// CHECK-SAME: -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"}) {
// CHECK: %[[Q:.*]] = tensor.expand_shape %{{.*}} into tensor<1x2x4x4xf32>
onnx.graph @operator_with_past(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pk: tensor<1x2x?x4xf32> {onnx.name = "pk", onnx.role = "past.key.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %pv: tensor<1x2x?x4xf32> {onnx.name = "pv", onnx.role = "past.value.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"},
        tensor<1x2x?x4xf32> {onnx.name = "ok", onnx.role = "present.key.0"},
        tensor<1x2x?x4xf32> {onnx.name = "ov", onnx.role = "present.value.0"}) {
  %wq = decode.load @q : tensor<16x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x2x4xf32>, tensor<16x4xf32> -> tensor<1x2x16xf32>
  %wk = decode.load @k : tensor<8x4xf32>
  %k = decode.linear %x, %wk
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %wv = decode.load @v : tensor<8x4xf32>
  %v = decode.linear %x, %wv
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %none = onnx.none
  // CHECK: %[[K:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.keys : tensor<1x2x2x4xf32>
  // CHECK: %[[V:.*]] = decode.append %{{.*}}, %[[P]], %[[S]] into @layers.0.values
  // CHECK: decode.attention %[[Q]], %[[K]], %[[V]], %[[P]], %[[S]] scale 5.000000e-01 :
  %o:3 = onnx.node "Attention" since 24 (%q, %k, %v, %none, %pk, %pv)
      attrs {is_causal = 1, q_num_heads = 4, kv_num_heads = 2}
      : (tensor<1x2x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, none,
         tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>)
      -> (tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>)
  onnx.return %o#0, %o#1, %o#2
      : tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}

// -----

// Packed rows, and rotation inside: tables of position x (1, 0.01).
decode.weight @qkv : tensor<32x4xf32> from #decode.file<"w", 0, 512>

// CHECK-DAG: decode.weight @[[WQ:weight.*]] : tensor<16x4xf32> from #decode.file<"w", 0, 512> view <tensor<32x4xf32>, 0>
// CHECK-DAG: decode.weight @[[WK:weight.*]] : tensor<8x4xf32> from #decode.file<"w", 0, 512> view <tensor<32x4xf32>, 16>
// CHECK-DAG: decode.weight @[[WV:weight.*]] : tensor<8x4xf32> from #decode.file<"w", 0, 512> view <tensor<32x4xf32>, 24>
// CHECK-LABEL: onnx.graph @group_query(
// CHECK-SAME: -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"}) {
onnx.graph @group_query(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pk: tensor<1x2x?x4xf32> {onnx.name = "pk", onnx.role = "past.key.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %pv: tensor<1x2x?x4xf32> {onnx.name = "pv", onnx.role = "past.value.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>},
    %mask: tensor<1x?xi64> {onnx.name = "mask", onnx.role = "attention_mask",
        onnx.dims = affine_map<()[P] -> (1, P + 2)>})
    -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"},
        tensor<1x2x?x4xf32> {onnx.name = "ok", onnx.role = "present.key.0"},
        tensor<1x2x?x4xf32> {onnx.name = "ov", onnx.role = "present.value.0"}) {
  %w = decode.load @qkv : tensor<32x4xf32>
  %qkv = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<32x4xf32> -> tensor<1x2x32xf32>
  %axis = onnx.constant dense<1> : tensor<1xi64>
  %sum = onnx.node "ReduceSum" since 13 (%mask, %axis)
      attrs {keepdims = 0}
      : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<1xi64>
  %less = onnx.node "Sub" since 14 (%sum, %axis)
      : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %lengths = onnx.node "Cast" since 25 (%less)
      attrs {to = 6}
      : (tensor<1xi64>) -> tensor<1xi32>
  %shape = onnx.node "Shape" since 25 (%mask)
      : (tensor<1x?xi64>) -> tensor<2xi64>
  %s1 = onnx.constant dense<1> : tensor<i64>
  %t64 = onnx.node "Gather" since 13 (%shape, %s1)
      : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %total = onnx.node "Cast" since 25 (%t64)
      attrs {to = 6}
      : (tensor<i64>) -> tensor<i32>
  %cos = onnx.constant dense<[[1.0, 1.0], [0.540302306, 0.999950000], [-0.416146837, 0.999800007]]> : tensor<3x2xf32>
  %sin = onnx.constant dense<[[0.0, 0.0], [0.841470985, 0.00999983333], [0.909297427, 0.0199986667]]> : tensor<3x2xf32>
  %none = onnx.none
  // CHECK-DAG: %[[LQ:.*]] = decode.load @[[WQ]]
  // CHECK-DAG: %[[LK:.*]] = decode.load @[[WK]]
  // CHECK-DAG: %[[LV:.*]] = decode.load @[[WV]]
  // CHECK: %[[RQ:.*]] = decode.rotary %{{.*}}, %arg4, %{{.*}} : tensor<1x2x4x4xf32>
  // CHECK: %[[RK:.*]] = decode.rotary %{{.*}}, %arg4, %{{.*}} : tensor<1x2x2x4xf32>
  // CHECK: %[[K:.*]] = decode.append %[[RK]], %arg4, %arg5 into @layers.0.keys
  // CHECK: %[[V:.*]] = decode.append %{{.*}}, %arg4, %arg5 into @layers.0.values
  // CHECK: decode.attention %[[RQ]], %[[K]], %[[V]], %arg4, %arg5 scale 5.000000e-01 {window = 6 : i64} :
  %o:3 = onnx.node "GroupQueryAttention" in "com.microsoft" since 1
      (%qkv, %none, %none, %pk, %pv, %lengths, %total, %cos, %sin)
      attrs {do_rotary = 1, num_heads = 4, kv_num_heads = 2,
             local_window_size = 6}
      : (tensor<1x2x32xf32>, none, none, tensor<1x2x?x4xf32>,
         tensor<1x2x?x4xf32>, tensor<1xi32>, tensor<i32>, tensor<3x2xf32>,
         tensor<3x2xf32>)
      -> (tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>)
  onnx.return %o#0, %o#1, %o#2
      : tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}

// -----

decode.weight @q : tensor<16x4xf32> from #decode.file<"w", 0, 256>
decode.weight @k : tensor<8x4xf32> from #decode.file<"w", 256, 128>
decode.weight @v : tensor<8x4xf32> from #decode.file<"w", 384, 128>

// Rows of which the first attends to the second, and heads dealt round instead of in
// groups: both stay, and say why.
// CHECK-LABEL: onnx.graph @others(
// CHECK-NOT: decode.attention
// CHECK: onnx.node "Attention" {{.*}} {raise.reason = "row i0 attends to column i1 where 1, expected i1 <= P + i0, with a window or without"}
// CHECK: onnx.node "Attention" {{.*}} {raise.reason = "keys do not serve groups of neighbouring heads, got
onnx.graph @others(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pk: tensor<1x2x?x4xf32> {onnx.name = "pk", onnx.role = "past.key.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %pv: tensor<1x2x?x4xf32> {onnx.name = "pv", onnx.role = "past.value.0",
        onnx.dims = affine_map<()[P] -> (1, 2, P, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x16xf32> {onnx.name = "y", onnx.role = "logits"},
        tensor<1x2x?x4xf32> {onnx.name = "ok", onnx.role = "present.key.0"},
        tensor<1x2x?x4xf32> {onnx.name = "ov", onnx.role = "present.value.0"}) {
  %wq = decode.load @q : tensor<16x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x2x4xf32>, tensor<16x4xf32> -> tensor<1x2x16xf32>
  %wk = decode.load @k : tensor<8x4xf32>
  %k = decode.linear %x, %wk
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %wv = decode.load @v : tensor<8x4xf32>
  %v = decode.linear %x, %wv
      : tensor<1x2x4xf32>, tensor<8x4xf32> -> tensor<1x2x8xf32>
  %two = onnx.constant dense<2> : tensor<1xi64>
  %wide = onnx.constant dense<[1, 1, 2, 1, 1]> : tensor<5xi64>
  %joined = onnx.constant dense<[1, 4, -1, 4]> : tensor<4xi64>
  %s0 = onnx.constant dense<0> : tensor<i64>
  %s1 = onnx.constant dense<1> : tensor<i64>
  %s2 = onnx.constant dense<2> : tensor<i64>
  %qs = onnx.constant dense<[1, 2, 4, 4]> : tensor<4xi64>
  %qr = onnx.node "Reshape" since 25 (%q, %qs)
      : (tensor<1x2x16xf32>, tensor<4xi64>) -> tensor<1x2x4x4xf32>
  %qh = onnx.node "Transpose" since 25 (%qr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x4x4xf32>) -> tensor<1x4x2x4xf32>
  %ks = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %kr = onnx.node "Reshape" since 25 (%k, %ks)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %kh = onnx.node "Transpose" since 25 (%kr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %vs = onnx.constant dense<[1, 2, 2, 4]> : tensor<4xi64>
  %vr = onnx.node "Reshape" since 25 (%v, %vs)
      : (tensor<1x2x8xf32>, tensor<4xi64>) -> tensor<1x2x2x4xf32>
  %vh = onnx.node "Transpose" since 25 (%vr)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %ok = onnx.node "Concat" since 13 (%pk, %kh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %ov = onnx.node "Concat" since 13 (%pv, %vh)
      attrs {axis = -2}
      : (tensor<1x2x?x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x?x4xf32>
  %shape = onnx.node "Shape" since 25 (%ok)
      : (tensor<1x2x?x4xf32>) -> tensor<4xi64>
  %total = onnx.node "Gather" since 13 (%shape, %s2)
      : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %past = onnx.node "Sub" since 14 (%total, %s2)
      : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %column = onnx.node "Range" since 11 (%s0, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %row0 = onnx.node "Range" since 11 (%past, %total, %s1)
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %one = onnx.constant dense<1> : tensor<1xi64>
  %row = onnx.node "Unsqueeze" since 25 (%row0, %one)
      : (tensor<?xi64>, tensor<1xi64>) -> tensor<2x1xi64>
  %ahead = onnx.constant dense<1> : tensor<i64>
  %later = onnx.node "Add" since 14 (%row, %ahead)
      : (tensor<2x1xi64>, tensor<i64>) -> tensor<2x1xi64>
  %mask = onnx.node "LessOrEqual" since 16 (%column, %later)
      : (tensor<?xi64>, tensor<2x1xi64>) -> tensor<2x?xi1>
  %o = onnx.node "Attention" since 24 (%qh, %ok, %ov, %mask)
      : (tensor<1x4x2x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<2x?xi1>) -> tensor<1x4x2x4xf32>
  %dealt = onnx.constant dense<[1, 2, 1, 1]> : tensor<4xi64>
  %kd = onnx.node "Tile" since 13 (%ok, %dealt)
      : (tensor<1x2x?x4xf32>, tensor<4xi64>) -> tensor<1x4x?x4xf32>
  %vd = onnx.node "Tile" since 13 (%ov, %dealt)
      : (tensor<1x2x?x4xf32>, tensor<4xi64>) -> tensor<1x4x?x4xf32>
  %causal = onnx.node "LessOrEqual" since 16 (%column, %row)
      : (tensor<?xi64>, tensor<2x1xi64>) -> tensor<2x?xi1>
  %o2 = onnx.node "Attention" since 24 (%qh, %kd, %vd, %causal)
      : (tensor<1x4x2x4xf32>, tensor<1x4x?x4xf32>, tensor<1x4x?x4xf32>, tensor<2x?xi1>) -> tensor<1x4x2x4xf32>
  %both = onnx.node "Mul" since 14 (%o, %o2)
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
  %ys = onnx.constant dense<[1, 2, 16]> : tensor<3xi64>
  %yt = onnx.node "Transpose" since 25 (%both)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %y = onnx.node "Reshape" since 25 (%yt, %ys)
      : (tensor<1x2x4x4xf32>, tensor<3xi64>) -> tensor<1x2x16xf32>
  onnx.return %y, %ok, %ov
      : tensor<1x2x16xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}
