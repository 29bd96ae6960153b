// Rotations in many spellings: the elements say that they are ones.
// RUN: sdc-opt %s --raise-rotary -split-input-file | FileCheck %s

// CHECK: decode.weight @[[F:.*]] : tensor<2xf32> from dense<[1.000000e+00, 0.00999999977]>
decode.weight @q : tensor<12x4xf32> from #decode.file<"w", 0, 192>

// rotate_half: x cos + (-x2, x1) sin, heads first, angles from position_ids.
// CHECK-LABEL: onnx.graph @rotate_half(
// CHECK-SAME: %[[X:arg1]]: tensor<1x2x4xf32>
// CHECK-SAME: %[[P:arg3]]: tensor<1x2xi32>
onnx.graph @rotate_half(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pos: tensor<1x2xi64> {onnx.name = "pos", onnx.role = "position_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x3x2x4xf32> {onnx.name = "a", onnx.role = "logits"}) {
  %w = decode.load @q : tensor<12x4xf32>
  // CHECK: %[[Q:.*]] = decode.linear %[[X]]
  // CHECK: %[[H:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x2x3x4xf32>
  %l = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<12x4xf32> -> tensor<1x2x12xf32>
  %sizes = onnx.constant dense<[1, 2, -1, 4]> : tensor<4xi64>
  %h = onnx.node "Reshape" since 25 (%l, %sizes)
      : (tensor<1x2x12xf32>, tensor<4xi64>) -> tensor<1x2x3x4xf32>
  %t = onnx.node "Transpose" since 25 (%h)
      attrs {perm = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x3x4xf32>) -> tensor<1x3x2x4xf32>
  %two = onnx.constant dense<2> : tensor<1xi64>
  %one = onnx.constant dense<1> : tensor<1xi64>
  %zero = onnx.constant dense<0> : tensor<1xi64>
  %three = onnx.constant dense<3> : tensor<1xi64>
  %far = onnx.constant dense<9223372036854775807> : tensor<1xi64>
  // 10000^(-j/2); the second is f32 noise away.
  %inv = onnx.constant dense<[1.0, 0.01000000047]> : tensor<2xf32>
  %p0 = onnx.node "Unsqueeze" since 25 (%pos, %two)
      : (tensor<1x2xi64>, tensor<1xi64>) -> tensor<1x2x1xi64>
  %p1 = onnx.node "Cast" since 25 (%p0)
      attrs {to = 1}
      : (tensor<1x2x1xi64>) -> tensor<1x2x1xf32>
  %p2 = onnx.node "Mul" since 14 (%p1, %inv)
      : (tensor<1x2x1xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  %p3 = onnx.node "Concat" since 13 (%p2, %p2)
      attrs {axis = -1}
      : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x4xf32>
  %c = onnx.node "Cos" since 22 (%p3)
      : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %s = onnx.node "Sin" since 22 (%p3)
      : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %c1 = onnx.node "Unsqueeze" since 25 (%c, %one)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x1x2x4xf32>
  %s1 = onnx.node "Unsqueeze" since 25 (%s, %one)
      : (tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x1x2x4xf32>
  %m0 = onnx.node "Mul" since 14 (%t, %c1)
      : (tensor<1x3x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x3x2x4xf32>
  %lo = onnx.node "Slice" since 13 (%t, %zero, %two, %three)
      : (tensor<1x3x2x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x2x2xf32>
  %hi = onnx.node "Slice" since 13 (%t, %two, %far, %three)
      : (tensor<1x3x2x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x2x2xf32>
  %n = onnx.node "Neg" since 13 (%hi)
      : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  %r = onnx.node "Concat" since 13 (%n, %lo)
      attrs {axis = -1}
      : (tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>) -> tensor<1x3x2x4xf32>
  %m1 = onnx.node "Mul" since 14 (%r, %s1)
      : (tensor<1x3x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x3x2x4xf32>
  // CHECK: %[[FREQ:.*]] = decode.load @[[F]]
  // CHECK: %[[Y:.*]] = decode.rotary %[[H]], %[[P]], %[[FREQ]] : tensor<1x2x3x4xf32>
  // CHECK: %[[T:.*]] = onnx.node "Transpose" {{.*}}(%[[Y]])
  %a = onnx.node "Add" since 14 (%m0, %m1)
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  // CHECK: onnx.return %[[T]]
  onnx.return %a : tensor<1x3x2x4xf32>
}

// -----

// The operators, on heads as columns; interleaved, and half of each head only.
decode.weight @q : tensor<12x4xf32> from #decode.file<"w", 0, 192>

// CHECK-LABEL: onnx.graph @operators(
onnx.graph @operators(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %pos: tensor<1x2xi64> {onnx.name = "pos", onnx.role = "position_ids",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x12xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x12xf32> {onnx.name = "b", onnx.role = "other.b"},
        tensor<1x2x12xf32> {onnx.name = "d", onnx.role = "other.d"}) {
  %w = decode.load @q : tensor<12x4xf32>
  %l = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<12x4xf32> -> tensor<1x2x12xf32>
  // cos and sin of position x (1, 0.01) for positions 0, 1, 2.
  %cos = onnx.constant dense<[[1.0, 1.0], [0.540302306, 0.999950000], [-0.416146837, 0.999800007]]> : tensor<3x2xf32>
  %sin = onnx.constant dense<[[0.0, 0.0], [0.841470985, 0.00999983333], [0.909297427, 0.0199986667]]> : tensor<3x2xf32>
  // CHECK: %[[A:.*]] = decode.rotary %{{.*}}, %arg3, %{{.*}} : tensor<1x2x3x4xf32>, tensor<1x2xi32>, tensor<2xf32>
  %a = onnx.node "RotaryEmbedding" since 23 (%l, %cos, %sin, %pos)
      attrs {num_heads = 3}
      : (tensor<1x2x12xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<1x2xi64>) -> tensor<1x2x12xf32>
  // CHECK: decode.rotary %{{.*}}, %arg3, %{{.*}} {interleaved} : tensor<1x2x3x4xf32>
  %b = onnx.node "RotaryEmbedding" in "com.microsoft" since 1 (%l, %pos, %cos, %sin)
      attrs {interleaved = 1}
      : (tensor<1x2x12xf32>, tensor<1x2xi64>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<1x2x12xf32>
  %cos1 = onnx.constant dense<[[1.0], [0.540302306], [-0.416146837]]> : tensor<3x1xf32>
  %sin1 = onnx.constant dense<[[0.0], [0.841470985], [0.909297427]]> : tensor<3x1xf32>
  // CHECK: decode.rotary %{{.*}}, %arg3, %{{.*}} : tensor<1x2x3x4xf32>, tensor<1x2xi32>, tensor<1xf32>
  %d = onnx.node "RotaryEmbedding" since 23 (%l, %cos1, %sin1, %pos)
      attrs {num_heads = 3, rotary_embedding_dim = 2}
      : (tensor<1x2x12xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<1x2xi64>) -> tensor<1x2x12xf32>
  onnx.return %a, %b, %d
      : tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>
}

// -----

// Tables that hold something else, and positions that are not the rows'.
decode.weight @q : tensor<12x4xf32> from #decode.file<"w", 0, 192>

// CHECK-LABEL: onnx.graph @others(
// CHECK-NOT: decode.rotary
onnx.graph @others(
    %ids: tensor<1x2xi64> {onnx.name = "input_ids", onnx.role = "input_ids",
                           onnx.dims = affine_map<()[P] -> (1, 2)>},
    %x: tensor<1x2x4xf32> {onnx.name = "x", onnx.role = "other.x",
        onnx.dims = affine_map<()[P] -> (1, 2, 4)>},
    %positions: tensor<1x2xi32> {onnx.name = "positions", onnx.role = "row_positions",
        onnx.dims = affine_map<()[P] -> (1, 2)>},
    %slots: tensor<1xi32> {onnx.name = "slots", onnx.role = "row_slots",
        onnx.dims = affine_map<()[P] -> (1)>})
    -> (tensor<1x2x12xf32> {onnx.name = "a", onnx.role = "logits"},
        tensor<1x2x12xf32> {onnx.name = "b", onnx.role = "other.b"}) {
  %w = decode.load @q : tensor<12x4xf32>
  %l = decode.linear %x, %w
      : tensor<1x2x4xf32>, tensor<12x4xf32> -> tensor<1x2x12xf32>
  %pos = onnx.constant dense<[[0, 1]]> : tensor<1x2xi64>
  %good = onnx.constant dense<[[1.0], [0.540302306], [-0.416146837]]> : tensor<3x1xf32>
  %bad = onnx.constant dense<[[0.0], [0.841470985], [0.9]]> : tensor<3x1xf32>
  %a = onnx.node "RotaryEmbedding" since 23 (%l, %good, %bad, %pos)
      attrs {num_heads = 3, rotary_embedding_dim = 2}
      : (tensor<1x2x12xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<1x2xi64>) -> tensor<1x2x12xf32>
  %sin = onnx.constant dense<[[0.0], [0.841470985], [0.909297427]]> : tensor<3x1xf32>
  %b = onnx.node "RotaryEmbedding" since 23 (%l, %good, %sin, %pos)
      attrs {num_heads = 3, rotary_embedding_dim = 2}
      : (tensor<1x2x12xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<1x2xi64>) -> tensor<1x2x12xf32>
  onnx.return %a, %b : tensor<1x2x12xf32>, tensor<1x2x12xf32>
}
