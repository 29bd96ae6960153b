// Half of the product D H, panel by panel, as H is symmetric.

#include "compiler/Algebra/QuadraticForm.h"
#include "compiler/Algebra/Gemm.h"

#include <algorithm>
#include <vector>

using namespace sdc;

double sdc::quadraticForm(int64_t rows, int64_t n, const float *d,
                          const float *h, unsigned threads) {
  constexpr int64_t panel = 512;
  using View = MatrixView<float>;
  std::vector<float> left, own;
  std::vector<double> sums(rows, 0.0);
  for (int64_t begin = 0; begin < n; begin += panel) {
    int64_t width = std::min(panel, n - begin);
    // What is left of the panel counts twice, the panel's own square once.
    left.assign(rows * width, 0.0f);
    own.assign(rows * width, 0.0f);
    gemm(rows, width, begin, View::rowMajor(d, n), View::rowMajor(h + begin, n),
         left.data(), width, GemmSign::Add, GemmPart::All, threads);
    gemm(rows, width, width, View::rowMajor(d + begin, n),
         View::rowMajor(h + begin * n + begin, n), own.data(), width,
         GemmSign::Add, GemmPart::All, threads);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t j = 0; j < width; ++j)
        sum += static_cast<double>(d[r * n + begin + j]) *
               (2.0 * static_cast<double>(left[r * width + j]) +
                static_cast<double>(own[r * width + j]));
      sums[r] += sum;
    }
  }
  double total = 0;
  for (double sum : sums)
    total += sum;
  return total;
}
