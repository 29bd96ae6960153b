// What the user asked and cannot have. Every run fails and says why.
// RUN: not sdc-opt %s -prune-weights="pattern=4:2 rules=*=2:4,q=3:7,q" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RULES
// RULES: error: pattern 4:2 keeps 4 of 2, expected 1 <= N < M
// RULES: error: rule '*=2:4': '*' is no regular expression
// RULES: error: rule 'q=3:7': pattern 3:7 has groups of 7, expected 2, 4, 8, 16 or 32
// RULES: error: rule 'q' is not of the form REGEX=N:M

// RUN: not sdc-opt %s -prune-weights="pattern=2:4 rules=layer.0.p=dense,head=dense,qq=2:4" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: error: rule 'layer.0.p=dense' matches no linear; the nearest names are layers.0.q, head
// NONE: error: rule 'qq=2:4' matches no linear; the nearest names are

// RUN: not sdc-opt %s -prune-weights="pattern=2:4" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CALIBRATION
// CALIBRATION: error: method sparsegpt needs a calibration file, expected the option calibration=FILE or method=magnitude

// RUN: not sdc-opt %s -prune-weights="pattern=2:4 calibration=%s" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: {{.*}}prune-weights-errors.mlir

// RUN: not sdc-opt %s -prune-weights="pattern=2:4 method=magnitude" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SPOOL
// SPOOL: error: new weights need a place, expected the option spool=FILE

// RUN: not sdc-opt %s -prune-weights="method=obs dtype=int8 damp=0 positions=some" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTIONS
// OPTIONS: error: expected method sparsegpt, wanda or magnitude, got 'obs'
// OPTIONS: error: expected dtype auto, f32, f16 or bf16, got 'int8'
// OPTIONS: error: expected a damping above 0 and at most 1
// OPTIONS: error: {{.*}}some

// RUN: not sdc-opt %s -prune-weights="pattern=2:4 method=magnitude strict spool=%t.spool" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STRICT
// STRICT: error: head: stays dense under strict: the head stays dense unless a rule says otherwise

// RUN: sdc-opt %s -prune-weights="pattern=2:4 method=magnitude strict rules=head=dense spool=%t.spool" -o %t.mlir

// RUN: not sdc-opt %s -prune-weights="pattern=2:4 method=magnitude max-memory=10 spool=%t.spool" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MEMORY
// Two matrices of 64 bytes and four mask words.
// MEMORY: error: layers.0.q: pruning it takes 144 bytes, more than the 10 that are allowed

// RUN: not sdc-opt %t.mlir -prune-weights="pattern=2:4 method=magnitude spool=%t.again" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'nm.linear' op is pruned already

// RUN: not sdc-opt %t.mlir -pack-weights="spool=%t.spool" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OVERWRITE
// OVERWRITE: error: 'decode.weight' op its bytes are in the file '{{.*}}.spool', which spool= would overwrite

decode.weight @layers.0.q : tensor<4x4xf32> from dense<1.0> : tensor<4x4xf32>
decode.weight @head : tensor<4x4xf32> from dense<1.0> : tensor<4x4xf32>
func.func @decode(%x: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %wq = decode.load @layers.0.q : tensor<4x4xf32>
  %wh = decode.load @head : tensor<4x4xf32>
  %q = decode.linear %x, %wq
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  %h = decode.linear %q, %wh
      : tensor<1x1x4xf32>, tensor<4x4xf32> -> tensor<1x1x4xf32>
  return %h : tensor<1x1x4xf32>
}
