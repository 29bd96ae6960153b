// The checks on input, the choice of the largest of a group, the losses.

#include "compiler/Prune/GroupChoice.h"
#include "compiler/Algebra/Parallel.h"
#include "compiler/Algebra/QuadraticForm.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace sdc;

/// For formatv, which prints two decimals by itself.
static auto digits(double value) { return llvm::format("%g", value); }

static llvm::Error problem(const std::string &text) {
  return llvm::createStringError(text);
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
  for (int64_t r = 0; r < weight.rows; ++r)
    for (int64_t k = 0; k < weight.columns; ++k) {
      float value = weight.values[r * weight.columns + k];
      if (!std::isfinite(roundTo(settings.type, value)))
        return problem(
            llvm::formatv("weight {0} at row {1}, column {2} is not finite{3}",
                          digits(value), r, k,
                          std::isfinite(value)
                              ? " in " + std::string(elementName(settings.type))
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

void sdc::detail::keepLargest(const DenseWeight &weight, const double *scale,
                              const PruneSettings &settings, PrunedWeight out) {
  int64_t m = settings.pattern.m, n = settings.pattern.n;
  parallelFor(settings.threads, weight.rows, [&](int64_t r) {
    const float *in = weight.values + r * weight.columns;
    float *row = out.weights + r * weight.columns;
    uint32_t *mask = out.mask + r * weight.words();
    std::fill(row, row + weight.columns, 0.0f);
    std::fill(mask, mask + weight.words(), 0u);
    double score[kWordColumns];
    for (int64_t begin = 0; begin < weight.columns; begin += m) {
      int64_t size = std::min(m, weight.columns - begin);
      for (int64_t j = 0; j < size; ++j)
        score[j] = std::fabs(static_cast<double>(in[begin + j])) *
                   (scale ? scale[begin + j] : 1.0);
      for (int64_t j = 0; j < size; ++j) {
        int64_t better = 0;
        for (int64_t i = 0; i < size; ++i)
          better += score[i] > score[j] || (score[i] == score[j] && i < j);
        if (better >= n)
          continue;
        int64_t column = begin + j;
        row[column] = roundTo(settings.type, in[column]);
        mask[column / kWordColumns] |= uint32_t(1) << (column % kWordColumns);
      }
    }
    completeMask(settings.pattern, weight.columns, mask);
  });
}

void sdc::detail::measure(const DenseWeight &weight, const float *h,
                          const PruneSettings &settings, const float *pruned,
                          PruneReport &report) {
  int64_t count = weight.rows * weight.columns;
  double change = 0, norm = 0;
  for (int64_t i = 0; i < count; ++i) {
    double w = weight.values[i], d = w - static_cast<double>(pruned[i]);
    change += d * d;
    norm += w * w;
  }
  report.relativeChange = norm > 0 ? change / norm : 0;
  if (!h)
    return;
  if (std::isnan(report.loss)) {
    std::vector<float> difference(count);
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
