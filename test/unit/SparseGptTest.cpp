// The pruning library where an oracle is not needed: identities, determinism,
// damping, errors. Numbers are compared with numpy in test/Prune.

#include "compiler/Prune/SparseGpt.h"
#include "compiler/Algebra/QuadraticForm.h"
#include "kernels/Format/Bitmask.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

struct Problem {
  int64_t rows, columns;
  std::vector<float> w, h;

  /// `rank` random positions; fewer than `columns` make H singular.
  Problem(int64_t rows, int64_t columns, int64_t rank, unsigned seed)
      : rows(rows), columns(columns), w(rows * columns),
        h(columns * columns, 0.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float &v : w)
      v = normal(random);
    std::vector<float> x(columns);
    std::vector<double> sums(h.size(), 0.0);
    for (int64_t p = 0; p < rank; ++p) {
      float common = normal(random);
      for (float &v : x)
        v = normal(random) + common;
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = 0; j < columns; ++j)
          sums[i * columns + j] += double(x[i]) * x[j];
    }
    for (size_t i = 0; i < h.size(); ++i)
      h[i] = static_cast<float>(sums[i]);
  }

  DenseWeight weight() const { return {w.data(), rows, columns}; }
};

struct Result {
  std::vector<float> w;
  std::vector<uint32_t> mask;
  PruneReport report;
};

Result sparseGpt(const Problem &p, const PruneSettings &settings,
                 double damping = 0.01) {
  Result result;
  result.w.resize(p.w.size());
  result.mask.resize(p.rows * p.weight().words());
  auto factor =
      HessianFactor::compute(p.h.data(), p.columns, damping, settings.threads);
  if (!factor) {
    ADD_FAILURE() << llvm::toString(factor.takeError());
    return result;
  }
  auto report = pruneSparseGpt(p.weight(), p.h.data(), *factor, settings,
                               {result.w.data(), result.mask.data()});
  if (!report)
    ADD_FAILURE() << llvm::toString(report.takeError());
  else
    result.report = *report;
  return result;
}

std::string factorError(const std::vector<float> &h, int64_t columns,
                        double damping) {
  auto factor = HessianFactor::compute(h.data(), columns, damping, 1);
  return factor ? "" : llvm::toString(factor.takeError());
}

TEST(SparseGpt, BitsDoNotDependOnThreads) {
  Problem p(300, 1200, 1500, 1);
  PruneSettings settings;
  settings.pattern = {16, 32};
  Result one = sparseGpt(p, settings);
  for (unsigned threads : {2u, 3u, 7u}) {
    settings.threads = threads;
    Result many = sparseGpt(p, settings);
    EXPECT_EQ(std::memcmp(one.w.data(), many.w.data(), 4 * one.w.size()), 0);
    EXPECT_EQ(one.mask, many.mask);
    EXPECT_EQ(one.report.loss, many.report.loss);
    EXPECT_EQ(one.report.relativeLoss, many.report.relativeLoss);
  }
}

TEST(SparseGpt, ReportedLossIsTheQuadraticForm) {
  Problem p(70, 300, 500, 2);
  for (ElementType type : {ElementType::F32, ElementType::BF16}) {
    PruneSettings settings;
    settings.pattern = {2, 4};
    settings.type = type;
    Result result = sparseGpt(p, settings);
    double loss = 0;
    for (int64_t r = 0; r < p.rows; ++r)
      for (int64_t i = 0; i < p.columns; ++i)
        for (int64_t j = 0; j < p.columns; ++j)
          loss +=
              (double(p.w[r * p.columns + i]) - result.w[r * p.columns + i]) *
              p.h[i * p.columns + j] *
              (double(p.w[r * p.columns + j]) - result.w[r * p.columns + j]);
    EXPECT_NEAR(result.report.loss, loss, 1e-4 * loss);
    for (float w : result.w)
      EXPECT_EQ(w, roundTo(type, w));
  }
}

TEST(SparseGpt, CompensatesForRounding) {
  // Rounding the weights afterwards must be worse than rounding inside.
  Problem p(64, 256, 2000, 3);
  PruneSettings settings;
  settings.pattern = {31, 32};
  Result exact = sparseGpt(p, settings);
  settings.type = ElementType::BF16;
  Result inside = sparseGpt(p, settings);
  std::vector<float> d(p.w.size());
  for (size_t i = 0; i < d.size(); ++i)
    d[i] = p.w[i] - roundTo(ElementType::BF16, exact.w[i]);
  double after = quadraticForm(p.rows, p.columns, d.data(), p.h.data(), 1);
  EXPECT_LT(inside.report.loss, after);
  EXPECT_GT(inside.report.loss, exact.report.loss);
}

TEST(SparseGpt, ResultPacksAndVerifies) {
  Problem p(37, 203, 400, 4);
  for (Pattern pattern : {Pattern{2, 4}, Pattern{16, 32}, Pattern{3, 4}}) {
    PruneSettings settings;
    settings.pattern = pattern;
    settings.type = ElementType::BF16;
    Result result = sparseGpt(p, settings);
    PackedLayout layout{p.rows, p.columns, ElementType::BF16, pattern,
                        Tile::interleavedRows(8)};
    std::vector<uint8_t> packed(layout.packedSize());
    auto bad = packBlocks(layout, 0, layout.numBlocks(), result.w.data(),
                          p.columns, result.mask.data(), packed.data());
    ASSERT_FALSE(bad) << bad->str();
    bad = verifyBlocks(layout, 0, layout.numBlocks(), packed.data());
    ASSERT_FALSE(bad) << bad->str();
  }
}

TEST(SparseGpt, KeepsTheWeightsOfAnUncorrelatedInput) {
  // With H diagonal there is nothing to compensate with: SparseGPT is Wanda.
  Problem p(20, 64, 1, 5);
  std::fill(p.h.begin(), p.h.end(), 0.0f);
  for (int64_t j = 0; j < 64; ++j)
    p.h[j * 65] = 1 + static_cast<float>(j % 7);
  PruneSettings settings;
  settings.pattern = {2, 4};
  Result result = sparseGpt(p, settings, 0.0);
  std::vector<float> w(p.w.size());
  std::vector<uint32_t> mask(result.mask.size());
  auto report =
      pruneWanda(p.weight(), p.h.data(), settings, {w.data(), mask.data()});
  ASSERT_TRUE(bool(report));
  EXPECT_EQ(w, result.w);
  EXPECT_EQ(mask, result.mask);
  EXPECT_NEAR(report->loss, result.report.loss, 1e-5 * report->loss);
}

TEST(HessianFactor, RaisesDampingWithAReason) {
  // Fewer positions than columns and no damping: a pivot is rounding noise.
  Problem p(8, 128, 20, 6);
  PruneSettings settings;
  settings.pattern = {2, 4};
  Result result = sparseGpt(p, settings, 0.0);
  EXPECT_GT(result.report.damping, 0);
  ASSERT_FALSE(result.report.reasons.empty());
  EXPECT_NE(result.report.reasons[0].find("damping 0 raised to 0.0001: "),
            std::string::npos)
      << result.report.reasons[0];
  // The usual damping is enough.
  result = sparseGpt(p, settings);
  EXPECT_EQ(result.report.damping, 0.01);
  EXPECT_TRUE(result.report.reasons.empty());
}

TEST(HessianFactor, RefusesWhatIsNoSecondMoment) {
  std::vector<float> h = {1, 5, 5, 1};
  EXPECT_NE(factorError(h, 2, 0.01)
                .find("the second moments are not positive definite, even with "
                      "damping 1"),
            std::string::npos)
      << factorError(h, 2, 0.01);
  h = {1, 0.5f, 0.25f, 1};
  EXPECT_NE(factorError(h, 2, 0.01).find("not symmetric at 0, 1"),
            std::string::npos);
  h = {1, NAN, NAN, 1};
  EXPECT_NE(factorError(h, 2, 0.01).find("is not finite"), std::string::npos);
  h = {-1, 0, 0, 1};
  EXPECT_NE(factorError(h, 2, 0.01).find("is not at least 0"),
            std::string::npos);
  h = {0, 1, 1, 2};
  EXPECT_NE(factorError(h, 2, 0.01).find("never excited"), std::string::npos);
  h = {1, 0, 0, 1};
  EXPECT_NE(factorError(h, 2, -1).find("out of range"), std::string::npos);
}

TEST(HessianFactor, InvertsWithAnAttentionSink) {
  // One direction 1e6 times as strong as the rest: f64 keeps the factor.
  constexpr int64_t n = 700;
  Problem p(1, n, 900, 7);
  std::vector<double> sink(n);
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  for (double &v : sink)
    v = normal(random) * 1e3;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      p.h[i * n + j] += static_cast<float>(900 * sink[i] * sink[j]);
  auto factor = HessianFactor::compute(p.h.data(), n, 0.01, 2);
  ASSERT_TRUE(bool(factor)) << llvm::toString(factor.takeError());
  EXPECT_TRUE(factor->reasons().empty());
  EXPECT_LT(factor->residual(), 1e-4);
}

TEST(Prune, WithoutMomentsTheLossIsUnknown) {
  Problem p(4, 32, 40, 9);
  std::vector<float> w(p.w.size());
  std::vector<uint32_t> mask(4);
  PruneSettings settings;
  settings.pattern = {1, 2};
  auto report =
      pruneMagnitude(p.weight(), nullptr, settings, {w.data(), mask.data()});
  ASSERT_TRUE(bool(report));
  EXPECT_TRUE(std::isnan(report->loss));
  EXPECT_GT(report->relativeChange, 0);
}

TEST(Prune, NamesWhatIsWrongWithItsInput) {
  Problem p(4, 32, 40, 10);
  std::vector<float> w(p.w.size());
  std::vector<uint32_t> mask(4);
  auto errorOf = [&](Pattern pattern, ElementType type) -> std::string {
    PruneSettings settings;
    settings.pattern = pattern;
    settings.type = type;
    auto report =
        pruneMagnitude(p.weight(), nullptr, settings, {w.data(), mask.data()});
    return report ? "" : llvm::toString(report.takeError());
  };
  EXPECT_NE(errorOf({4, 2}, ElementType::F32), "");
  EXPECT_NE(errorOf(Pattern::dense(), ElementType::F32), "");
  p.w[33] = 1e5f;
  EXPECT_EQ(errorOf({2, 4}, ElementType::F16),
            "weight 100000 at row 1, column 1 is not finite in f16");
  p.w[33] = NAN;
  EXPECT_EQ(errorOf({2, 4}, ElementType::F32),
            "weight nan at row 1, column 1 is not finite");
}

TEST(KeepSparsity, DetectsAndKeeps) {
  constexpr int64_t rows = 6, columns = 70;
  std::mt19937 random(11);
  for (Pattern pattern : {Pattern{2, 4}, Pattern{1, 4}, Pattern{5, 8},
                          Pattern{8, 16}, Pattern{24, 32}, Pattern{1, 2}}) {
    std::vector<float> w(rows * columns, 0.0f), out(w.size());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < columns; k += pattern.m)
        for (unsigned i = 0; i < pattern.n; ++i) {
          // Alternating ends of the group, so that no finer pattern fits.
          int64_t j = k + (r % 2 ? pattern.m - 1 - i : i);
          if (j < columns)
            w[r * columns + j] = 1 + static_cast<float>(random() % 100);
        }
    DenseWeight weight = {w.data(), rows, columns};
    EXPECT_EQ(detectPattern(weight), pattern) << pattern.str();
    std::vector<uint32_t> mask(rows * 3);
    PruneSettings settings;
    settings.pattern = pattern;
    auto report =
        keepSparsity(weight, nullptr, settings, {out.data(), mask.data()});
    ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
    EXPECT_EQ(out, w);
    EXPECT_EQ(report->relativeChange, 0);
  }
  std::vector<float> full(64, 1.0f), out(64);
  std::vector<uint32_t> mask(2);
  DenseWeight weight = {full.data(), 2, 32};
  EXPECT_FALSE(detectPattern(weight));
  PruneSettings settings;
  settings.pattern = {2, 4};
  auto report =
      keepSparsity(weight, nullptr, settings, {out.data(), mask.data()});
  ASSERT_FALSE(bool(report));
  EXPECT_EQ(llvm::toString(report.takeError()),
            "row 0, column 0: a group of 4 has 4 non-zeros, expected at most "
            "2");
  std::fill(full.begin(), full.end(), 0.0f);
  EXPECT_EQ(detectPattern(weight), (Pattern{1, 32}));
}

} // namespace
