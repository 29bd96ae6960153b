// Names of kernels: every kind round-trips, other spellings are refused with
// the place, and units, operands and scratch follow the header.

#include "kernels/Spec/KernelSpec.h"

#include <gtest/gtest.h>

using namespace sdc;

namespace {

KernelSpec parsed(const std::string &name) {
  std::string problem;
  auto spec = KernelSpec::parse(name, problem);
  EXPECT_TRUE(spec) << problem;
  return spec ? *spec : KernelSpec();
}

std::string problemOf(const std::string &name) {
  std::string problem;
  EXPECT_FALSE(KernelSpec::parse(name, problem)) << name;
  return problem;
}

struct Case {
  const char *name;
  int64_t units, operands;
};

TEST(KernelSpec, RoundTrip) {
  const Case cases[] = {
      {"embed.t1.v49152.h576.bf16", 1, 3},
      {"embed.t1.v49152.h576.bf16_rows8", 1, 3},
      {"embed.t2.v7.h5.f32_rows16.scale2", 2, 3},
      {"embed.t1.v49152.h576.bf16_mma16", 1, 3},
      {"embed.t2.v7.h5.f32_lanes32.scale2", 2, 3},
      {"embed.t64.v100.h8.f32.scale22p627416997969522", 64, 3},
      // 72 + 24 + 24 blocks of 8 rows; x, norm, 3 weights, 3 outputs.
      {"linear.t1.k576.rms_f32_1em05.w576_16of32_bf16_rows8"
       ".w192_16of32_bf16_rows8.w192_dense_bf16_rows8",
       120, 8},
      {"linear.t64.k576.rms_bf16_1em06.g1537_2of4_f16_rows8_silu"
       ".u1537_dense_f32_rows8",
       193, 5},
      {"linear.t4.k1536.active.w576_24of32_bf16_rows8_biasf32.add", 72, 6},
      {"linear.t64.k576.layer_bias_f16_0p001.last.w10_dense_f32_rows16_biasbf16"
       "_gelu_tanh",
       1, 7},
      // 3 blocks of 32 lanes; 36 fragments of 16 rows.
      {"linear.t1.k576.w70_24of32_f16_lanes32", 3, 3},
      {"linear.t1.k576.w576_2of4_bf16_mma16", 36, 3},
      {"rotary.t3.q9_64.k3_64_bf16.v3_64_bf16.r64_half", 36, 10},
      {"rotary.t1.q4_128.r32_pairs.scale1p5", 4, 4},
      {"rotary.t1.v3_64_f32", 3, 5},
      {"rotary.t1.q16_128.k8_128_f16.v8_64_f16.r128_half.qnorm_rms_f32_1em06"
       ".knorm_rms_f32_1em06",
       24, 12},
      {"attention.t1.q9_64.k3_bf16.v64_bf16.scale0p125", 9, 7},
      {"attention.t2.q8_64.k8_f32.v32_f32.scale1.window128.cap50.split4_512",
       64, 7},
      {"combine.t1.q9_64.split4", 9, 2},
      {"norm.t5.k576.layer_bias_f32_1em05", 5, 4},
      {"last_row.t64.k576", 1, 3},
      {"activate.t2.k1025.quick_gelu", 4, 2},
      {"gate.t2.k1024.relu2", 2, 3},
      {"add.t2.k1", 2, 3},
      {"add.t2.k1.row_bf16", 2, 3},
  };
  for (const Case &c : cases) {
    KernelSpec spec = parsed(c.name);
    EXPECT_EQ(spec.name(), c.name);
    EXPECT_EQ(spec.problem(), "");
    EXPECT_EQ(spec.unitCount(), c.units) << c.name;
    EXPECT_EQ(spec.numOperands(), c.operands) << c.name;
    EXPECT_EQ(spec.scratchSize() % 64, 0) << c.name;
  }
}

TEST(KernelSpec, ReadsWhatItSays) {
  auto s = std::get<LinearSpec>(
      parsed("linear.t64.k100.layer_bias_bf16_1em05.active"
             ".g7_3of8_f16_rows4_biasf32_relu.u7_dense_bf16_rows4")
          .spec);
  EXPECT_EQ(s.rows, 64);
  EXPECT_EQ(s.columns, 100);
  EXPECT_EQ(s.norm.kind, NormSpec::Kind::Layer);
  EXPECT_TRUE(s.norm.bias);
  EXPECT_EQ(s.norm.eps, 1e-5);
  EXPECT_EQ(s.select, LinearSpec::Select::Active);
  EXPECT_TRUE(s.pair);
  EXPECT_EQ(s.parts[0].pattern, (Pattern{3, 8}));
  EXPECT_EQ(s.parts[0].act, Activation::Relu);
  EXPECT_EQ(s.parts[1].pattern, Pattern::dense());
  EXPECT_EQ(s.layout(0).numWords(), 4);
}

TEST(KernelSpec, Refuses) {
  EXPECT_EQ(problemOf("gemm.t1"), "kernel name 'gemm.t1': expected a kind of "
                                  "kernel at 'gemm.t1'");
  EXPECT_EQ(problemOf("embed.t1.h5"),
            "kernel name 'embed.t1.h5': expected '.v' at '.h5'");
  EXPECT_EQ(problemOf("add.t1.k2.x"), "kernel name 'add.t1.k2.x': expected the "
                                      "end or another field at '.x'");
  EXPECT_EQ(problemOf("add.t01.k2"), "kernel name 'add.t01.k2': expected the "
                                     "spelling 'add.t1.k2'");
  problemOf("linear.t1.k8.w8_16of32_bf17_rows8");
  problemOf("attention.t1.q9_64.k3_bf16.v64_bf16.scalex");
  problemOf("activate.t1.k8.swish");
}

TEST(KernelSpec, FindsNonsense) {
  for (const char *name : {
           "linear.t1.k8",                     // no part
           "linear.t0.k8.w8_dense_bf16_rows8", // no row
           "linear.t1.k8.w8_4of2_bf16_rows8",  // N > M
           "linear.t1.k8.w8_dense_bf16_rows3", // no such tile
           "linear.t1.k8.w8_4of8_bf16_mma16",  // not a fragment
           "linear.t1.k8.g8_dense_bf16_rows8_silu.u9_dense_bf16_rows8",
           "linear.t1.k8.w8_dense_f32_rows8.w8_dense_f32_rows8.add",
           "rotary.t1",                                  // nothing to do
           "rotary.t1.q2_8.r16_half",                    // R > head size
           "rotary.t1.q2_8.r7_half",                     // odd R
           "attention.t1.q9_64.k2_bf16.v64_bf16.scale1", // 9 is not 2 x n
           "combine.t1.q9_64.split1",
           "attention.t1.q9_64.k3_bf16.v64_bf16.scale1.split2_100",
       })
    EXPECT_NE(parsed(name).problem(), "") << name;
}

} // namespace
