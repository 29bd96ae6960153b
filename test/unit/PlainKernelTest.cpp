// Generated kernels without a product: embedding, norms, elementary functions,
// rotary embedding and append, last row.

#include "test/unit/KernelRunner.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

std::vector<float> normals(size_t count, double scale = 1) {
  static std::mt19937 engine(11);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(normal(engine) * scale);
  return values;
}

std::vector<uint8_t> stored(ElementType type,
                            const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * elementBytes(type));
  storeValues(type, values.data(), values.size(), bytes.data());
  return bytes;
}

float loadOne(ElementType type, const uint8_t *bytes, int64_t index) {
  float value;
  loadValues(type, bytes + index * elementBytes(type), 1, &value);
  return value;
}

template <typename Body>
void onEachLevel(const std::vector<std::string> &names, Body body) {
  for (CpuLevel level : kCpuLevels) {
    if (!canRun(level))
      continue;
    KernelSet kernels(names, level);
    ASSERT_EQ(kernels.problem, "");
    SCOPED_TRACE(std::string(cpuLevelName(level)));
    body(kernels);
    EXPECT_EQ(kernels.problem, "");
  }
}

TEST(PlainKernel, Embed) {
  onEachLevel(
      {"embed.t3.v10.h37.f32.scale1p5", "embed.t3.v10.h37.bf16",
       "embed.t3.v10.h64.f16"},
      [](KernelSet &kernels) {
        for (size_t i = 0; i < 3; ++i) {
          auto s = std::get<EmbedSpec>(kernels.spec(i).spec);
          Buffer tokens(std::vector<int32_t>{9, -1, 4});
          Buffer table(stored(s.type, normals(10 * s.hidden)));
          Buffer out(3 * s.hidden * 4);
          kernels.run(i, {tokens.data(), table.data(), out.data()}, 2);
          // Token -1 is outside the table and reads row 0.
          const int64_t rows[] = {9, 0, 4};
          for (int64_t t = 0; t < 3; ++t)
            for (int64_t h = 0; h < s.hidden; ++h)
              EXPECT_EQ(out.as<float>()[t * s.hidden + h],
                        loadOne(s.type, table.data(), rows[t] * s.hidden + h) *
                            static_cast<float>(s.scale));
          EXPECT_TRUE(out.guardsIntact());
        }
      });
}

// The table of a tied head: packed by kernels/Format, read row by row.
TEST(PlainKernel, EmbedFromPackedRows) {
  onEachLevel(
      {"embed.t4.v21.h37.f32_rows8.scale1p5", "embed.t4.v21.h100.bf16_rows8",
       "embed.t4.v21.h64.f16_rows16", "embed.t4.v21.h5.bf16_rows1"},
      [](KernelSet &kernels) {
        for (size_t i = 0; i < 4; ++i) {
          auto s = std::get<EmbedSpec>(kernels.spec(i).spec);
          std::vector<float> values = normals(21 * s.hidden);
          Buffer tokens(std::vector<int32_t>{20, 21, 9, 0});
          Buffer table(s.layout().packedSize());
          EXPECT_FALSE(packBlocks(s.layout(), 0, s.layout().numBlocks(),
                                  values.data(), s.hidden, nullptr,
                                  table.data()));
          Buffer out(4 * s.hidden * 4);
          kernels.run(i, {tokens.data(), table.data(), out.data()}, 2);
          // Token 21 is outside the table and reads row 0.
          const int64_t rows[] = {20, 0, 9, 0};
          for (int64_t t = 0; t < 4; ++t)
            for (int64_t h = 0; h < s.hidden; ++h)
              EXPECT_EQ(out.as<float>()[t * s.hidden + h],
                        roundTo(s.type, values[rows[t] * s.hidden + h]) *
                            static_cast<float>(s.scale));
          EXPECT_TRUE(out.guardsIntact());
        }
      });
}

TEST(PlainKernel, Norm) {
  onEachLevel({"norm.t3.k100.rms_f32_1em05", "norm.t3.k8.layer_bias_bf16_0p01",
               "norm.t3.k576.layer_f16_1em12"},
              [](KernelSet &kernels) {
                for (size_t i = 0; i < 3; ++i) {
                  auto s = std::get<RowNormSpec>(kernels.spec(i).spec);
                  int64_t n = s.columns;
                  std::vector<float> x = normals(3 * n);
                  for (float &v : x)
                    v += 3;
                  Buffer in(x), weight(stored(s.norm.type, normals(n))),
                      bias(stored(s.norm.type, normals(n))), out(3 * n * 4);
                  std::vector<void *> operands = {in.data(), weight.data()};
                  if (s.norm.bias)
                    operands.push_back(bias.data());
                  operands.push_back(out.data());
                  kernels.run(i, operands, 2);
                  for (int64_t t = 0; t < 3; ++t) {
                    double mean = 0, square = 0;
                    if (s.norm.kind == NormSpec::Kind::Layer)
                      for (int64_t c = 0; c < n; ++c)
                        mean += double(x[t * n + c]) / n;
                    for (int64_t c = 0; c < n; ++c)
                      square += std::pow(x[t * n + c] - mean, 2) / n;
                    for (int64_t c = 0; c < n; ++c) {
                      double y = (x[t * n + c] - mean) /
                                 std::sqrt(square + s.norm.eps) *
                                 loadOne(s.norm.type, weight.data(), c);
                      if (s.norm.bias)
                        y += loadOne(s.norm.type, bias.data(), c);
                      ASSERT_NEAR(out.as<float>()[t * n + c], y, 4e-6);
                    }
                  }
                  EXPECT_TRUE(out.guardsIntact());
                }
              });
}

TEST(PlainKernel, Activations) {
  std::vector<float> x;
  for (int i = -30000; i <= 30000; ++i)
    x.push_back(static_cast<float>(i * 0.001 + 0.00037));
  x.insert(x.end(), {0.0f, -0.0f, 1e-30f, -1e-30f, 88.7f, -88.7f, 200, -200,
                     1e30f, -1e30f});
  std::string size = std::to_string(x.size());
  onEachLevel(
      {"activate.t1.k" + size + ".silu", "activate.t1.k" + size + ".gelu_tanh",
       "activate.t1.k" + size + ".gelu_erf", "activate.t1.k" + size + ".relu",
       "activate.t1.k" + size + ".quick_gelu",
       "activate.t1.k" + size + ".relu2"},
      [&](KernelSet &kernels) {
        for (size_t i = 0; i < 6; ++i) {
          auto s = std::get<ElementwiseSpec>(kernels.spec(i).spec);
          Buffer in(x), out(x.size() * 4);
          kernels.run(i, {in.data(), out.data()}, 3);
          EXPECT_TRUE(out.guardsIntact());
          for (size_t j = 0; j < x.size(); ++j) {
            double v = x[j], y = 0;
            auto sigmoid = [](double u) { return 1 / (1 + std::exp(-u)); };
            switch (s.act) {
            case Activation::Silu:
              y = v * sigmoid(v);
              break;
            case Activation::GeluTanh:
              // 1 + tanh u = 2 sigmoid(2 u), without its cancellation.
              y = v *
                  sigmoid(2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v));
              break;
            case Activation::GeluErf:
              y = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
              break;
            case Activation::QuickGelu:
              y = v * sigmoid(1.702 * v);
              break;
            case Activation::Relu:
              y = std::max(v, 0.0);
              break;
            default:
              y = std::max(v, 0.0) * std::max(v, 0.0);
            }
            double got = out.as<float>()[j];
            if (!(std::fabs(y) < 3e38)) {
              EXPECT_TRUE(std::isinf(got));
              continue;
            }
            // Relative where the function is not the end of a cancellation,
            // else against the size of the argument.
            double allowed =
                4e-7 * std::max(std::fabs(y), v < 0 && v > -6 ? -v : 1e-6);
            if (v < -6)
              allowed = 1e-5 * std::fabs(y) + 4e-7;
            ASSERT_NEAR(got, y, allowed) << activationName(s.act) << " " << v;
          }
        }
      });
}

TEST(PlainKernel, NotANumberStays) {
  onEachLevel({"activate.t1.k4.silu", "activate.t1.k4.gelu_erf",
               "activate.t1.k4.relu", "activate.t1.k4.gelu_tanh"},
              [](KernelSet &kernels) {
                for (size_t i = 0; i < 4; ++i) {
                  Buffer in(std::vector<float>(4, NAN)), out(16);
                  kernels.run(i, {in.data(), out.data()});
                  EXPECT_TRUE(std::isnan(out.as<float>()[3])) << i;
                }
              });
}

TEST(PlainKernel, GateAndAdd) {
  onEachLevel(
      {"gate.t2.k1100.silu", "add.t2.k1100", "add.t2.k1100.row_bf16"},
      [](KernelSet &kernels) {
        std::vector<float> a = normals(2200), b = normals(2200);
        Buffer x(a), y(b), row(stored(ElementType::BF16, b)), out(2200 * 4);
        kernels.run(0, {x.data(), y.data(), out.data()}, 3);
        for (int i = 0; i < 2200; ++i)
          ASSERT_NEAR(out.as<float>()[i],
                      double(a[i]) / (1 + std::exp(-double(a[i]))) * b[i],
                      2e-6);
        kernels.run(1, {x.data(), y.data(), out.data()}, 3);
        for (int i = 0; i < 2200; ++i)
          ASSERT_EQ(out.as<float>()[i], a[i] + b[i]);
        // In place.
        kernels.run(2, {x.data(), row.data(), x.data()}, 3);
        for (int i = 0; i < 2200; ++i)
          ASSERT_EQ(x.as<float>()[i],
                    a[i] + loadOne(ElementType::BF16, row.data(), i % 1100));
        EXPECT_TRUE(out.guardsIntact() && x.guardsIntact());
      });
}

TEST(PlainKernel, LastRow) {
  onEachLevel({"last_row.t4.k19"}, [](KernelSet &kernels) {
    std::vector<float> x = normals(4 * 19);
    const std::vector<int32_t> cases[] = {
        {0, 1, 2, 3}, {5, 6, -1, -1}, {-1, -1, -1, -1}, {-1, 4, -1, -1}};
    const int expected[] = {3, 1, 0, 1};
    for (int c = 0; c < 4; ++c) {
      Buffer in(x), positions(cases[c]), out(19 * 4);
      kernels.run(0, {in.data(), positions.data(), out.data()}, 2);
      for (int i = 0; i < 19; ++i)
        EXPECT_EQ(out.as<float>()[i], x[expected[c] * 19 + i]);
    }
  });
}

//===----------------------------------------------------------------------===//
// Rotary
//===----------------------------------------------------------------------===//

/// One head in double.
std::vector<double> rotated(const RotarySpec &s, const NormSpec &norm,
                            const std::vector<float> &weight, const float *x,
                            int64_t size, int32_t position,
                            const std::vector<float> &frequencies) {
  std::vector<double> y(x, x + size);
  if (norm.present()) {
    double square = 0;
    for (double v : y)
      square += v * v / size;
    for (int64_t i = 0; i < size; ++i)
      y[i] = y[i] / std::sqrt(square + norm.eps) * weight[i];
  }
  for (int64_t i = 0; i < s.rotated / 2; ++i) {
    int64_t a = s.interleaved ? 2 * i : i;
    int64_t b = s.interleaved ? 2 * i + 1 : i + s.rotated / 2;
    float angle = static_cast<float>(position) * frequencies[i];
    double c = std::cos(double(angle)) * s.scale;
    double n = std::sin(double(angle)) * s.scale;
    double x1 = y[a], x2 = y[b];
    y[a] = x1 * c - x2 * n;
    y[b] = x2 * c + x1 * n;
  }
  return y;
}

void testRotary(KernelSet &kernels, size_t index) {
  auto s = std::get<RotarySpec>(kernels.spec(index).spec);
  SCOPED_TRACE(kernels.spec(index).name());
  const int64_t context = 21, slots = 3;
  const std::vector<int32_t> positions = {7, -1, 1048575 % 21, 0, 20};
  const std::vector<int32_t> slotOf = {2, 0, 1, 1, 0};
  const int64_t rows = s.rows;
  std::vector<float> frequencies;
  for (int64_t i = 0; i < s.rotated / 2; ++i)
    frequencies.push_back(
        static_cast<float>(std::pow(10000.0, -2.0 * i / s.rotated)));
  std::vector<float> qWeight = normals(s.querySize),
                     kWeight = normals(s.keySize);
  std::vector<float> q = normals(rows * s.queryHeads * s.querySize),
                     key = normals(rows * s.keyHeads * s.keySize),
                     value = normals(rows * s.valueHeads * s.valueSize);
  Buffer positionBuffer(positions), slotBuffer(slotOf);
  Buffer params(std::vector<int64_t>{context, slots});
  Buffer frequencyBuffer(frequencies), qNorm(qWeight), kNorm(kWeight);
  Buffer qBuffer(q), qOut(q.size() * 4), kBuffer(key), vBuffer(value);
  Buffer keyCache(slots * s.keyHeads * context * s.keySize *
                  elementBytes(s.keyType));
  Buffer valueCache(slots * s.valueHeads * context * s.valueSize *
                    elementBytes(s.valueType));
  std::vector<uint8_t> before(keyCache.data(),
                              keyCache.data() + keyCache.size());
  std::vector<void *> operands = {positionBuffer.data()};
  if (s.keyHeads || s.valueHeads) {
    operands.push_back(slotBuffer.data());
    operands.push_back(params.data());
  }
  if (s.rotated)
    operands.push_back(frequencyBuffer.data());
  if (s.queryNorm.present())
    operands.push_back(qNorm.data());
  if (s.keyNorm.present())
    operands.push_back(kNorm.data());
  if (s.queryHeads) {
    operands.push_back(qBuffer.data());
    operands.push_back(qOut.data());
  }
  if (s.keyHeads) {
    operands.push_back(kBuffer.data());
    operands.push_back(keyCache.data());
  }
  if (s.valueHeads) {
    operands.push_back(vBuffer.data());
    operands.push_back(valueCache.data());
  }
  ASSERT_EQ(static_cast<int64_t>(operands.size()),
            kernels.spec(index).numOperands());
  kernels.run(index, operands, 3);

  auto tolerance = [](ElementType type, double expected) {
    return type == ElementType::F32   ? 2e-6
           : type == ElementType::F16 ? 2e-6 + std::fabs(expected) / 2047
                                      : 2e-6 + std::fabs(expected) / 255;
  };
  std::vector<bool> written(slots * s.keyHeads * context);
  for (int64_t t = 0; t < rows; ++t) {
    if (positions[t] < 0)
      continue;
    for (int64_t h = 0; h < s.queryHeads; ++h) {
      int64_t at = (t * s.queryHeads + h) * s.querySize;
      auto y = rotated(s, s.queryNorm, qWeight, &q[at], s.querySize,
                       positions[t], frequencies);
      for (int64_t i = 0; i < s.querySize; ++i)
        ASSERT_NEAR(qOut.as<float>()[at + i], y[i], 3e-6);
    }
    for (int64_t h = 0; h < s.keyHeads; ++h) {
      int64_t at = (t * s.keyHeads + h) * s.keySize;
      auto y = rotated(s, s.keyNorm, kWeight, &key[at], s.keySize, positions[t],
                       frequencies);
      int64_t row = (slotOf[t] * s.keyHeads + h) * context + positions[t];
      written[row] = true;
      for (int64_t i = 0; i < s.keySize; ++i)
        ASSERT_NEAR(loadOne(s.keyType, keyCache.data(), row * s.keySize + i),
                    y[i], tolerance(s.keyType, y[i]));
    }
    for (int64_t h = 0; h < s.valueHeads; ++h)
      for (int64_t i = 0; i < s.valueSize; ++i) {
        int64_t row = (slotOf[t] * s.valueHeads + h) * context + positions[t];
        float expected = roundTo(
            s.valueType, value[(t * s.valueHeads + h) * s.valueSize + i]);
        ASSERT_EQ(
            loadOne(s.valueType, valueCache.data(), row * s.valueSize + i),
            expected);
      }
  }
  // Nothing else was written.
  int64_t rowBytes = s.keySize * elementBytes(s.keyType);
  for (size_t row = 0; row < written.size(); ++row)
    if (!written[row])
      ASSERT_EQ(std::memcmp(keyCache.data() + row * rowBytes,
                            before.data() + row * rowBytes, rowBytes),
                0);
  EXPECT_TRUE(qOut.guardsIntact() && keyCache.guardsIntact() &&
              valueCache.guardsIntact());
}

TEST(PlainKernel, Rotary) {
  std::vector<std::string> names = {
      "rotary.t5.q3_64.k2_64_bf16.v2_64_bf16.r64_half",
      "rotary.t5.q3_64.k1_64_f32.v1_64_f16.r32_pairs.scale1p25",
      "rotary.t5.q2_10.k2_10_f16.v1_7_bf16.r6_half.qnorm_rms_f32_1em06"
      ".knorm_rms_f32_1em06",
      "rotary.t5.q2_80.r80_pairs",
      "rotary.t5.k2_24_bf16.r24_half",
      "rotary.t5.v2_24_f32",
      "rotary.t5.k2_24_f32.v2_24_f32"};
  onEachLevel(names, [&](KernelSet &kernels) {
    for (size_t i = 0; i < names.size(); ++i)
      testRotary(kernels, i);
  });
}

TEST(PlainKernel, RotaryInPlaceAndFarPositions) {
  onEachLevel({"rotary.t1.q1_64.r64_half"}, [](KernelSet &kernels) {
    RotarySpec s = std::get<RotarySpec>(kernels.spec(0).spec);
    std::vector<float> frequencies;
    for (int i = 0; i < 32; ++i)
      frequencies.push_back(static_cast<float>(std::pow(500000.0, -i / 32.0)));
    for (int32_t position : {1, 12345, 131071, 999983, 16777215}) {
      std::vector<float> x = normals(64);
      Buffer positions(std::vector<int32_t>{position}), f(frequencies), q(x);
      kernels.run(0, {positions.data(), f.data(), q.data(), q.data()});
      auto y = rotated(s, {}, {}, x.data(), 64, position, frequencies);
      for (int i = 0; i < 64; ++i)
        ASSERT_NEAR(q.as<float>()[i], y[i], 1e-6 * (1 + std::fabs(x[i])))
            << position;
    }
  });
}

} // namespace
