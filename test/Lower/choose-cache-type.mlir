// What keys and values are kept as.

// RUN: sdc-opt %s -choose-cache-type | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: sdc-opt %s -choose-cache-type=type=f32 | FileCheck %s --check-prefixes=CHECK,F32
// RUN: not sdc-opt %s -choose-cache-type=type=int8 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: no type 'int8' of a cache, expected auto, f32, f16 or bf16

// AUTO: decode.state @keys : !decode.cache<1x1x8x4xbf16>
// F32: decode.state @keys : !decode.cache<1x1x8x4xf32>
decode.state @keys : !decode.cache<1x1x8x4xf32> past "p" present "q"
// A 16-bit type stays.
// AUTO: decode.state @values : !decode.cache<1x1x8x4xf16>
// F32: decode.state @values : !decode.cache<1x1x8x4xf32>
decode.state @values : !decode.cache<1x1x8x4xf16> past "r" present "s"

// CHECK-LABEL: func.func @append
func.func @append(%x: tensor<1x1x1x4xf32>, %p: tensor<1x1xi32>,
                  %s: tensor<1xi32>) {
  // AUTO: into @keys : {{.*}} -> <1x1x8x4xbf16>
  // F32: into @keys : {{.*}} -> <1x1x8x4xf32>
  %0 = decode.append %x, %p, %s into @keys : tensor<1x1x1x4xf32>,
      tensor<1x1xi32>, tensor<1xi32> -> !decode.cache<1x1x8x4xf32>
  return
}
