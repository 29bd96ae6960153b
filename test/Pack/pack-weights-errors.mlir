// RUN: sdc-opt %s -split-input-file -verify-diagnostics \
// RUN:   -pack-weights="spool=%t.spool"

// Every weight with a fault is named, not the first alone.
// expected-error @below {{layers.0.k: row 1, column 0: group has 2 non-zeros, expected at most 1}}
// expected-error @below {{layers.0.q: row 0, column 1: value inf is not finite in bf16}}
module {
decode.weight @layers.0.k : tensor<2x2xf32>
    from dense<[[1.0, 0.0], [3.0, 4.0]]> : tensor<2x2xf32>
decode.weight @layers.0.q : tensor<1x2xf32>
    from dense<[[0.0, 0x7F800000]]> : tensor<1x2xf32>
func.func @decode(%x: tensor<1x1x2xf32>)
    -> (tensor<1x1x2xf32>, tensor<1x1x1xf32>) {
  %wk = decode.load @layers.0.k : tensor<2x2xf32>
  %wq = decode.load @layers.0.q : tensor<1x2xf32>
  %k = nm.linear %x, %wk pattern <1:2>
      : tensor<1x1x2xf32>, tensor<2x2xf32> -> tensor<1x1x2xf32>
  %q = nm.linear %x, %wq pattern <1:2>
      : tensor<1x1x2xf32>, tensor<1x2xf32> -> tensor<1x1x1xf32>
  return %k, %q : tensor<1x1x2xf32>, tensor<1x1x1xf32>
}
}

// -----

// expected-error @+1 {{no-such-file: No such file or directory}}
decode.weight @head : tensor<2x2xf32> from #decode.file<"no-such-file", 0, 16>
func.func @decode(%x: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %w = decode.load @head : tensor<2x2xf32>
  %y = decode.linear %x, %w
      : tensor<1x1x2xf32>, tensor<2x2xf32> -> tensor<1x1x2xf32>
  return %y : tensor<1x1x2xf32>
}

// -----

decode.weight @head : tensor<1x2xf32> from dense<0.0> : tensor<1x2xf32>
func.func @decode(%x: tensor<1x1x2xf32>)
    -> (tensor<1x1x1xf32>, tensor<1x1x1xf32>) {
  %w = decode.load @head : tensor<1x2xf32>
  %y = decode.linear %x, %w
      : tensor<1x1x2xf32>, tensor<1x2xf32> -> tensor<1x1x1xf32>
  // expected-error @+1 {{the pattern is 1:2 here and dense for another linear of the weight}}
  %z = nm.linear %x, %w pattern <1:2>
      : tensor<1x1x2xf32>, tensor<1x2xf32> -> tensor<1x1x1xf32>
  return %y, %z : tensor<1x1x1xf32>, tensor<1x1x1xf32>
}
