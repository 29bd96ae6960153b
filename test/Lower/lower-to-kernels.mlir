// Functions become entries: one launch for each group and each lone op, with
// the operands in the order of kernels/Spec.

// RUN: sdc-opt %s -split-input-file -verify-diagnostics -lower-to-kernels | FileCheck %s

// Layers by the names of weights, the rest by types; 2048 from the module.
// CHECK: exec.model "toy" layers 3 hidden 64 vocabulary 256 batch 2 context 128 of 2048 chunk 4
module @toy attributes {decode.model_context = 2048} {

// Kernels come first, each once.
// CHECK: exec.kernel @embed.t2.v256.h64.bf16 scratch 0

// CHECK: exec.weight @embed : tensor<256x64xbf16> size 32768 from #decode.random<1>{{$}}
decode.weight @embed : tensor<256x64xbf16> from #decode.random<1>
// CHECK-NEXT: exec.weight @layers.2.q : tensor<64x64xbf16> pattern 2 : 4 tile "rows8" size 4608 from #decode.file<"s", 0, 4608> pruned <"magnitude", damping 0.000000e+00, loss 2.000000e+00, relative 5.000000e-01, ["padded"]>
nm.weight @layers.2.q : !nm.packed<64x64xbf16, 2:4, rows8>
    from #decode.file<"s", 0, 4608>
    report <2:4, "magnitude", damping 0.0, loss 2.0, relative 0.5,
            notes "padded">
// A weight that nothing loads is not in the executable.
// CHECK-NOT: @unused
decode.weight @unused : tensor<64xf32> from #decode.random<1>
// CHECK-NEXT: exec.weight @head : tensor<256x64xbf16> tile "rows8" size 32768 from #decode.file<"s", 4608, 32768> notes ["dense by default"]
nm.weight @head : !nm.packed<256x64xbf16, dense, rows8>
    from #decode.file<"s", 4608, 32768>
    report <dense, "none", damping 0.0, loss 0.0, relative 0.0,
            notes "dense by default">
// CHECK-NEXT: exec.state @keys : tensor<2x1x128x64xf16> past "pk" present "k"
decode.state @keys : !decode.cache<2x1x128x64xf16> past "pk" present "k"
decode.state @values : !decode.cache<2x1x128x64xf16> past "pv" present "v"

// A batch of two: positions let the linears skip slots that take no part.
// CHECK-LABEL: exec.entry @decode decode batch 2 rows 1 {
// CHECK: %[[TOKENS:.*]] = exec.buffer 8
// CHECK: exec.bind tokens %[[TOKENS]] "ids" : tensor<2xi32>
// CHECK: exec.bind positions %[[POSITIONS:.*]] "position_ids" : tensor<2xi32>
// CHECK: exec.bind slots %[[SLOTS:.*]] "slots" : tensor<2xi32>
// CHECK: %[[TABLE:.*]] = exec.weight_ref @embed
// CHECK: %[[X:.*]] = exec.buffer 512
// CHECK: exec.launch @embed.t2.v256.h64.bf16 units 2(in %[[TOKENS]], in %[[TABLE]], out %[[X]]) "embed"
// CHECK: exec.launch @linear.t2.k64.active.w64_2of4_bf16_rows8.add units 8(in %[[X]], in %[[POSITIONS]], in %{{.*}}, in %[[X]], out %[[Q:.*]]) "layers.2.q"
// CHECK: exec.launch @rotary.t2.k1_64_f16.v1_64_f16 units 2(in %[[POSITIONS]], in %[[SLOTS]], in %[[PARAMS:.*]], in %[[Q]], inout %[[K:.*]], in %[[Q]], inout %[[V:.*]]) "keys values"
// CHECK: exec.launch @attention.t2.q1_64.k1_f16.v64_f16.scale0p125 units 2(in %[[Q]], in %[[K]], in %[[V]], in %[[POSITIONS]], in %[[SLOTS]], in %[[PARAMS]], out %[[A:.*]]) "attention keys"
// CHECK: exec.launch @linear.t2.k64.active.w256_dense_bf16_rows8 units 32(in %[[A]], in %[[POSITIONS]], in %{{.*}}, out %[[Y:.*]]) "head"
// CHECK: exec.bind logits %[[Y]] "logits" : tensor<2x256xf32>
func.func @decode(%tokens: tensor<2x1xi64> {decode.name = "ids"},
                  %positions: tensor<2x1xi32>, %slots: tensor<2xi32>)
    -> tensor<2x1x256xf32> attributes {decode.entry = "decode"} {
  %table = decode.load @embed : tensor<256x64xbf16>
  %x = decode.embed %tokens, %table
      : tensor<2x1xi64>, tensor<256x64xbf16> -> tensor<2x1x64xf32>
  %w = decode.load @layers.2.q : !nm.packed<64x64xbf16, 2:4, rows8>
  %q = exec.group -> tensor<2x1x64xf32> {
    %0 = nm.linear %x, %w : tensor<2x1x64xf32>,
        !nm.packed<64x64xbf16, 2:4, rows8> -> tensor<2x1x64xf32>
    %1 = arith.addf %0, %x : tensor<2x1x64xf32>
    exec.yield %1 : tensor<2x1x64xf32>
  }
  %h = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 1, 1, 64]
      : tensor<2x1x64xf32> into tensor<2x1x1x64xf32>
  %kv:2 = exec.group -> !decode.cache<2x1x128x64xf16>,
                        !decode.cache<2x1x128x64xf16> {
    %0 = decode.append %h, %positions, %slots into @keys
        : tensor<2x1x1x64xf32>, tensor<2x1xi32>, tensor<2xi32>
        -> !decode.cache<2x1x128x64xf16>
    %1 = decode.append %h, %positions, %slots into @values
        : tensor<2x1x1x64xf32>, tensor<2x1xi32>, tensor<2xi32>
        -> !decode.cache<2x1x128x64xf16>
    exec.yield %0, %1
        : !decode.cache<2x1x128x64xf16>, !decode.cache<2x1x128x64xf16>
  }
  %a = decode.attention %h, %kv#0, %kv#1, %positions, %slots scale 0.125
      : tensor<2x1x1x64xf32>, !decode.cache<2x1x128x64xf16>,
        !decode.cache<2x1x128x64xf16>, tensor<2x1xi32>, tensor<2xi32>
      -> tensor<2x1x1x64xf32>
  %b = tensor.collapse_shape %a [[0], [1], [2, 3]]
      : tensor<2x1x1x64xf32> into tensor<2x1x64xf32>
  %head = decode.load @head : !nm.packed<256x64xbf16, dense, rows8>
  %y = nm.linear %b, %head : tensor<2x1x64xf32>,
      !nm.packed<256x64xbf16, dense, rows8> -> tensor<2x1x256xf32>
  return %y : tensor<2x1x256xf32>
}

// A recorded value is a tap; the logits of all rows are asked for.
// CHECK-LABEL: exec.entry @prefill prefill batch 1 rows 4 all_logits {
// CHECK: exec.launch @embed.t4.v256.h64.bf16 units 4(in %{{.*}}, in %{{.*}}, out %[[X:.*]]) "embed"
// CHECK-NEXT: exec.bind tap %[[X]] "head_in" : tensor<4x64xf32>
// CHECK: exec.launch @linear.t4.k64.active.w256_dense_bf16_rows8 units 32(in %[[X]],
// CHECK: exec.bind logits %{{.*}} "logits" : tensor<4x256xf32>
func.func @prefill(%tokens: tensor<1x4xi64>, %positions: tensor<1x4xi32>,
                   %slots: tensor<1xi32>) -> tensor<1x4x256xf32>
    attributes {decode.entry = "prefill"} {
  %table = decode.load @embed : tensor<256x64xbf16>
  %x = decode.embed %tokens, %table
      : tensor<1x4xi64>, tensor<256x64xbf16> -> tensor<1x4x64xf32>
  %r = decode.record %x "head_in" : tensor<1x4x64xf32>
  %head = decode.load @head : !nm.packed<256x64xbf16, dense, rows8>
  %y = nm.linear %r, %head : tensor<1x4x64xf32>,
      !nm.packed<256x64xbf16, dense, rows8> -> tensor<1x4x256xf32>
  return %y : tensor<1x4x256xf32>
}
}

// -----

// A long context is split where rows x heads are few: 9 heads, 4096 positions,
// 8 splits of 512; the partials are 4 x 9 x 8 x (64 + 2) bytes.
// CHECK-LABEL: exec.entry @split
// CHECK: %[[P:.*]] = exec.buffer 19008
// CHECK: exec.launch @attention.t1.q9_64.k3_bf16.v64_bf16.scale0p125.split8_512 units 72({{.*}}, out %[[P]])
// CHECK: exec.launch @combine.t1.q9_64.split8 units 9(in %[[P]], out %{{.*}})
decode.state @keys : !decode.cache<1x3x4096x64xbf16> past "" present ""
func.func @split(%tokens: tensor<1x1xi64>, %positions: tensor<1x1xi32>,
                 %slots: tensor<1xi32>) -> tensor<1x1x9x64xf32>
    attributes {decode.entry = "decode"} {
  %q = arith.constant dense<1.0> : tensor<1x1x9x64xf32>
  %k = arith.constant dense<2.0> : tensor<1x1x3x64xf32>
  %c = decode.append %k, %positions, %slots into @keys
      : tensor<1x1x3x64xf32>, tensor<1x1xi32>, tensor<1xi32>
      -> !decode.cache<1x3x4096x64xbf16>
  %y = decode.attention %q, %c, %c, %positions, %slots scale 0.125
      : tensor<1x1x9x64xf32>, !decode.cache<1x3x4096x64xbf16>,
        !decode.cache<1x3x4096x64xbf16>, tensor<1x1xi32>, tensor<1xi32>
      -> tensor<1x1x9x64xf32>
  return %y : tensor<1x1x9x64xf32>
}

// -----

// A plain graph: tensors by their names, no positions.
// CHECK-LABEL: exec.entry @plain plain batch 1 rows 1 {
// CHECK: exec.bind input %[[X:.*]] "x" : tensor<2x3x64xf32>
// CHECK: exec.launch @linear.t6.k64.w32_dense_f32_rows8 units 4(in %[[X]], in %{{.*}}, out %[[Y:.*]]) "w"
// CHECK: exec.bind output %[[Y]] "output0" : tensor<2x3x32xf32>
nm.weight @w : !nm.packed<32x64xf32, dense, rows8>
    from #decode.file<"s", 0, 8192>
func.func @plain(%x: tensor<2x3x64xf32> {decode.name = "x"})
    -> tensor<2x3x32xf32> {
  %w = decode.load @w : !nm.packed<32x64xf32, dense, rows8>
  %y = nm.linear %x, %w : tensor<2x3x64xf32>,
      !nm.packed<32x64xf32, dense, rows8> -> tensor<2x3x32xf32>
  return %y : tensor<2x3x32xf32>
}

// -----

// All that no kernel computes is said, each once.
func.func @unknown(%x: tensor<1x1x64xf32>) -> tensor<1x1x64xf32> {
  // expected-error@+1 {{no kernel computes it}}
  %0 = arith.mulf %x, %x : tensor<1x1x64xf32>
  // expected-error@+1 {{no kernel computes it}}
  %1 = arith.divf %x, %x : tensor<1x1x64xf32>
  %2 = arith.addf %0, %1 : tensor<1x1x64xf32>
  return %2 : tensor<1x1x64xf32>
}

// -----

func.func @unpacked(%x: tensor<1x1x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<1x1x64xf32> {
  // expected-error@+1 {{the weight is not packed}}
  %0 = nm.linear %x, %w pattern <2:4> : tensor<1x1x64xf32>, tensor<64x64xf32>
      -> tensor<1x1x64xf32>
  return %0 : tensor<1x1x64xf32>
}

// -----

// expected-error@+1 {{an entry has tokens, positions and slots}}
func.func @arguments(%x: tensor<1x1xi64>) -> tensor<1x1xi64>
    attributes {decode.entry = "decode"} {
  return %x : tensor<1x1xi64>
}

// -----

func.func @constant() -> tensor<4xf32> {
  %x = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error@+1 {{result 0 is a constant or a state, which no launch gives}}
  return %x : tensor<4xf32>
}

// -----

// A table that is the packed weight of the head.
// CHECK: exec.model "model" layers 0 hidden 64
// CHECK-LABEL: exec.entry @tied
// CHECK: %[[TABLE:.*]] = exec.weight_ref @head
// CHECK: exec.launch @embed.t3.v256.h64.bf16_rows8.scale8 units 3(in %{{.*}}, in %[[TABLE]], out %{{.*}}) "embed"
nm.weight @head : !nm.packed<256x64xbf16, dense, rows8>
    from #decode.file<"s", 0, 32768>
func.func @tied(%tokens: tensor<1x3xi64>, %positions: tensor<1x3xi32>,
                %slots: tensor<1xi32>) -> tensor<1x3x64xf32>
    attributes {decode.entry = "prefill"} {
  %table = decode.load @head : !nm.packed<256x64xbf16, dense, rows8>
  %x = nm.embed %tokens, %table {scale = 8.0}
      : tensor<1x3xi64>, !nm.packed<256x64xbf16, dense, rows8>
      -> tensor<1x3x64xf32>
  return %x : tensor<1x3x64xf32>
}
