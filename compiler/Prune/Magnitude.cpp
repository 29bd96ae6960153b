// Magnitude pruning: the largest weights of each group stay as they are.

#include "compiler/Prune/GroupChoice.h"

using namespace sdc;

llvm::Expected<PruneReport> sdc::pruneMagnitude(const DenseWeight &weight,
                                                const float *h,
                                                const PruneSettings &settings,
                                                PrunedWeight out) {
  if (llvm::Error error = detail::checkInput(weight, settings))
    return error;
  if (h)
    if (llvm::Error error = detail::checkMoments(h, weight.columns))
      return error;
  detail::keepLargest(weight, nullptr, settings, out);
  PruneReport report;
  detail::measure(weight, h, settings, out.weights, report);
  return report;
}
