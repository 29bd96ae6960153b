// Best-fit placement of lifetimes in several orders; see Arena.h.

#include "compiler/Plan/Arena.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace sdc {

static constexpr int64_t kArenaAlignment = 64;

static int64_t alignUp(int64_t value) {
  return (value + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Places one after the other, each in the smallest gap between those already
/// placed that live at the same time, else behind the last of them.
static ArenaPlan placeInOrder(const std::vector<Lifetime> &lifetimes,
                              const std::vector<size_t> &order) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  // Placed buffers by offset, so that gaps are met in order.
  std::vector<size_t> placed;
  for (size_t current : order) {
    int64_t size = alignUp(lifetimes[current].size);
    int64_t end = 0, best = -1, bestGap = 0;
    for (size_t other : placed) {
      if (!lifetimes[current].overlaps(lifetimes[other]))
        continue;
      int64_t gap = plan.offsets[other] - end;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, plan.offsets[other] + alignUp(lifetimes[other].size));
    }
    plan.offsets[current] = best < 0 ? end : best;
    plan.size = std::max(plan.size, plan.offsets[current] + size);
    auto byOffset = [&](size_t a, size_t b) {
      return plan.offsets[a] < plan.offsets[b];
    };
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), current, byOffset),
        current);
  }
  return plan;
}

ArenaPlan planArena(const std::vector<Lifetime> &lifetimes) {
  auto duration = [](const Lifetime &l) { return l.last - l.first + 1; };
  using Less = std::function<bool(const Lifetime &, const Lifetime &)>;
  const Less orders[] = {
      // Large ones first: small ones fit into what they leave.
      [](const Lifetime &a, const Lifetime &b) { return a.size > b.size; },
      // Long ones first: what stays lies at the bottom.
      [&](const Lifetime &a, const Lifetime &b) {
        return duration(a) > duration(b);
      },
      // In order of birth, as a stack would.
      [](const Lifetime &a, const Lifetime &b) { return a.first < b.first; },
  };

  ArenaPlan best;
  int64_t bound = arenaLowerBound(lifetimes);
  for (const Less &less : orders) {
    std::vector<size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      bool before = less(lifetimes[a], lifetimes[b]);
      return before || (a < b && !less(lifetimes[b], lifetimes[a]));
    });
    ArenaPlan plan = placeInOrder(lifetimes, order);
    if (best.offsets.empty() || plan.size < best.size)
      best = std::move(plan);
    if (best.size == bound)
      break;
  }
  return best;
}

int64_t arenaLowerBound(const std::vector<Lifetime> &lifetimes) {
  // What each step adds and the step behind the last takes away.
  std::map<int64_t, int64_t> changes;
  for (const Lifetime &lifetime : lifetimes) {
    changes[lifetime.first] += alignUp(lifetime.size);
    changes[lifetime.last + 1] -= alignUp(lifetime.size);
  }
  int64_t live = 0, most = 0;
  for (const auto &[step, change] : changes)
    most = std::max(most, live += change);
  return most;
}

std::string arenaProblem(const std::vector<Lifetime> &lifetimes,
                         const ArenaPlan &plan) {
  if (plan.offsets.size() != lifetimes.size())
    return "there are " + std::to_string(plan.offsets.size()) +
           " offsets for " + std::to_string(lifetimes.size()) + " buffers";
  if (plan.size % 64 != 0)
    return "the size " + std::to_string(plan.size) + " is not a multiple of 64";
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    int64_t begin = plan.offsets[i];
    if (begin < 0 || begin % 64 != 0)
      return "buffer " + std::to_string(i) + ": offset " +
             std::to_string(begin) + " is not a multiple of 64";
    if (begin + lifetimes[i].size > plan.size)
      return "buffer " + std::to_string(i) + ": ends at " +
             std::to_string(begin + lifetimes[i].size) + ", the arena at " +
             std::to_string(plan.size);
    for (size_t j = 0; j < i; ++j) {
      bool sameTime = !(lifetimes[i].last < lifetimes[j].first ||
                        lifetimes[j].last < lifetimes[i].first);
      bool samePlace = begin < plan.offsets[j] + lifetimes[j].size &&
                       plan.offsets[j] < begin + lifetimes[i].size;
      if (sameTime && samePlace)
        return "buffers " + std::to_string(j) + " and " + std::to_string(i) +
               " share bytes at the same time";
    }
  }
  return "";
}

} // namespace sdc
