// Weights that are sparse already: found out, checked, and left alone.

#include "compiler/Prune/GroupChoice.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace sdc;

/// Calls `body` with the row, the first column and the number of non-zeros of
/// each group of `m`, until it returns false.
template <typename Body>
static void forEachGroup(const DenseWeight &weight, int64_t m, Body body) {
  for (int64_t r = 0; r < weight.rows; ++r)
    for (int64_t begin = 0; begin < weight.columns; begin += m) {
      const float *values = weight.values + r * weight.columns + begin;
      int64_t size = std::min(m, weight.columns - begin);
      if (!body(r, begin, size - std::count(values, values + size, 0.0f)))
        return;
    }
}

std::optional<Pattern> sdc::detectPattern(const DenseWeight &weight) {
  std::optional<Pattern> best;
  for (unsigned m : {2u, 4u, 8u, 16u, 32u}) {
    int64_t most = 1;
    forEachGroup(weight, m, [&](int64_t, int64_t, int64_t kept) {
      most = std::max(most, kept);
      return most < m;
    });
    auto n = static_cast<unsigned>(most);
    if (n < m && (!best || n * best->m < best->n * m))
      best = Pattern{n, m};
  }
  return best;
}

llvm::Expected<PruneReport> sdc::keepSparsity(const DenseWeight &weight,
                                              const float *h,
                                              const PruneSettings &settings,
                                              PrunedWeight out) {
  if (llvm::Error error = detail::checkInput(weight, settings))
    return error;
  std::string text;
  const Pattern &pattern = settings.pattern;
  forEachGroup(weight, pattern.m, [&](int64_t r, int64_t k, int64_t kept) {
    if (kept > pattern.n)
      text = llvm::formatv("row {0}, column {1}: a group of {2} has {3} "
                           "non-zeros, expected at most {4}",
                           r, k, pattern.m, kept, pattern.n);
    return text.empty();
  });
  if (!text.empty())
    return llvm::createStringError(text);
  if (h)
    if (llvm::Error error = detail::checkMoments(h, weight.columns))
      return error;
  // No group has more than N non-zeros, so the N largest are all of them.
  detail::keepLargest(weight, nullptr, settings, out);
  PruneReport report;
  detail::measure(weight, h, settings, out.weights, report);
  return report;
}
