// The checks on input, the choice of the largest of a group, the losses.

#include "compiler/Prune/GroupChoice.h"
#include "compiler/Algebra/Parallel.h"
#include "compiler/Algebra/QuadraticForm.h"
#include "compiler/Prune/LargestOfGroup.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sdc;

/// For formatv, which prints two decimals by itself.
static auto digits(double value) { return llvm::format("%g", value); }

static llvm::Error problem(const std::string &text) {
  return llvm::createStringError(text);
}

/// The bits of the least magnitude that is infinite in `type`, or NaN.
static uint32_t firstInfinite(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return 0x477ff000u; // 65520
  case ElementType::BF16:
    return 0x7f7f8000u; // half a step beyond the largest one
  case ElementType::F32:
    break;
  }
  return 0x7f800000u;
}

/// Whether all `count` values are finite in `type`.
static bool allFinite(const float *values, int64_t count, ElementType type) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    most = std::max(most, bits & 0x7fffffffu);
  }
  return most < firstInfinite(type);
}

llvm::Error sdc::detail::checkInput(const DenseWeight &weight,
                                    const PruneSettings &settings) {
  if (std::string text = settings.pattern.problem(); !text.empty())
    return problem(text);
  if (settings.pattern.isDense())
    return problem("the pattern is dense, there is nothing to prune");
  if (weight.rows < 1 || weight.columns < 1)
    return problem(llvm::formatv("a weight of {0} x {1} cannot be pruned",
                                 weight.rows, weight.columns));
  for (int64_t r = 0; r < weight.rows; ++r) {
    const float *row = weight.values + r * weight.columns;
    if (allFinite(row, weight.columns, settings.type))
      continue;
    int64_t k = 0;
    while (std::isfinite(roundTo(settings.type, row[k])))
      ++k;
    return problem(llvm::formatv(
        "weight {0} at row {1}, column {2} is not finite{3}", digits(row[k]), r,
        k,
        std::isfinite(row[k]) ? " in " + std::string(elementName(settings.type))
                              : std::string()));
  }
  return llvm::Error::success();
}

llvm::Error sdc::detail::checkMoments(const float *h, int64_t columns) {
  constexpr int64_t tile = 64;
  for (int64_t i0 = 0; i0 < columns; i0 += tile)
    for (int64_t j0 = i0; j0 < columns; j0 += tile)
      for (int64_t i = i0; i < std::min(i0 + tile, columns); ++i)
        for (int64_t j = std::max(i, j0); j < std::min(j0 + tile, columns);
             ++j) {
          float a = h[i * columns + j], b = h[j * columns + i];
          if (!std::isfinite(a) || (i == j && a < 0))
            return problem(llvm::formatv(
                "the second moment {0} of columns {1} and {2} is not {3}",
                digits(a), i, j, std::isfinite(a) ? "at least 0" : "finite"));
          if (a != b)
            return problem(llvm::formatv("the second moments are not symmetric "
                                         "at {0}, {1}: {2} and {3}",
                                         i, j, digits(a), digits(b)));
        }
  return llvm::Error::success();
}

/// Sets to zero what the mask does not keep.
static void dropUnkept(float *row, int64_t columns, const uint32_t *mask) {
  for (int64_t first = 0; first < columns; first += kWordColumns) {
    int64_t count = std::min<int64_t>(kWordColumns, columns - first);
    uint32_t kept = mask[first / kWordColumns];
    for (int64_t j = 0; j < count; ++j)
      row[first + j] = kept >> j & 1u ? row[first + j] : 0.0f;
  }
}

void sdc::detail::keepLargest(const DenseWeight &weight, const double *scale,
                              const PruneSettings &settings, PrunedWeight out) {
  parallelFor(settings.threads, weight.rows, [&](int64_t r) {
    const float *in = weight.values + r * weight.columns;
    float *row = out.weights + r * weight.columns;
    uint32_t *mask = out.mask + r * weight.words();
    keepLargestOfRow(in, scale, weight.columns, settings.pattern, mask);
    roundValues(settings.type, in, weight.columns, row);
    dropUnkept(row, weight.columns, mask);
    // Whole groups are complete.
    if (int64_t whole = weight.columns / kWordColumns * kWordColumns;
        whole < weight.columns)
      completeMask(settings.pattern, weight.columns - whole,
                   mask + whole / kWordColumns);
  });
}

namespace {

/// Sums of squares, in lanes so that they are vector code.
struct Squares {
  static constexpr int kLanes = 8;
  double change[kLanes] = {}, norm[kLanes] = {};

  void add(const float *before, const float *after, int64_t count) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane)
        addOne(lane, before[i + lane], after[i + lane]);
    for (; i < count; ++i)
      addOne(0, before[i], after[i]);
  }
  void addOne(int lane, double w, double pruned) {
    double d = w - pruned;
    change[lane] += d * d;
    norm[lane] += w * w;
  }
};

} // namespace

/// Sum of (W - W^)^2 / sum of W^2, summed row by row.
static double relativeChange(const DenseWeight &weight, const float *pruned,
                             unsigned threads) {
  std::vector<Squares> rows(static_cast<size_t>(weight.rows));
  parallelFor(threads, weight.rows, [&](int64_t r) {
    int64_t first = r * weight.columns;
    rows[static_cast<size_t>(r)].add(weight.values + first, pruned + first,
                                     weight.columns);
  });
  double change = 0, norm = 0;
  for (const Squares &row : rows)
    for (int lane = 0; lane < Squares::kLanes; ++lane) {
      change += row.change[lane];
      norm += row.norm[lane];
    }
  return norm > 0 ? change / norm : 0;
}

void sdc::detail::measure(const DenseWeight &weight, const float *h,
                          const PruneSettings &settings, const float *pruned,
                          PruneReport &report) {
  report.relativeChange = relativeChange(weight, pruned, settings.threads);
  if (!h)
    return;
  if (std::isnan(report.loss)) {
    int64_t count = weight.rows * weight.columns;
    std::vector<float> difference(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      difference[i] = weight.values[i] - pruned[i];
    report.loss =
        std::max(0.0, quadraticForm(weight.rows, weight.columns,
                                    difference.data(), h, settings.threads));
  }
  double energy = quadraticForm(weight.rows, weight.columns, weight.values, h,
                                settings.threads);
  report.relativeLoss = energy > 0        ? report.loss / energy
                        : report.loss > 0 ? PruneReport::kUnknown
                                          : 0.0;
}
