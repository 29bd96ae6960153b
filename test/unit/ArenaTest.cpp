// Placement of buffers: hand-made cases with known answers, small random cases
// against an exhaustive search, and large ones against a checker that paints
// bytes.

#include "compiler/Plan/Arena.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace sdc;

namespace {

/// Paints every 64-byte line of every step and finds lines painted twice. Knows
/// nothing of intervals.
bool paintsTwice(const std::vector<Lifetime> &lifetimes,
                 const ArenaPlan &plan) {
  int64_t steps = 0;
  for (const Lifetime &l : lifetimes)
    steps = std::max(steps, l.last + 1);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<int> lines(plan.size / 64, 0);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      if (step < lifetimes[i].first || step > lifetimes[i].last)
        continue;
      for (int64_t byte = 0; byte < lifetimes[i].size; byte += 64)
        if (lines.at((plan.offsets[i] + byte) / 64)++)
          return true;
    }
  }
  return false;
}

/// The smallest arena, in lines of 64 bytes, by trying every placement below
/// `limit`; sizes are multiples of 64.
int64_t smallestArena(const std::vector<Lifetime> &lifetimes, int64_t limit) {
  int64_t best = limit;
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  auto search = [&](auto &&self, size_t i, int64_t top) -> void {
    if (top >= best)
      return;
    if (i == lifetimes.size()) {
      best = top;
      return;
    }
    for (int64_t line = 0; line + lifetimes[i].size / 64 < best; ++line) {
      bool free = true;
      for (size_t j = 0; j < i && free; ++j)
        free = lifetimes[j].last < lifetimes[i].first ||
               lifetimes[i].last < lifetimes[j].first ||
               plan.offsets[j] + lifetimes[j].size <= line * 64 ||
               line * 64 + lifetimes[i].size <= plan.offsets[j];
      if (!free)
        continue;
      plan.offsets[i] = line * 64;
      self(self, i + 1, std::max(top, line + lifetimes[i].size / 64));
    }
  };
  search(search, 0, 0);
  return best;
}

TEST(Arena, Nothing) {
  ArenaPlan plan = planArena({});
  EXPECT_EQ(plan.size, 0);
  EXPECT_EQ(arenaProblem({}, plan), "");
}

TEST(Arena, RoundsSizesUp) {
  std::vector<Lifetime> lifetimes = {{1, 0, 1}, {65, 0, 1}};
  ArenaPlan plan = planArena(lifetimes);
  EXPECT_EQ(plan.size, 192);
  EXPECT_EQ(arenaProblem(lifetimes, plan), "");
}

TEST(Arena, ReusesWhatIsFree) {
  // A chain: each step reads the buffer before and writes the next; two places
  // are enough.
  std::vector<Lifetime> lifetimes;
  for (int64_t i = 0; i < 10; ++i)
    lifetimes.push_back({128, i, i + 1});
  EXPECT_EQ(planArena(lifetimes).size, 256);
}

TEST(Arena, StepsAreInclusive) {
  // The launch that ends one buffer begins the other: no sharing.
  EXPECT_EQ(planArena({{64, 0, 1}, {64, 1, 2}}).size, 128);
  EXPECT_EQ(planArena({{64, 0, 0}, {64, 1, 1}}).size, 64);
}

TEST(Arena, SmallCasesAreNearTheBest) {
  // Six buffers of 1 to 4 lines that live within five steps.
  std::mt19937 random(1);
  int64_t optimal = 0, cases = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 6; ++i) {
      int64_t first = random() % 5;
      lifetimes.push_back({int64_t(1 + random() % 4) * 64, first,
                           first + int64_t(random() % (5 - first))});
    }
    ArenaPlan plan = planArena(lifetimes);
    ASSERT_EQ(arenaProblem(lifetimes, plan), "");
    ASSERT_FALSE(paintsTwice(lifetimes, plan));
    int64_t best = smallestArena(lifetimes, 25);
    ASSERT_GE(plan.size / 64, best);
    ASSERT_LE(plan.size / 64, best + 3);
    optimal += plan.size / 64 == best;
    ++cases;
  }
  // Best-fit misses the optimum now and then, not often.
  EXPECT_GT(optimal * 100, cases * 95);
}

TEST(Arena, RandomCasesAreSoundAndTight) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 200; ++i) {
      int64_t first = random() % 150;
      lifetimes.push_back(
          {int64_t(1 + random() % 5000), first, first + int64_t(random() % 8)});
    }
    ArenaPlan plan = planArena(lifetimes);
    ASSERT_EQ(arenaProblem(lifetimes, plan), "");
    ASSERT_FALSE(paintsTwice(lifetimes, plan));
    EXPECT_LE(plan.size, arenaLowerBound(lifetimes) * 13 / 10);
    EXPECT_EQ(plan.offsets, planArena(lifetimes).offsets);
  }
}

TEST(Arena, LowerBoundIsTheBusiestStep) {
  // Step 1 holds 64 + 128, step 2 holds 128 + 64.
  EXPECT_EQ(arenaLowerBound({{64, 0, 1}, {100, 1, 2}, {1, 2, 3}}), 192);
}

TEST(Arena, CheckerFindsFaults) {
  std::vector<Lifetime> lifetimes = {{64, 0, 1}, {64, 1, 2}};
  EXPECT_EQ(arenaProblem(lifetimes, {{0, 0}, 64}),
            "buffers 0 and 1 share bytes at the same time");
  EXPECT_EQ(arenaProblem(lifetimes, {{0, 32}, 128}),
            "buffer 1: offset 32 is not a multiple of 64");
  EXPECT_EQ(arenaProblem(lifetimes, {{0, 64}, 64}),
            "buffer 1: ends at 128, the arena at 64");
  EXPECT_EQ(arenaProblem(lifetimes, {{0, 64}, 100}),
            "the size 100 is not a multiple of 64");
  EXPECT_EQ(arenaProblem(lifetimes, {{0}, 64}),
            "there are 1 offsets for 2 buffers");
}

} // namespace
