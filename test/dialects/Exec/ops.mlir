// Every word of the exec dialect survives a round trip.

// RUN: sdc-opt %s | sdc-opt | FileCheck %s
// RUN: sdc-opt %s -mlir-print-op-generic | sdc-opt | FileCheck %s

// CHECK: exec.model "toy" layers 1 hidden 64 vocabulary 256 batch 2 context 128 of 2048 chunk 16
exec.model "toy" layers 1 hidden 64 vocabulary 256 batch 2 context 128 of 2048
    chunk 16
// CHECK: exec.provenance "sdc 0.1.0" flags ["--pattern=16:32"] model "00f1" calibration "ab07" positions [96, 8, 2] notes []
exec.provenance "sdc 0.1.0" flags ["--pattern=16:32"] model "00f1"
    calibration "ab07" positions [96, 8, 2] notes []

// CHECK: exec.segment @weights weights size 40960
exec.segment @weights weights size 40960
// CHECK: exec.segment @code_avx2 code size 4096
exec.segment @code_avx2 code size 4096
// CHECK: exec.segment @text text size 100
exec.segment @text text size 100

// CHECK: exec.weight @embed : tensor<256x64xbf16> size 32768 from #decode.file<"m.data", 0, 65536> view #decode.view<tensor<256x64xf32>, 0> in @weights at 0
exec.weight @embed : tensor<256x64xbf16> size 32768
    from #decode.file<"m.data", 0, 65536>
    view #decode.view<tensor<256x64xf32>, 0> in @weights at 0
// CHECK: exec.weight @layers.0.q : tensor<64x64xbf16> pattern 16 : 32 tile "rows8" size 4608 from #decode.file<"spool", 0, 4608> in @weights at 32768 pruned <"sparsegpt", damping 1.000000e-02, loss 3.500000e+00, relative 2.500000e-02, ["damping raised"]>
exec.weight @layers.0.q : tensor<64x64xbf16> pattern 16 : 32 tile "rows8"
    size 4608 from #decode.file<"spool", 0, 4608> in @weights at 32768
    pruned <"sparsegpt", damping 1.0e-2, loss 3.5, relative 2.5e-2,
            ["damping raised"]>
// CHECK: exec.weight @norm : tensor<64xf32> size 256 from dense<1.000000e+00> : tensor<64xf32> notes ["dense: a vector"]
exec.weight @norm : tensor<64xf32> size 256
    from dense<1.0> : tensor<64xf32> notes ["dense: a vector"]

// CHECK: exec.state @layers.0.keys : tensor<2x1x128x64xbf16> past "past.0" present "present.0"
exec.state @layers.0.keys : tensor<2x1x128x64xbf16> past "past.0"
    present "present.0"

// CHECK: exec.kernel @embed.t2.v256.h64.bf16 scratch 0
exec.kernel @embed.t2.v256.h64.bf16 scratch 0
// CHECK: exec.kernel @append scratch 128
exec.kernel @append scratch 128
// CHECK: exec.image "avx2" in @code_avx2 code 2048 kernels [0, 64]
exec.image "avx2" in @code_avx2 code 2048 kernels [0, 64]

// CHECK-LABEL: exec.entry @decode decode batch 2 rows 1 arena 1024 {
exec.entry @decode decode batch 2 rows 1 arena 1024 {
  // CHECK: %[[TOKENS:.*]] = exec.buffer 8 at 0
  %tokens = exec.buffer 8 at 0
  // CHECK: exec.bind tokens %[[TOKENS]] "input_ids" : tensor<2xi32>
  exec.bind tokens %tokens "input_ids" : tensor<2xi32>
  // CHECK: %[[TABLE:.*]] = exec.weight_ref @embed
  %table = exec.weight_ref @embed
  // CHECK: %[[X:.*]] = exec.buffer 512 at 64
  %x = exec.buffer 512 at 64
  // CHECK: exec.launch @embed.t2.v256.h64.bf16 units 2(in %[[TOKENS]], in %[[TABLE]], out %[[X]]) "embed"
  exec.launch @embed.t2.v256.h64.bf16 units 2
      (in %tokens, in %table, out %x) "embed"
  // CHECK: %[[STATE:.*]] = exec.state_ref @layers.0.keys
  %state = exec.state_ref @layers.0.keys
  // CHECK: %[[PARAMS:.*]] = exec.params
  %params = exec.params
  // CHECK: exec.launch @append units 4(in %[[X]], in %[[PARAMS]], inout %[[STATE]]) "layers.0.keys"
  exec.launch @append units 4(in %x, in %params, inout %state) "layers.0.keys"
}

// CHECK-LABEL: exec.entry @prefill prefill batch 1 rows 16 all_logits {
exec.entry @prefill prefill batch 1 rows 16 all_logits {
  %x = exec.buffer 64
  // CHECK: exec.bind tap %{{.*}} "layers.0.attn_in" : tensor<2x8xf32>
  exec.bind tap %x "layers.0.attn_in" : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: exec.group -> tensor<2xf32> {
  %y = exec.group -> tensor<2xf32> {
    %0 = arith.addf %x, %x : tensor<2xf32>
    // CHECK: exec.yield %{{.*}} : tensor<2xf32>
    exec.yield %0 : tensor<2xf32>
  }
  // CHECK: exec.group {
  exec.group {
  }
  return %y : tensor<2xf32>
}
