// Weights are named by what reads them, in the order in which they are read.
// RUN: sdc-opt %s --name-weights | FileCheck %s

// CHECK:      decode.weight @embed : tensor<8x4xf32> from #decode.file<"w", 256, 128>
// CHECK-NEXT: decode.weight @layers.7.attn_norm : tensor<4xf32> from #decode.file<"w", 384, 16>
// CHECK-NEXT: decode.weight @layers.7.q : tensor<4x4xf32> from #decode.file<"w", 0, 64>
// CHECK-NEXT: decode.weight @rope.frequencies : tensor<2xf32>
// CHECK-NEXT: decode.weight @layers.7.k : tensor<4x4xf32> from #decode.file<"w", 64, 64>
// CHECK-NEXT: decode.weight @layers.7.k.bias : tensor<4xf32>
// CHECK-NEXT: decode.weight @layers.7.k_norm : tensor<4xf32> from #decode.file<"w", 384, 16>
// CHECK-NEXT: decode.weight @layers.7.v : tensor<4x4xf32> from #decode.file<"w", 128, 64>
// CHECK-NEXT: decode.weight @layers.7.o : tensor<4x4xf32> from #decode.file<"w", 192, 64>
// CHECK-NEXT: decode.weight @final_norm : tensor<4xf32> from #decode.file<"w", 384, 16>
// The head is tied to the embedding: another symbol, the same bytes.
// CHECK-NEXT: decode.weight @head : tensor<8x4xf32> from #decode.file<"w", 256, 128>
// CHECK-NEXT: decode.state @layers.7.keys
// CHECK-NEXT: decode.state @layers.7.values
// CHECK-NEXT: func.func @decode(
decode.weight @w.0 : tensor<4x4xf32> from #decode.file<"w", 0, 64>
decode.weight @w.1 : tensor<4x4xf32> from #decode.file<"w", 64, 64>
decode.weight @w.2 : tensor<4x4xf32> from #decode.file<"w", 128, 64>
decode.weight @w.3 : tensor<4x4xf32> from #decode.file<"w", 192, 64>
decode.weight @w.embed : tensor<8x4xf32> from #decode.file<"w", 256, 128>
decode.weight @w.norm : tensor<4xf32> from #decode.file<"w", 384, 16>
decode.weight @w.bias : tensor<4xf32> from #decode.file<"w", 400, 16>
decode.weight @w.f : tensor<2xf32> from dense<[1.0, 0.01]> : tensor<2xf32>
decode.weight @unused : tensor<2xf32> from #decode.file<"w", 0, 8>
decode.state @layers.7.values : !decode.cache<1x1x8x4xf32> past "a" present "b"
decode.state @layers.7.keys : !decode.cache<1x1x8x4xf32> past "c" present "d"

// CHECK: %[[E:.*]] = decode.load @embed
// CHECK: decode.embed %{{.*}}, %[[E]]
// CHECK: %[[F:.*]] = decode.load @rope.frequencies
// CHECK: decode.rotary %{{.*}}, %{{.*}}, %[[F]]
// CHECK: decode.rotary %{{.*}}, %{{.*}}, %[[F]]
// CHECK: %[[H:.*]] = decode.load @head
// CHECK: decode.linear %{{.*}}, %[[H]]
func.func @decode(%t: tensor<1x1xi64>, %p: tensor<1x1xi32>, %s: tensor<1xi32>)
    -> tensor<1x1x8xf32> attributes {decode.entry = "decode"} {
  %e = decode.load @w.embed : tensor<8x4xf32>
  %x = decode.embed %t, %e
      : tensor<1x1xi64>, tensor<8x4xf32> -> tensor<1x1x4xf32>
  // One norm weight serves three norms: exporters merge equal initializers.
  %n = decode.load @w.norm : tensor<4xf32>
  %a = decode.rms_norm %x, %n eps 1.000000e-05
      : tensor<1x1x4xf32>, tensor<4xf32>
  %wq = decode.load @w.0 : tensor<4x4xf32>
  %q = decode.linear %a, %wq
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 1, 1, 4]
      : tensor<1x1x4xf32> into tensor<1x1x1x4xf32>
  %f = decode.load @w.f : tensor<2xf32>
  %qr = decode.rotary %qh, %p, %f
      : tensor<1x1x1x4xf32>, tensor<1x1xi32>, tensor<2xf32>
  %wk = decode.load @w.1 : tensor<4x4xf32>
  %kb = decode.load @w.bias : tensor<4xf32>
  %k = decode.linear %a, %wk bias %kb
      : tensor<1x1x4xf32>, tensor<4x4xf32> bias tensor<4xf32> -> tensor<1x1x4xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 1, 1, 4]
      : tensor<1x1x4xf32> into tensor<1x1x1x4xf32>
  %kn = decode.rms_norm %kh, %n eps 1.000000e-05
      : tensor<1x1x1x4xf32>, tensor<4xf32>
  %kr = decode.rotary %kn, %p, %f
      : tensor<1x1x1x4xf32>, tensor<1x1xi32>, tensor<2xf32>
  %kc = decode.append %kr, %p, %s into @layers.7.keys
      : tensor<1x1x1x4xf32>, tensor<1x1xi32>, tensor<1xi32> -> !decode.cache<1x1x8x4xf32>
  %wv = decode.load @w.2 : tensor<4x4xf32>
  %v = decode.linear %a, %wv
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [1, 1, 1, 4]
      : tensor<1x1x4xf32> into tensor<1x1x1x4xf32>
  %vc = decode.append %vh, %p, %s into @layers.7.values
      : tensor<1x1x1x4xf32>, tensor<1x1xi32>, tensor<1xi32> -> !decode.cache<1x1x8x4xf32>
  %y = decode.attention %qr, %kc, %vc, %p, %s scale 5.000000e-01
      : tensor<1x1x1x4xf32>, !decode.cache<1x1x8x4xf32>,
        !decode.cache<1x1x8x4xf32>, tensor<1x1xi32>, tensor<1xi32>
      -> tensor<1x1x1x4xf32>
  %yc = tensor.collapse_shape %y [[0], [1], [2, 3]]
      : tensor<1x1x1x4xf32> into tensor<1x1x4xf32>
  %wo = decode.load @w.3 : tensor<4x4xf32>
  %o = decode.linear %yc, %wo
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %z = decode.rms_norm %o, %n eps 1.000000e-05
      : tensor<1x1x4xf32>, tensor<4xf32>
  %l = decode.linear %z, %e
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %l : tensor<1x1x8xf32>
}
