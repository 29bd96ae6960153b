// How far two calibration files are apart, as seen by pruning.
//
// With the k largest eigenpairs (U, L) of the reference's moments A for each
// position, and B those of the other file (arXiv:2610.12327, section 4.1 of the
// paper's method):
//
//   eps = || L^-1/2 U^T B U L^-1/2 - I ||_op
//
// is the largest relative error that B makes for the loss of any change of
// weights within those k directions: 0 for equal files, 1 where a direction is
// missing or twice as strong.

#ifndef SDC_COMPILER_RECORD_DISCREPANCY_H
#define SDC_COMPILER_RECORD_DISCREPANCY_H

#include "compiler/Record/Calibration.h"

namespace sdc {

struct Discrepancy {
  std::string key;
  int64_t columns = 0;
  /// k.
  int64_t directions = 0;
  double value = 0;
};

/// eps of two symmetric [n, n] matrices that are per position.
double discrepancy(int64_t n, const std::vector<double> &reference,
                   const std::vector<double> &other, int64_t directions,
                   unsigned threads);

/// eps of every input that both files know, in the reference's order, with
/// k = max(1, share * columns). Moments are the weighed sums over the weighed
/// counts. An error if the files share no input or an input's columns differ.
llvm::Expected<std::vector<Discrepancy>>
compareCalibrations(const Calibration &reference, const Calibration &other,
                    const PositionWeights &weights, double share,
                    unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_RECORD_DISCREPANCY_H
