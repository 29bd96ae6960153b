// Every op, attribute and type of nm prints what it parsed.
// RUN: sdc-opt %s | sdc-opt | FileCheck %s
// RUN: sdc-opt %s -mlir-print-op-generic | sdc-opt | FileCheck %s

// CHECK: nm.weight @layers.7.q : !nm.packed<576x576xbf16, 16:32, rows8> from #decode.file<"model.spool", 0, 373248> report <16:32, "sparsegpt", damping 1.000000e-02, loss 1.250000e+00, relative 3.125000e-02, notes "damping was raised", "a \22second\22 note">
nm.weight @layers.7.q : !nm.packed<576x576xbf16, 16:32, rows8>
    from #decode.file<"model.spool", 0, 373248>
    report <16:32, "sparsegpt", damping 1.000000e-02, loss 1.250000e+00,
            relative 3.125000e-02, notes "damping was raised",
            "a \22second\22 note">

// A dense block of two rows of one word in f16: 2 x 32 x 2 = 128 bytes.
// CHECK: nm.weight @head : !nm.packed<2x32xf16, dense, rows2> from #decode.file<"w", 64, 128> report <dense, "none", damping 0.000000e+00, loss 0.000000e+00, relative 0.000000e+00>
nm.weight @head : !nm.packed<2x32xf16, dense, rows2>
    from #decode.file<"w", 64, 128>
    report <dense, "none", damping 0.0, loss 0.0, relative 0.0>

// 1:2 in f32, one row, one word: a mask and 16 values, 68 bytes, padded to 128.
// CHECK: nm.weight @small : !nm.packed<1x5xf32, 1:2, rows1> from dense<0> : tensor<128xi8>
nm.weight @small : !nm.packed<1x5xf32, 1:2, rows1>
    from dense<0> : tensor<128xi8>

// CHECK: decode.weight @between {{.*}} {nm.report = #nm.report<1:4, "magnitude", damping 0.000000e+00, loss unknown, relative unknown>}
decode.weight @between : tensor<4x4xf32> from #decode.file<"w", 0, 64>
    {nm.report = #nm.report<1:4, "magnitude", damping 0.0, loss unknown,
                            relative unknown>}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<1x1x576xf32>, %w: tensor<576x576xbf16>,
                  %b: tensor<576xf32>) -> tensor<1x1x576xf32> {
  // CHECK: decode.load @layers.7.q : !nm.packed<576x576xbf16, 16:32, rows8>
  %p = decode.load @layers.7.q : !nm.packed<576x576xbf16, 16:32, rows8>
  // CHECK: nm.linear %{{.*}}, %{{.*}} : tensor<1x1x576xf32>, !nm.packed<576x576xbf16, 16:32, rows8> -> tensor<1x1x576xf32>
  %0 = nm.linear %x, %p
      : tensor<1x1x576xf32>, !nm.packed<576x576xbf16, 16:32, rows8>
      -> tensor<1x1x576xf32>
  // CHECK: nm.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<1x1x576xf32>, !nm.packed<576x576xbf16, 16:32, rows8> bias tensor<576xf32> -> tensor<1x1x576xf32>
  %1 = nm.linear %0, %p bias %b
      : tensor<1x1x576xf32>, !nm.packed<576x576xbf16, 16:32, rows8>
        bias tensor<576xf32> -> tensor<1x1x576xf32>
  // CHECK: nm.linear %{{.*}}, %{{.*}} bias %{{.*}} pattern <2:4> : tensor<1x1x576xf32>, tensor<576x576xbf16> bias tensor<576xf32> -> tensor<1x1x576xf32>
  %2 = nm.linear %1, %w bias %b pattern <2:4>
      : tensor<1x1x576xf32>, tensor<576x576xbf16> bias tensor<576xf32>
      -> tensor<1x1x576xf32>
  return %2 : tensor<1x1x576xf32>
}

// CHECK-LABEL: @embed
func.func @embed(%ids: tensor<2x3xi64>,
                 %p: !nm.packed<256x64xbf16, dense, rows8>)
    -> (tensor<2x3x64xf32>, tensor<2x3x64xf32>) {
  // CHECK: nm.embed %{{.*}}, %{{.*}} : tensor<2x3xi64>, !nm.packed<256x64xbf16, dense, rows8> -> tensor<2x3x64xf32>
  %0 = nm.embed %ids, %p
      : tensor<2x3xi64>, !nm.packed<256x64xbf16, dense, rows8>
      -> tensor<2x3x64xf32>
  // CHECK: nm.embed %{{.*}}, %{{.*}} {scale = 8.000000e+00 : f64} : tensor<2x3xi64>
  %1 = nm.embed %ids, %p {scale = 8.0}
      : tensor<2x3xi64>, !nm.packed<256x64xbf16, dense, rows8>
      -> tensor<2x3x64xf32>
  return %0, %1 : tensor<2x3x64xf32>, tensor<2x3x64xf32>
}

// CHECK-LABEL: @values
func.func @values(%w: tensor<3x40xf32>) -> (tensor<3x40xbf16>, tensor<3x2xi32>) {
  // CHECK: %[[PRUNED:.*]] = nm.prune %{{.*}} <4:8> : tensor<3x40xf32>
  %pruned = nm.prune %w <4:8> : tensor<3x40xf32>
  // CHECK: %[[MASK:.*]] = nm.mask %[[PRUNED]] pattern <4:8> : tensor<3x40xf32> -> tensor<3x2xi32>
  %mask = nm.mask %pruned pattern <4:8> : tensor<3x40xf32> -> tensor<3x2xi32>
  // CHECK: %[[PACKED:.*]] = nm.pack %[[PRUNED]] mask %[[MASK]] : tensor<3x40xf32>, tensor<3x2xi32> -> !nm.packed<3x40xbf16, 4:8, rows2>
  %packed = nm.pack %pruned mask %mask : tensor<3x40xf32>, tensor<3x2xi32>
      -> !nm.packed<3x40xbf16, 4:8, rows2>
  // CHECK: nm.mask %[[PACKED]] : !nm.packed<3x40xbf16, 4:8, rows2> -> tensor<3x2xi32>
  %again = nm.mask %packed : !nm.packed<3x40xbf16, 4:8, rows2> -> tensor<3x2xi32>
  // CHECK: nm.unpack %[[PACKED]] : !nm.packed<3x40xbf16, 4:8, rows2> -> tensor<3x40xbf16>
  %unpacked = nm.unpack %packed
      : !nm.packed<3x40xbf16, 4:8, rows2> -> tensor<3x40xbf16>
  // CHECK: nm.pack %{{.*}} : tensor<3x40xbf16> -> !nm.packed<3x40xbf16, dense, rows16>
  %dense = nm.pack %unpacked
      : tensor<3x40xbf16> -> !nm.packed<3x40xbf16, dense, rows16>
  return %unpacked, %again : tensor<3x40xbf16>, tensor<3x2xi32>
}
