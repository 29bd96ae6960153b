// RUN: sdc-opt %s -split-input-file -verify-diagnostics -verify-recorded

decode.weight @head : tensor<8x4xf32> from #decode.file<"w", 0, 128>
func.func @decode(%x: tensor<1x1x4xf32>) -> tensor<1x1x8xf32> {
  %w = decode.load @head : tensor<8x4xf32>
  %m = decode.record %x "head_in" : tensor<1x1x4xf32>
  %y = decode.linear %m, %w
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %y : tensor<1x1x8xf32>
}
func.func @prefill(%x: tensor<1x16x4xf32>) -> tensor<1x16x8xf32> {
  %w = decode.load @head : tensor<8x4xf32>
  %m = decode.record %x "head_in" : tensor<1x16x4xf32>
  %y = decode.linear %m, %w
      : tensor<1x16x4xf32>, tensor<8x4xf32> -> tensor<1x16x8xf32>
  return %y : tensor<1x16x8xf32>
}

// -----

decode.weight @head : tensor<8x4xf32> from #decode.file<"w", 0, 128>
func.func @decode(%x: tensor<1x1x4xf32>) -> tensor<1x1x8xf32> {
  %w = decode.load @head : tensor<8x4xf32>
  // expected-error @+1 {{expected decode.record to give the input}}
  %y = decode.linear %x, %w
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %y : tensor<1x1x8xf32>
}

// -----

func.func @decode(%x: tensor<1x1x4xf32>, %y: tensor<1x1x4xf32>)
    -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  // expected-note @+1 {{the first is here}}
  %0 = decode.record %x "head_in" : tensor<1x1x4xf32>
  // expected-error @+1 {{a second input has the key 'head_in'}}
  %1 = decode.record %y "head_in" : tensor<1x1x4xf32>
  return %0, %1 : tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

// -----

decode.weight @head : tensor<8x4xf32> from #decode.file<"w", 0, 128>
func.func @decode(%x: tensor<1x1x4xf32>) -> tensor<1x1x8xf32> {
  %w = decode.load @head : tensor<8x4xf32>
  %m = decode.record %x "head_in" : tensor<1x1x4xf32>
  %y = decode.linear %m, %w
      : tensor<1x1x4xf32>, tensor<8x4xf32> -> tensor<1x1x8xf32>
  return %y : tensor<1x1x8xf32>
}
func.func @prefill(%x: tensor<1x16x4xf32>) -> tensor<1x16x8xf32> {
  %w = decode.load @head : tensor<8x4xf32>
  // expected-error @+1 {{the input of 'head' has another key than 'head_in', its key in 'decode'}}
  %m = decode.record %x "other.0_in" : tensor<1x16x4xf32>
  %y = decode.linear %m, %w
      : tensor<1x16x4xf32>, tensor<8x4xf32> -> tensor<1x16x8xf32>
  return %y : tensor<1x16x8xf32>
}
