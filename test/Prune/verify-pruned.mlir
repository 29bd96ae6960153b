// RUN: sdc-opt %s -verify-diagnostics -verify-pruned

decode.weight @a : tensor<4x4xf32> from #decode.file<"f", 0, 64>
    {nm.report = #nm.report<2:4, "magnitude", damping 0.0, loss 0.0, relative 0.0>}
decode.weight @b : tensor<4x4xf32> from #decode.file<"f", 0, 64>
    {nm.report = #nm.report<dense, "none", damping 0.0, loss 0.0, relative 0.0>}
decode.weight @c : tensor<4x4xf32> from #decode.file<"f", 0, 64>

func.func @decode(%x: tensor<1x1x4xf32>) {
  %a = decode.load @a : tensor<4x4xf32>
  %b = decode.load @b : tensor<4x4xf32>
  %c = decode.load @c : tensor<4x4xf32>
  // expected-error @+1 {{is left after prune}}
  %m = decode.record %x "head_in" : tensor<1x1x4xf32>
  %0 = nm.linear %x, %a pattern <2:4>
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  // expected-error @+1 {{has the pattern 1:4, the report of its weight says 2:4}}
  %1 = nm.linear %x, %a pattern <1:4>
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  // expected-error @+1 {{is dense without a reason}}
  %2 = decode.linear %x, %b
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  // expected-error @+1 {{its weight has no report}}
  %3 = decode.linear %x, %c
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  return
}
