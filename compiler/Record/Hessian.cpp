// Collecting rows and adding their outer products, panel by panel.

#include "compiler/Record/Hessian.h"
#include "compiler/Algebra/Gemm.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace sdc;

llvm::StringRef sdc::positionClassName(PositionClass positions) {
  switch (positions) {
  case PositionClass::Decode:
    return "decode";
  case PositionClass::Prompt:
    return "prompt";
  case PositionClass::First:
    return "first";
  case PositionClass::None:
    return "none";
  }
  return "";
}

void Hessian::allocate(Sum &sum) const {
  if (!sum.panels.empty())
    return;
  for (int64_t begin = 0; begin < size; begin += kPanel)
    sum.panels.emplace_back(std::min(kPanel, size - begin) * (size - begin),
                            0.0);
}

void Hessian::flush(Sum &sum, unsigned threads) const {
  if (sum.collected == 0)
    return;
  allocate(sum);
  for (int64_t begin = 0, panel = 0; begin < size; begin += kPanel, ++panel) {
    auto x = MatrixView<float>::rowMajor(sum.pending.data() + begin, size);
    gemm(std::min(kPanel, size - begin), size - begin, sum.collected,
         x.transposed(), x, sum.panels[panel].data(), size - begin,
         GemmSign::Add, GemmPart::Upper, threads);
  }
  sum.collected = 0;
}

llvm::Error Hessian::add(const float *rows, int64_t stride,
                         llvm::ArrayRef<PositionClass> classes,
                         unsigned threads) {
  for (size_t r = 0; r < classes.size(); ++r) {
    if (classes[r] == PositionClass::None)
      continue;
    const float *row = rows + static_cast<int64_t>(r) * stride;
    for (int64_t j = 0; j < size; ++j)
      if (!std::isfinite(row[j]))
        return llvm::createStringError(llvm::formatv(
            "the activation at row {0}, column {1} is not finite", r, j));
  }
  for (size_t r = 0; r < classes.size(); ++r) {
    if (classes[r] == PositionClass::None)
      continue;
    Sum &sum = sums[static_cast<size_t>(classes[r])];
    if (sum.pending.empty())
      sum.pending.resize(kRows * size);
    std::copy_n(rows + static_cast<int64_t>(r) * stride, size,
                sum.pending.begin() + sum.collected * size);
    ++sum.count;
    if (++sum.collected == kRows)
      flush(sum, threads);
  }
  return llvm::Error::success();
}

void Hessian::finishWave(unsigned threads) {
  for (Sum &sum : sums) {
    flush(sum, threads);
    for (std::vector<double> &panel : sum.panels)
      for (double &value : panel)
        value = static_cast<float>(value);
  }
}

void Hessian::triangle(PositionClass positions, float *out) const {
  const Sum &sum = sums[static_cast<size_t>(positions)];
  if (sum.panels.empty()) {
    std::fill_n(out, triangleSize(size), 0.0f);
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    int64_t begin = i / kPanel * kPanel;
    const double *row =
        sum.panels[i / kPanel].data() + (i - begin) * (size - begin);
    for (int64_t j = i; j < size; ++j)
      *out++ = static_cast<float>(row[j - begin]);
  }
}

void Hessian::load(PositionClass positions, llvm::ArrayRef<float> triangle,
                   int64_t count) {
  Sum &sum = sums[static_cast<size_t>(positions)];
  sum.count = count;
  sum.collected = 0;
  allocate(sum);
  const float *in = triangle.data();
  for (int64_t i = 0; i < size; ++i) {
    int64_t begin = i / kPanel * kPanel;
    double *row = sum.panels[i / kPanel].data() + (i - begin) * (size - begin);
    for (int64_t j = i; j < size; ++j)
      row[j - begin] = *in++;
  }
}
