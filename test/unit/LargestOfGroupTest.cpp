// The choice of the largest of each group, against a sort.

#include "compiler/Prune/LargestOfGroup.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace sdc;
using namespace sdc::detail;

namespace {

/// The definition by a sort of each group.
std::vector<uint32_t> sorted(const std::vector<float> &w, const double *scale,
                             Pattern pattern) {
  auto columns = static_cast<int64_t>(w.size());
  std::vector<uint32_t> masks((w.size() + 31) / 32);
  for (int64_t begin = 0; begin < columns; begin += pattern.m) {
    std::vector<std::pair<double, int64_t>> group;
    for (int64_t j = begin; j < std::min<int64_t>(begin + pattern.m, columns);
         ++j)
      group.push_back({std::fabs(double(w[j])) * (scale ? scale[j] : 1.0), j});
    std::sort(group.begin(), group.end(), [](auto &a, auto &b) {
      return a.first > b.first || (a.first == b.first && a.second < b.second);
    });
    for (size_t i = 0; i < std::min<size_t>(pattern.n, group.size()); ++i)
      masks[group[i].second / 32] |= uint32_t(1) << (group[i].second % 32);
  }
  return masks;
}

using Choose = void (*)(const float *, const double *, int64_t, Pattern,
                        uint32_t *);

void check(Choose choose) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int64_t columns : {1, 5, 31, 32, 33, 64, 100, 2048})
    for (bool ties : {false, true}) {
      std::vector<float> w(columns);
      std::vector<double> scale(columns);
      for (int64_t j = 0; j < columns; ++j) {
        // Few different values, zeros of both signs and subnormals among them.
        w[j] = ties ? std::trunc(2 * normal(random)) * 1e-45f : normal(random);
        scale[j] = ties ? std::trunc(std::fabs(2 * normal(random)))
                        : std::fabs(normal(random));
      }
      for (unsigned m : {2, 4, 8, 16, 32})
        for (unsigned n : {1u, m / 2, m - 1})
          for (const double *s :
               {(const double *)nullptr, (const double *)scale.data()}) {
            std::vector<uint32_t> masks((w.size() + 31) / 32, 0xdeadbeef);
            choose(w.data(), s, columns, {n, m}, masks.data());
            EXPECT_EQ(masks, sorted(w, s, {n, m}))
                << n << ":" << m << ", " << columns << " columns"
                << (s ? ", scaled" : "") << (ties ? ", with ties" : "");
          }
    }
}

TEST(LargestOfGroup, IsThatOfASort) { check(keepLargestOfRow); }
TEST(LargestOfGroup, IsThatOfASortWithoutVectors) {
  check(keepLargestOfRowPlain);
}

} // namespace
