// Blocks of rows and columns around ObsBlock, and the trailing updates.

#include "compiler/Prune/SparseGpt.h"
#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/Parallel.h"
#include "compiler/Prune/GroupChoice.h"
#include "compiler/Prune/ObsBlock.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <memory>

using namespace sdc;
using namespace sdc::detail;

namespace {

/// Columns whose errors are collected before the columns right of them are
/// updated by one product.
constexpr int64_t kSpan = 4 * kObsColumns;

class Pruner {
public:
  Pruner(const DenseWeight &weight, const HessianFactor &factor,
         const PruneSettings &settings, PrunedWeight out)
      : weight(weight), factor(factor), settings(settings), out(out),
        errors(weight.rows * std::min(kSpan, weight.columns)),
        losses(weight.rows, 0.0) {}

  /// Returns |E|^2.
  double run();

private:
  void pruneSpan(int64_t begin, int64_t end, int64_t rowBlock);

  const DenseWeight &weight;
  const HessianFactor &factor;
  const PruneSettings &settings;
  PrunedWeight out;
  /// [row][column of the span].
  std::vector<float> errors;
  std::vector<double> losses;
};

} // namespace

void Pruner::pruneSpan(int64_t begin, int64_t end, int64_t rowBlock) {
  int64_t row0 = rowBlock * kObsRows;
  int64_t rows = std::min(kObsRows, weight.rows - row0);
  int64_t stride = weight.columns, span = end - begin;
  auto block = std::make_unique<ObsBlock>();
  for (int64_t first = begin; first < end; first += kObsColumns) {
    int64_t columns = std::min(kObsColumns, end - first);
    std::fill_n(&block->masks[0][0], std::size(block->masks) * kObsRows, 0u);
    std::fill_n(block->losses, kObsRows, 0.0);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t r = 0; r < rows; ++r)
        block->weights[j][r] = out.weights[(row0 + r) * stride + first + j];
      std::fill(block->weights[j] + rows, block->weights[j] + kObsRows, 0.0f);
    }
    pruneObsBlock(*block, columns, factor.row(first) + first, stride,
                  settings.pattern, settings.type);
    int64_t maskWords = (columns + kWordColumns - 1) / kWordColumns;
    for (int64_t r = 0; r < rows; ++r) {
      float *w = out.weights + (row0 + r) * stride + first;
      float *e = errors.data() + (row0 + r) * span + first - begin;
      for (int64_t j = 0; j < columns; ++j) {
        w[j] = block->weights[j][r];
        e[j] = block->errors[j][r];
      }
      uint32_t *mask = out.mask + (row0 + r) * weight.words();
      for (int64_t w32 = 0; w32 < maskWords; ++w32)
        mask[first / kWordColumns + w32] = block->masks[w32][r];
      losses[row0 + r] += block->losses[r];
    }
    int64_t next = first + columns;
    gemm(rows, end - next, columns,
         MatrixView<float>::rowMajor(
             errors.data() + row0 * span + first - begin, span),
         MatrixView<float>::rowMajor(factor.row(first) + next, stride),
         out.weights + row0 * stride + next, stride, GemmSign::Subtract,
         GemmPart::All, 1);
  }
}

double Pruner::run() {
  int64_t columns = weight.columns;
  int64_t rowBlocks = (weight.rows + kObsRows - 1) / kObsRows;
  for (int64_t begin = 0; begin < columns; begin += kSpan) {
    int64_t end = std::min(begin + kSpan, columns);
    parallelFor(settings.threads, rowBlocks,
                [&](int64_t block) { pruneSpan(begin, end, block); });
    gemm(weight.rows, columns - end, end - begin,
         MatrixView<float>::rowMajor(errors.data(), end - begin),
         MatrixView<float>::rowMajor(factor.row(begin) + end, columns),
         out.weights + end, columns, GemmSign::Subtract, GemmPart::All,
         settings.threads);
  }
  double total = 0;
  for (double loss : losses)
    total += loss;
  return total;
}

llvm::Expected<PruneReport> sdc::pruneSparseGpt(const DenseWeight &weight,
                                                const float *h,
                                                const HessianFactor &factor,
                                                const PruneSettings &settings,
                                                PrunedWeight out) {
  if (llvm::Error error = checkInput(weight, settings))
    return error;
  if (factor.columns() != weight.columns)
    return llvm::createStringError(
        llvm::formatv("the second moments have {0} columns, expected {1}",
                      factor.columns(), weight.columns));
  int64_t rows = weight.rows, columns = weight.columns;
  std::copy_n(weight.values, rows * columns, out.weights);
  for (int64_t dead : factor.deadColumns())
    for (int64_t r = 0; r < rows; ++r)
      out.weights[r * columns + dead] = 0;

  double squaredErrors = Pruner(weight, factor, settings, out).run();
  for (int64_t r = 0; r < rows; ++r)
    completeMask(settings.pattern, columns, out.mask + r * weight.words());
  for (int64_t i = 0; i < rows * columns; ++i)
    if (!std::isfinite(out.weights[i]))
      return llvm::createStringError(llvm::formatv(
          "the new weight at row {0}, column {1} is not finite{2}; more "
          "damping may help",
          i / columns, i % columns,
          settings.type == ElementType::F32
              ? std::string()
              : " in " + std::string(elementName(settings.type))));

  PruneReport report;
  report.damping = factor.damping();
  report.reasons = factor.reasons();
  report.deadColumns = static_cast<int64_t>(factor.deadColumns().size());
  std::vector<char> isDead(columns, 0);
  for (int64_t dead : factor.deadColumns())
    isDead[dead] = 1;
  double change = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j)
      if (!isDead[j]) {
        int64_t i = r * columns + j;
        double d = static_cast<double>(weight.values[i]) - out.weights[i];
        change += d * d;
      }
  report.loss = std::max(0.0, (squaredErrors - factor.damping() * change)) /
                factor.scale();
  measure(weight, h, settings, out.weights, report);
  return report;
}
