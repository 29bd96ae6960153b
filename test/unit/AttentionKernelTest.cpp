// Generated attention kernels against softmax in double: head sizes, types,
// windows, softcaps, splits; what a cache holds beyond a position is never
// read into a result.

#include "test/unit/KernelRunner.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

std::vector<float> normals(size_t count) {
  static std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return values;
}

float loadOne(ElementType type, const uint8_t *bytes, int64_t index) {
  float value;
  loadValues(type, bytes + index * elementBytes(type), 1, &value);
  return value;
}

/// A cache [slots, heads, context, size] with numbers up to the position of
/// each slot and NaN behind it.
Buffer cacheOf(ElementType type, int64_t slots, int64_t heads, int64_t context,
               int64_t size, const std::vector<int32_t> &last) {
  std::vector<float> values = normals(slots * heads * context * size);
  for (int64_t s = 0; s < slots; ++s)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = last[s] + 1; j < context; ++j)
        for (int64_t i = 0; i < size; ++i)
          values[((s * heads + h) * context + j) * size + i] = NAN;
  Buffer buffer(values.size() * elementBytes(type));
  storeValues(type, values.data(), values.size(), buffer.data());
  return buffer;
}

void testAttention(KernelSet &kernels, size_t index, size_t combine) {
  auto s = std::get<AttentionSpec>(kernels.spec(index).spec);
  SCOPED_TRACE(kernels.spec(index).name());
  const int64_t slots = 2, context = 77;
  // The last row of the last slot is the last one of the whole cache.
  std::vector<int32_t> positions = {76, 0, -1, 33, 15, 16, 70},
                       slotOf = {1, 0, 0, 0, 1, 0, 0};
  positions.resize(s.rows, 5);
  slotOf.resize(s.rows, 0);
  std::vector<int32_t> last(slots, -1);
  for (int64_t t = 0; t < s.rows; ++t)
    last[slotOf[t]] = std::max(last[slotOf[t]], positions[t]);
  Buffer keys = cacheOf(s.keyType, slots, s.cacheHeads, context, s.size, last);
  Buffer values =
      cacheOf(s.valueType, slots, s.cacheHeads, context, s.valueSize, last);
  std::vector<float> q = normals(s.rows * s.heads * s.size);
  Buffer qBuffer(q), positionBuffer(positions), slotBuffer(slotOf);
  Buffer params(std::vector<int64_t>{context, slots});
  Buffer out(s.rows * s.heads * s.valueSize * 4);
  Buffer partials(s.rows * s.heads * s.splits * (s.valueSize + 2) * 4);
  Buffer &target = s.splits > 1 ? partials : out;

  std::vector<uint8_t> bits;
  for (int ranges : {1, 3, 50}) {
    kernels.run(index,
                {qBuffer.data(), keys.data(), values.data(),
                 positionBuffer.data(), slotBuffer.data(), params.data(),
                 target.data()},
                ranges);
    if (s.splits > 1)
      kernels.run(combine, {partials.data(), out.data()}, ranges);
    std::vector<uint8_t> now(out.data(), out.data() + out.size());
    if (ranges == 1)
      bits = now;
    EXPECT_EQ(now, bits);
  }
  EXPECT_TRUE(out.guardsIntact() && partials.guardsIntact());

  for (int64_t t = 0; t < s.rows; ++t)
    for (int64_t h = 0; h < s.heads; ++h) {
      int64_t head = slotOf[t] * s.cacheHeads + h / (s.heads / s.cacheHeads);
      int64_t low =
          s.window ? std::max<int64_t>(positions[t] + 1 - s.window, 0) : 0;
      std::vector<double> p;
      double highest = -1e300, sum = 0;
      for (int64_t j = low; j <= positions[t]; ++j) {
        double score = 0;
        for (int64_t i = 0; i < s.size; ++i)
          score += double(q[(t * s.heads + h) * s.size + i]) *
                   loadOne(s.keyType, keys.data(),
                           (head * context + j) * s.size + i);
        score *= s.scale;
        if (s.softcap != 0)
          score = s.softcap * std::tanh(score / s.softcap);
        p.push_back(score);
        highest = std::max(highest, score);
      }
      for (double &value : p) {
        value = std::exp(value - highest);
        sum += value;
      }
      for (int64_t i = 0; i < s.valueSize; ++i) {
        double expected = 0;
        for (size_t j = 0; j < p.size(); ++j)
          expected += p[j] / sum *
                      loadOne(s.valueType, values.data(),
                              (head * context + low + j) * s.valueSize + i);
        ASSERT_NEAR(out.as<float>()[(t * s.heads + h) * s.valueSize + i],
                    expected, 1e-5)
            << "row " << t << ", head " << h << ", " << i;
      }
    }
}

void testAll(const std::vector<std::string> &names,
             const std::string &combine = "combine.t1.q1_8.split2") {
  std::vector<std::string> all = names;
  all.push_back(combine);
  for (CpuLevel level : kCpuLevels) {
    if (!canRun(level))
      continue;
    SCOPED_TRACE(std::string(cpuLevelName(level)));
    KernelSet kernels(all, level);
    ASSERT_EQ(kernels.problem, "");
    for (size_t i = 0; i < names.size(); ++i)
      testAttention(kernels, i, names.size());
    EXPECT_EQ(kernels.problem, "");
  }
}

TEST(AttentionKernel, SizesAndTypes) {
  testAll({
      "attention.t7.q6_64.k2_bf16.v64_bf16.scale0p125",
      "attention.t7.q3_128.k1_f16.v128_f16.scale0p08838834764831845",
      "attention.t7.q2_80.k2_f32.v80_f32.scale0p1",
      "attention.t7.q2_8.k1_bf16.v8_f32.scale0p35",
      "attention.t7.q2_10.k2_bf16.v7_bf16.scale0p3",
      "attention.t7.q2_40.k1_f16.v33_bf16.scale1",
      "attention.t1.q9_64.k3_bf16.v64_bf16.scale0p125",
      "attention.t1.q2_256.k1_bf16.v256_bf16.scale0p0625",
  });
}

TEST(AttentionKernel, WindowsAndSoftcaps) {
  testAll({
      "attention.t7.q2_16.k1_f32.v16_f32.scale0p25.window1",
      "attention.t7.q2_16.k1_bf16.v16_bf16.scale0p25.window20",
      "attention.t7.q2_16.k1_f32.v16_f32.scale0p25.window500",
      "attention.t7.q2_16.k1_f32.v16_f32.scale1.cap2",
      "attention.t7.q2_16.k1_f32.v16_f32.scale1.window16.cap30",
  });
}

TEST(AttentionKernel, Splits) {
  testAll({"attention.t7.q2_20.k1_bf16.v18_bf16.scale0p25.split3_16"},
          "combine.t7.q2_18.split3");
  testAll({"attention.t7.q2_20.k1_bf16.v18_bf16.scale0p25.window9.split2_32"},
          "combine.t7.q2_18.split2");
  // More splits than the context has chunks.
  testAll({"attention.t7.q2_20.k1_f32.v18_f32.scale0p25.split5_32"},
          "combine.t7.q2_18.split5");
}

} // namespace
