// What the verifiers of nm refuse, by the number of the constraint.
// RUN: sdc-opt %s -split-input-file -verify-diagnostics

// #nm.pattern (C1)
// expected-error @+1 {{pattern 4:2 keeps 4 of 2, expected 1 <= N < M (N counts kept weights)}}
func.func private @f(tensor<1xf32> {x = #nm.pattern<4:2>})

// -----

// expected-error @+1 {{pattern 0:4 keeps nothing, expected 1 <= N < M}}
func.func private @f(tensor<1xf32> {x = #nm.pattern<0:4>})

// -----

// expected-error @+1 {{pattern 3:7 has groups of 7, expected 2, 4, 8, 16 or 32}}
func.func private @f(tensor<1xf32> {x = #nm.pattern<3:7>})

// -----

// !nm.packed (C1)
// expected-error @+1 {{expected values of f32, f16 or bf16, got 'i4'}}
func.func private @f(!nm.packed<4x32xi4, 2:4, rows8>)

// -----

// expected-error @+1 {{tile 'lanes16' is not known, expected rows1, rows2, rows4, rows8, rows16, lanes32 or mma16}}
func.func private @f(!nm.packed<4x32xf32, 2:4, lanes16>)

// -----

// expected-error @+1 {{tile mma16 holds dense and 2:4 weights of f16 and bf16, not 4:8 of bf16}}
func.func private @f(!nm.packed<4x32xbf16, 4:8, mma16>)

// -----

// expected-error @+1 {{expected rows x K x type, got 3 sizes}}
func.func private @f(!nm.packed<4x32x2xf32, 2:4, rows8>)

// -----

// expected-error @+1 {{a weight of 0 x 32 cannot be packed}}
func.func private @f(!nm.packed<0x32xf32, 2:4, rows8>)

// -----

// nm.weight (C1)
// expected-error @+1 {{expected a !nm.packed, got 'tensor<4x32xf32>'}}
nm.weight @w : tensor<4x32xf32> from #decode.file<"f", 0, 512>

// -----

// nm.weight (C2): one block of two rows is 2 * (4 + 16 * 4) = 136 bytes, padded
// to 192.
// expected-error @+1 {{the source has 136 bytes, '!nm.packed<2x32xf32, 2:4, rows2>' takes 192}}
nm.weight @w : !nm.packed<2x32xf32, 2:4, rows2> from #decode.file<"f", 0, 136>

// -----

// nm.weight (C2)
// expected-error @+1 {{expected #decode.file or elements of i8 as the source, got #decode.random<7>}}
nm.weight @w : !nm.packed<2x32xf32, 2:4, rows2> from #decode.random<7>

// -----

// nm.linear (C1)
func.func @f(%x: tensor<1x1x64xf32>, %w: !nm.packed<8x32xf32, 2:4, rows8>) {
  // expected-error @+1 {{K is 64 in x and 32 in the weight}}
  %0 = nm.linear %x, %w : tensor<1x1x64xf32>, !nm.packed<8x32xf32, 2:4, rows8>
      -> tensor<1x1x8xf32>
  return
}

// -----

// nm.linear (C1)
func.func @f(%x: tensor<1x2x32xf32>, %w: !nm.packed<8x32xf32, 2:4, rows8>) {
  // expected-error @+1 {{expected a result of 1x2x8}}
  %0 = nm.linear %x, %w : tensor<1x2x32xf32>, !nm.packed<8x32xf32, 2:4, rows8>
      -> tensor<1x1x8xf32>
  return
}

// -----

// nm.linear (C2)
func.func @f(%x: tensor<1x1x32xf32>, %w: !nm.packed<8x32xf32, 2:4, rows8>,
             %b: tensor<9xf32>) {
  // expected-error @+1 {{expected a bias of 8 elements}}
  %0 = nm.linear %x, %w bias %b
      : tensor<1x1x32xf32>, !nm.packed<8x32xf32, 2:4, rows8>
        bias tensor<9xf32> -> tensor<1x1x8xf32>
  return
}

// -----

// nm.linear (C3)
func.func @f(%x: tensor<1x1x32xf32>, %w: !nm.packed<8x32xf32, 2:4, rows8>) {
  // expected-error @+1 {{the type of a packed weight says its pattern; expected no pattern beside it}}
  %0 = nm.linear %x, %w pattern <2:4>
      : tensor<1x1x32xf32>, !nm.packed<8x32xf32, 2:4, rows8>
      -> tensor<1x1x8xf32>
  return
}

// -----

// nm.linear (C3)
func.func @f(%x: tensor<1x1x32xf32>, %w: tensor<8x32xf32>) {
  // expected-error @+1 {{expected a pattern for a weight that is not packed}}
  %0 = nm.linear %x, %w
      : tensor<1x1x32xf32>, tensor<8x32xf32> -> tensor<1x1x8xf32>
  return
}

// -----

// nm.linear (C3)
func.func @f(%x: tensor<1x1x32xf32>, %w: tensor<8x32xf32>) {
  // expected-error @+1 {{a dense weight that is not packed belongs to decode.linear}}
  %0 = nm.linear %x, %w pattern <dense>
      : tensor<1x1x32xf32>, tensor<8x32xf32> -> tensor<1x1x8xf32>
  return
}

// -----

// nm.mask (C1)
func.func @f(%w: tensor<8x33xf32>) {
  // expected-error @+1 {{expected a result of 8x2xi32}}
  %0 = nm.mask %w pattern <2:4> : tensor<8x33xf32> -> tensor<8x1xi32>
  return
}

// -----

// nm.mask (C2)
func.func @f(%w: tensor<8x32xf32>) {
  // expected-error @+1 {{expected a pattern for a weight that is not packed}}
  %0 = nm.mask %w : tensor<8x32xf32> -> tensor<8x1xi32>
  return
}

// -----

// nm.pack (C1)
func.func @f(%w: tensor<31x64xf32>) {
  // expected-error @+1 {{expected a weight of 32x64, got 'tensor<31x64xf32>'}}
  %0 = nm.pack %w : tensor<31x64xf32> -> !nm.packed<32x64xf32, 2:4, rows8>
  return
}

// -----

// nm.pack (C2)
func.func @f(%w: tensor<8x32xf32>, %m: tensor<8x2xi32>) {
  // expected-error @+1 {{expected a mask of 8x1xi32}}
  %0 = nm.pack %w mask %m : tensor<8x32xf32>, tensor<8x2xi32>
      -> !nm.packed<8x32xf32, 2:4, rows8>
  return
}

// -----

// nm.pack (C2)
func.func @f(%w: tensor<8x32xf32>, %m: tensor<8x1xi32>) {
  // expected-error @+1 {{a dense pattern has no mask}}
  %0 = nm.pack %w mask %m : tensor<8x32xf32>, tensor<8x1xi32>
      -> !nm.packed<8x32xf32, dense, rows8>
  return
}

// -----

// nm.unpack (C1)
func.func @f(%p: !nm.packed<8x32xbf16, 2:4, rows8>) {
  // expected-error @+1 {{expected a result of 'tensor<8x32xbf16>'}}
  %0 = nm.unpack %p : !nm.packed<8x32xbf16, 2:4, rows8> -> tensor<8x32xf32>
  return
}

// -----

// nm.embed (C1)
func.func @f(%ids: tensor<1x2xi64>, %p: !nm.packed<8x64xf32, dense, rows8>) {
  // expected-error @+1 {{expected a result of 'tensor<1x2x64xf32>'}}
  %0 = nm.embed %ids, %p
      : tensor<1x2xi64>, !nm.packed<8x64xf32, dense, rows8>
      -> tensor<1x2x8xf32>
  return
}

// -----

// nm.embed (C2)
func.func @f(%ids: tensor<1x2xi64>, %p: !nm.packed<8x64xf32, 2:4, rows8>) {
  // expected-error @+1 {{expected a dense table, got '!nm.packed<8x64xf32, 2:4, rows8>'}}
  %0 = nm.embed %ids, %p
      : tensor<1x2xi64>, !nm.packed<8x64xf32, 2:4, rows8> -> tensor<1x2x64xf32>
  return
}
