// RUN: sdc-opt %s -verify-diagnostics -verify-packed

// expected-error @+1 {{expected bytes of a file, without a view}}
decode.weight @a : tensor<2x2xf32> from #decode.random<7>
// expected-error @+1 {{expected bytes of a file, without a view}}
decode.weight @b : tensor<2x2xf32> from #decode.file<"f", 0, 16>
    view #decode.view<tensor<2x2xf32>, 0, transposed>
decode.weight @c : tensor<2x2xf32> from #decode.file<"f", 0, 16>
// expected-error @+1 {{expected bytes of a file}}
nm.weight @d : !nm.packed<1x5xf32, 1:2, rows1> from dense<0> : tensor<128xi8>

func.func @decode(%x: tensor<1x1x2xf32>, %p: !nm.packed<2x2xf32, 1:2, rows8>) {
  %w = decode.load @c : tensor<2x2xf32>
  // expected-error @+1 {{is left after pack, expected an nm.linear}}
  %0 = decode.linear %x, %w
      : tensor<1x1x2xf32>, tensor<2x2xf32> -> tensor<1x1x2xf32>
  // expected-error @+1 {{the weight is not packed}}
  %1 = nm.linear %x, %w pattern <1:2>
      : tensor<1x1x2xf32>, tensor<2x2xf32> -> tensor<1x1x2xf32>
  // expected-error @+1 {{expected decode.load to give the weight}}
  %2 = nm.linear %x, %p
      : tensor<1x1x2xf32>, !nm.packed<2x2xf32, 1:2, rows8> -> tensor<1x1x2xf32>
  return
}
