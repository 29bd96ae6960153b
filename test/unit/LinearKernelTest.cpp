// Generated linear kernels against sums in double: every pattern, type and
// level on odd shapes, with norms, biases, activations, gates and residuals;
// the bits do not depend on how units are cut into ranges, nor a row's result
// on the other rows.

#include "kernels/Reference/Reference.h"
#include "test/unit/KernelRunner.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

std::mt19937 &random() {
  static std::mt19937 engine(7);
  return engine;
}

std::vector<float> normals(size_t count, double scale = 1) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(normal(random()) * scale);
  return values;
}

/// N:M weights, some groups with fewer non-zeros than N.
std::vector<uint8_t> randomPacked(const PackedLayout &layout) {
  std::vector<float> w =
      normals(layout.rows * layout.columns, 1 / std::sqrt(layout.columns));
  std::vector<int64_t> order;
  for (int64_t r = 0; r < layout.rows; ++r)
    for (int64_t c = 0; c < layout.columns; c += layout.pattern.m) {
      int64_t size = std::min<int64_t>(layout.pattern.m, layout.columns - c);
      order.resize(size);
      for (int64_t i = 0; i < size; ++i)
        order[i] = i;
      std::shuffle(order.begin(), order.end(), random());
      for (int64_t i = layout.pattern.n; i < size; ++i)
        w[r * layout.columns + c + order[i]] = 0;
    }
  std::vector<uint8_t> packed(layout.packedSize());
  auto problem = packBlocks(layout, 0, layout.numBlocks(), w.data(),
                            layout.columns, nullptr, packed.data());
  EXPECT_FALSE(problem) << problem->str();
  return packed;
}

std::vector<uint8_t> stored(ElementType type, const std::vector<float> &values,
                            std::vector<float> &rounded) {
  std::vector<uint8_t> bytes(values.size() * elementBytes(type));
  storeValues(type, values.data(), values.size(), bytes.data());
  rounded.resize(values.size());
  loadValues(type, bytes.data(), values.size(), rounded.data());
  return bytes;
}

double activate(Activation act, double x) {
  switch (act) {
  case Activation::None:
    return x;
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::GeluErf:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case Activation::Relu2:
    return std::max(x, 0.0) * std::max(x, 0.0);
  }
  return x;
}

std::vector<double> normed(const NormSpec &norm, const float *x, int64_t n,
                           const float *weight, const float *bias) {
  std::vector<double> y(x, x + n);
  if (!norm.present())
    return y;
  double mean = 0, square = 0;
  if (norm.kind == NormSpec::Kind::Layer)
    for (double v : y)
      mean += v / n;
  for (double v : y)
    square += (v - mean) * (v - mean) / n;
  for (int64_t i = 0; i < n; ++i)
    y[i] = (y[i] - mean) / std::sqrt(square + norm.eps) * weight[i] +
           (norm.bias ? bias[i] : 0);
  return y;
}

/// Operands of one linear, and what should come out.
struct Problem {
  explicit Problem(const LinearSpec &s) : s(s) {
    std::vector<float> ignored;
    x = normals(s.rows * s.columns, 2);
    add(x);
    if (s.norm.present())
      buffers.emplace_back(stored(s.norm.type, normals(s.columns), normWeight));
    if (s.norm.bias)
      buffers.emplace_back(stored(s.norm.type, normals(s.columns), normBias));
    for (int64_t t = 0; t < s.rows; ++t)
      positions.push_back(t % 3 == 1 || (s.rows > 4 && t + 1 == s.rows)
                              ? -1
                              : static_cast<int32_t>(t));
    if (s.select != LinearSpec::Select::All)
      buffers.emplace_back(positions);
    for (size_t p = 0; p < s.parts.size(); ++p) {
      packed.push_back(randomPacked(s.layout(p)));
      buffers.emplace_back(packed.back());
      biases.emplace_back();
      if (s.parts[p].bias)
        buffers.emplace_back(stored(s.parts[p].biasType,
                                    normals(s.parts[p].rows), biases.back()));
    }
    if (s.residual) {
      residual = normals(s.outputRows() * s.parts[0].rows);
      add(residual);
    }
    firstOut = buffers.size();
    for (size_t o = 0; o < s.numOutputs(); ++o)
      buffers.emplace_back(size_t(s.outputRows() * s.parts[o].rows * 4));
  }

  void add(const std::vector<float> &values) { buffers.emplace_back(values); }

  std::vector<void *> operands() {
    std::vector<void *> result;
    for (Buffer &buffer : buffers)
      result.push_back(buffer.data());
    return result;
  }

  bool isActive(int64_t t) const {
    return s.select != LinearSpec::Select::Active || positions[t] >= 0;
  }

  void check() {
    for (int64_t t = 0; t < s.outputRows(); ++t) {
      if (!isActive(t))
        continue;
      int64_t from = t;
      if (s.select == LinearSpec::Select::Last)
        for (int64_t i = 0; i < s.rows; ++i)
          from = positions[i] >= 0 ? i : from;
      std::vector<double> y = normed(s.norm, &x[from * s.columns], s.columns,
                                     normWeight.data(), normBias.data());
      for (size_t o = 0; o < s.numOutputs(); ++o)
        checkRow(o, t, y);
    }
    for (Buffer &buffer : buffers)
      EXPECT_TRUE(buffer.guardsIntact());
  }

  void checkRow(size_t out, int64_t t, const std::vector<double> &y) {
    auto value = [&](size_t p, int64_t r, double &size) {
      double sum = 0;
      for (int64_t c = 0; c < s.columns; ++c) {
        double product =
            y[c] * reference::packedWeight(s.layout(p), packed[p].data(), r, c);
        sum += product;
        size += std::fabs(product);
      }
      if (s.parts[p].bias)
        sum += biases[p][r];
      return activate(s.parts[p].act, sum);
    };
    int64_t rows = s.parts[out].rows;
    for (int64_t r = 0; r < rows; ++r) {
      double size = 1, expected = value(out, r, size);
      if (s.pair)
        expected *= value(1, r, size);
      if (s.residual)
        expected += residual[t * rows + r];
      double got = buffers[firstOut + out].as<float>()[t * rows + r];
      ASSERT_NEAR(got, expected, 2e-6 * size * (1 + std::fabs(expected)))
          << "row " << t << ", column " << r;
    }
  }

  std::vector<uint8_t> bytesOf(size_t out) {
    Buffer &buffer = buffers[firstOut + out];
    return {buffer.data(), buffer.data() + buffer.size()};
  }

  LinearSpec s;
  std::vector<float> x, normWeight, normBias, residual;
  std::vector<int32_t> positions;
  std::vector<std::vector<uint8_t>> packed;
  std::vector<std::vector<float>> biases;
  std::vector<Buffer> buffers;
  size_t firstOut = 0;
};

void testAll(const std::vector<std::string> &names) {
  for (CpuLevel level : kCpuLevels) {
    if (!canRun(level))
      continue;
    KernelSet kernels(names, level);
    ASSERT_EQ(kernels.problem, "");
    for (size_t i = 0; i < names.size(); ++i) {
      SCOPED_TRACE(names[i] + " on " + std::string(cpuLevelName(level)));
      Problem problem(std::get<LinearSpec>(kernels.spec(i).spec));
      std::vector<std::vector<uint8_t>> bits;
      // One range; ranges of which some are empty; one for each unit.
      for (int ranges : {1, 3, 97}) {
        kernels.run(i, problem.operands(), ranges);
        for (size_t o = 0; o < problem.s.numOutputs(); ++o) {
          if (ranges == 1)
            bits.push_back(problem.bytesOf(o));
          else
            EXPECT_EQ(problem.bytesOf(o), bits[o]) << ranges << " ranges";
        }
      }
      problem.check();
      ASSERT_EQ(kernels.problem, "");
    }
  }
}

std::string part(int rows, const std::string &what, char key = 'w') {
  return "." + std::string(1, key) + std::to_string(rows) + "_" + what;
}

TEST(LinearKernel, EveryPatternAndType) {
  std::vector<std::string> names;
  for (const char *pattern :
       {"dense", "1of2", "2of4", "1of4", "3of4", "4of8", "3of8", "7of8",
        "8of16", "5of16", "11of16", "16of32", "24of32", "3of32", "8of32",
        "9of32", "17of32", "31of32", "1of32"})
    for (const char *type : {"bf16", "f16", "f32"})
      names.push_back(std::string("linear.t1.k100") +
                      part(9, std::string(pattern) + "_" + type + "_rows8"));
  testAll(names);
}

TEST(LinearKernel, OddShapes) {
  std::vector<std::string> names;
  for (int rows : {1, 3, 7, 9, 64, 257})
    for (int k : {1, 8, 31, 32, 33, 576})
      names.push_back(
          "linear.t1.k" + std::to_string(k) +
          part(rows, rows % 2 ? "16of32_bf16_rows8" : "dense_bf16_rows8"));
  names.push_back("linear.t1.k1536.w960_16of32_bf16_rows8");
  names.push_back("linear.t1.k1536.w960_dense_f16_rows8");
  testAll(names);
}

TEST(LinearKernel, EveryTile) {
  std::vector<std::string> names;
  for (int tile : {1, 2, 4, 8, 16})
    for (int batch : {1, 3, 9})
      names.push_back("linear.t" + std::to_string(batch) + ".k70" +
                      part(21, "3of8_bf16_rows" + std::to_string(tile)));
  testAll(names);
}

TEST(LinearKernel, Batches) {
  std::vector<std::string> names;
  for (int batch : {2, 3, 4, 5, 6, 7, 16, 64})
    for (const char *what : {"16of32_bf16_rows8", "dense_bf16_rows8",
                             "2of4_f32_rows8", "dense_f16_rows8"})
      names.push_back("linear.t" + std::to_string(batch) + ".k100" +
                      part(11, what));
  testAll(names);
}

TEST(LinearKernel, FusedNeighbours) {
  testAll({
      "linear.t1.k576.rms_f32_1em05.w40_16of32_bf16_rows8"
      ".w24_16of32_bf16_rows8_biasf32.w9_dense_f32_rows4_biasbf16",
      "linear.t1.k100.layer_f16_1em05.w9_dense_bf16_rows8_biasf16_gelu_erf",
      "linear.t1.k31.layer_bias_bf16_0p001.w9_dense_bf16_rows8.add",
      "linear.t7.k100.layer_bias_f32_1em05.w9_dense_bf16_rows8_relu2.add",
      "linear.t1.k64.rms_bf16_1em06.g20_16of32_bf16_rows8_silu"
      ".u20_16of32_bf16_rows8",
      "linear.t5.k64.g20_2of4_f16_rows8_gelu_tanh.u20_dense_bf16_rows8.add",
      "linear.t1.k64.g20_2of4_f16_rows8_biasf32_quick_gelu"
      ".u20_dense_bf16_rows8_biasf32",
      "linear.t1.k64.w20_dense_bf16_rows8_relu.add",
      "linear.t9.k64.rms_f32_1em05.last.w20_dense_bf16_rows8",
      "linear.t1.k64.last.w20_dense_bf16_rows8",
      "linear.t2.k64.rms_f32_1em05.active.w20_dense_bf16_rows8.add",
      "linear.t16.k64.rms_f32_1em05.active.w20_16of32_bf16_rows8"
      ".w3_16of32_bf16_rows4",
      "linear.t1.k64.active.w20_dense_bf16_rows8",
      // 2, 3 and 5 rows that take part.
      "linear.t3.k64.active.w20_dense_bf16_rows8",
      "linear.t4.k64.active.w20_16of32_bf16_rows8",
      "linear.t8.k64.active.w20_16of32_bf16_rows8.add",
  });
}

// The same row alone, among 3 and among 64 gives the same bits.
TEST(LinearKernel, RowsDoNotSeeEachOther) {
  for (const char *what : {"16of32_bf16_rows8", "dense_bf16_rows8",
                           "4of8_f16_rows8", "16of32_f32_rows8"}) {
    std::vector<std::vector<uint8_t>> bits;
    for (CpuLevel level : kCpuLevels) {
      if (!canRun(level))
        continue;
      std::vector<std::string> names;
      for (int batch : {1, 3, 64})
        names.push_back("linear.t" + std::to_string(batch) +
                        ".k100.rms_f32_1em05" + part(19, what));
      KernelSet kernels(names, level);
      ASSERT_EQ(kernels.problem, "");
      random().seed(3);
      Problem problem(std::get<LinearSpec>(kernels.spec(2).spec));
      for (size_t i = 0; i < names.size(); ++i) {
        kernels.run(i, problem.operands());
        std::vector<uint8_t> all = problem.bytesOf(0);
        bits.emplace_back(all.begin(), all.begin() + 19 * 4);
      }
    }
    for (const auto &other : bits)
      EXPECT_EQ(other, bits[0]) << what;
  }
}

} // namespace
