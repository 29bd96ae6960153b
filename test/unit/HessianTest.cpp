// Sums of recordings by numbers: classes apart, precision over a million
// positions, waves, fingerprints.

#include "compiler/Record/Hessian.h"
#include "compiler/Record/Fingerprint.h"
#include "kernels/Format/ElementType.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

constexpr auto D = PositionClass::Decode, P = PositionClass::Prompt,
               F = PositionClass::First, N = PositionClass::None;

std::vector<float> normals(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float &v : values)
    v = normal(random);
  return values;
}

std::vector<float> triangleOf(const Hessian &h, PositionClass positions) {
  std::vector<float> out(triangleSize(h.columns()));
  h.triangle(positions, out.data());
  return out;
}

TEST(Hessian, KeepsClassesApartAndSkipsNone) {
  // More than 256 columns and rows, so that panels and flushes are crossed.
  constexpr int64_t rows = 700, columns = 300, stride = 310;
  std::vector<float> x = normals(rows * stride, 1);
  std::vector<PositionClass> classes;
  for (int64_t r = 0; r < rows; ++r)
    classes.push_back(r % 7 == 0 ? N : r % 50 == 1 ? F : r % 3 ? D : P);
  Hessian h(columns);
  for (int64_t r = 0; r < rows; r += 16) {
    int64_t count = std::min<int64_t>(16, rows - r);
    ASSERT_FALSE(h.add(x.data() + r * stride, stride,
                       llvm::ArrayRef(classes).slice(r, count), 2));
  }
  h.finishWave(2);
  for (PositionClass c : {D, P, F}) {
    EXPECT_EQ(h.count(c), std::count(classes.begin(), classes.end(), c));
    std::vector<float> got = triangleOf(h, c);
    size_t at = 0;
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = i; j < columns; ++j, ++at) {
        if ((i + j) % 17)
          continue;
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r)
          if (classes[r] == c)
            sum += double(x[r * stride + i]) * x[r * stride + j];
        ASSERT_NEAR(got[at], sum, 2e-6 * rows) << i << ", " << j;
      }
  }
}

TEST(Hessian, StaysExactOverAMillionPositions) {
  // Column 0 is the same at every position, which biases sums in f32; column 1
  // is 100 times as large as the others.
  constexpr int64_t columns = 12, batch = 1000, batches = 1000;
  Hessian h(columns);
  std::vector<double> expected(columns * columns, 0.0);
  std::vector<PositionClass> classes(batch, D);
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<float> x = normals(batch * columns, unsigned(b));
    for (int64_t r = 0; r < batch; ++r) {
      float *row = &x[r * columns];
      row[0] = 0.7f;
      row[1] *= 100;
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = i; j < columns; ++j)
          expected[i * columns + j] += double(row[i]) * row[j];
    }
    ASSERT_FALSE(h.add(x.data(), columns, classes, 1));
    if (b % 10 == 9)
      h.finishWave(1);
  }
  std::vector<float> got = triangleOf(h, D);
  EXPECT_EQ(h.count(D), batch * batches);
  double worst = 0;
  size_t at = 0;
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = i; j < columns; ++j, ++at)
      worst = std::max(worst, std::fabs(got[at] - expected[i * columns + j]) /
                                  std::sqrt(expected[i * columns + i] *
                                            expected[j * columns + j]));
  EXPECT_LT(worst, 1e-6);
  RecordProperty("worst", std::to_string(worst));
}

TEST(Hessian, GoesOnFromAFileWithTheSameBits) {
  constexpr int64_t columns = 70;
  std::vector<PositionClass> classes(90, D);
  classes[0] = F;
  classes[1] = classes[2] = P;
  Hessian whole(columns), resumed(columns);
  for (unsigned wave = 0; wave < 4; ++wave) {
    std::vector<float> x = normals(90 * columns, wave);
    ASSERT_FALSE(whole.add(x.data(), columns, classes, 1));
    whole.finishWave(1);
    // Every wave of the other begins from what a file would hold.
    Hessian next(columns);
    for (PositionClass c : {D, P, F})
      next.load(c, triangleOf(resumed, c), resumed.count(c));
    ASSERT_FALSE(next.add(x.data(), columns, classes, 2));
    next.finishWave(2);
    resumed = next;
  }
  for (PositionClass c : {D, P, F}) {
    EXPECT_EQ(whole.count(c), resumed.count(c));
    EXPECT_EQ(triangleOf(whole, c), triangleOf(resumed, c));
  }
}

TEST(Hessian, RefusesWhatIsNotFinite) {
  Hessian h(4);
  std::vector<float> x = {1, 2, 3, 4, 1, 2, INFINITY, 4};
  EXPECT_EQ(llvm::toString(h.add(x.data(), 4, {D, D}, 1)),
            "the activation at row 1, column 2 is not finite");
  EXPECT_EQ(h.count(D), 0);
  EXPECT_FALSE(h.add(x.data(), 4, {D, N}, 1));
  EXPECT_EQ(h.count(D), 1);
}

Fingerprint fingerprintOf(const std::vector<float> &w, int64_t columns,
                          int64_t step) {
  FingerprintBuilder builder(columns);
  int64_t rows = static_cast<int64_t>(w.size()) / columns;
  for (int64_t r = 0; r < rows; r += step)
    builder.addRows(w.data() + r * columns, std::min(step, rows - r), 2);
  return builder.finish();
}

TEST(Fingerprint, SurvivesRoundingAndNothingElse) {
  const int64_t shapes[][2] = {{64, 64}, {300, 517}, {8, 32}};
  for (auto &shape : shapes) {
    int64_t rows = shape[0], columns = shape[1];
    std::vector<float> w = normals(rows * columns, 1);
    for (float &v : w)
      v *= 0.02f;
    Fingerprint original = fingerprintOf(w, columns, rows);
    EXPECT_TRUE(original.matches(fingerprintOf(w, columns, 7)));
    auto changed = [&](auto change) {
      std::vector<float> other = w;
      for (size_t i = 0; i < other.size(); ++i)
        other[i] = change(other[i], i);
      return fingerprintOf(other, columns, rows);
    };
    for (ElementType type : {ElementType::BF16, ElementType::F16}) {
      EXPECT_TRUE(original.matches(
          changed([&](float v, size_t) { return roundTo(type, v); })));
    }
    EXPECT_TRUE(original.matches(changed([](float v, size_t) {
      return roundTo(ElementType::F16, roundTo(ElementType::BF16, v));
    })));
    std::vector<float> noise = normals(rows * columns, 2);
    // Other weights, a light fine-tuning, another scale, swapped rows.
    EXPECT_FALSE(original.matches(
        changed([&](float, size_t i) { return 0.02f * noise[i]; })));
    EXPECT_FALSE(original.matches(changed(
        [&](float v, size_t i) { return v + 0.02f * 0.02f * noise[i]; })));
    EXPECT_FALSE(
        original.matches(changed([](float v, size_t) { return v * 1.01f; })));
    EXPECT_FALSE(original.matches(
        changed([&](float, size_t i) { return w[(i + columns) % w.size()]; })));
    EXPECT_FALSE(original.matches(
        changed([](float v, size_t i) { return i % 4 < 2 ? v : 0.0f; })));
  }
}

TEST(Fingerprint, SignsAreThoseOfTheHeader) {
  // A weight with a single 1 at row r, column k gives the product of signs.
  // splitmix64(0) = 0xe220a8397b1dcdaf, splitmix64(~0) = 0xe4d971771b652c20.
  std::vector<float> w(6, 0.0f);
  w[0] = 1;
  Fingerprint print = fingerprintOf(w, 3, 2);
  EXPECT_EQ(print.norm, 1);
  for (int t = 0; t < 8; ++t) {
    int minus = (0xaf >> t & 1) ^ (0x20 >> t & 1);
    EXPECT_EQ(print.projections[t], minus ? -1 : 1) << t;
  }
  EXPECT_TRUE(fingerprintOf({0, 0}, 2, 1).matches(fingerprintOf({0, 0}, 2, 1)));
}

} // namespace
