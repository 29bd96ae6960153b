// Wanda (arXiv:2306.11695): |w| times the norm of what it multiplies, compared
// within the groups of one output row; no weight is changed.

#include "compiler/Prune/GroupChoice.h"

#include <cmath>

using namespace sdc;

llvm::Expected<PruneReport> sdc::pruneWanda(const DenseWeight &weight,
                                            const float *h,
                                            const PruneSettings &settings,
                                            PrunedWeight out) {
  if (llvm::Error error = detail::checkInput(weight, settings))
    return error;
  if (llvm::Error error = detail::checkMoments(h, weight.columns))
    return error;
  PruneReport report;
  std::vector<double> norms(weight.columns);
  for (int64_t j = 0; j < weight.columns; ++j) {
    norms[j] = std::sqrt(static_cast<double>(h[j * weight.columns + j]));
    report.deadColumns += norms[j] == 0;
  }
  detail::keepLargest(weight, norms.data(), settings, out);
  detail::measure(weight, h, settings, out.weights, report);
  return report;
}
