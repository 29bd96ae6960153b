// A pass and a dialect that are loaded at run time, over our own types.
// RUN: sdc-opt %s --load-dialect-plugin=%sdc_obj/lib/SdcExamplePlugin.so \
// RUN:   --load-pass-plugin=%sdc_obj/lib/SdcExamplePlugin.so \
// RUN:   --pass-pipeline="builtin.module(example-widen-patterns{to=16:32},canonicalize)" \
// RUN:   | FileCheck %s
// The dialect is the plugin's.
// RUN: not sdc-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: operation being parsed with an unregistered dialect

// CHECK-LABEL: @decode
// CHECK: nm.linear %{{.*}} pattern <16:32>
// 3:4 would be 24:32.
// CHECK: nm.linear %{{.*}} pattern <3:4>
// CHECK: "example.keep"
func.func @decode(%x: tensor<1x1x32xf32>, %w: tensor<32x32xf32>)
    -> tensor<1x1x32xf32> {
  %0 = nm.linear %x, %w pattern <2:4>
      : tensor<1x1x32xf32>, tensor<32x32xf32> -> tensor<1x1x32xf32>
  %1 = nm.linear %0, %w pattern <3:4>
      : tensor<1x1x32xf32>, tensor<32x32xf32> -> tensor<1x1x32xf32>
  %2 = "example.keep"(%1) : (tensor<1x1x32xf32>) -> tensor<1x1x32xf32>
  return %2 : tensor<1x1x32xf32>
}
