// Whether calibration files belong to a model and to each other, and their sum.

#ifndef SDC_COMPILER_RECORD_CALIBRATIONCHECKS_H
#define SDC_COMPILER_RECORD_CALIBRATIONCHECKS_H

#include "compiler/Record/Calibration.h"

namespace sdc {

/// An error that lists every difference between the recorded model and `model`
/// (names, shapes, inputs), or, if there is none, the linears whose weights are
/// not the recorded ones up to 16-bit rounding. The latter pass if
/// `allowOtherWeights`. Neither depends on the order of linears.
llvm::Error checkModel(const Calibration &calibration,
                       llvm::ArrayRef<RecordedLinear> model,
                       bool allowOtherWeights);

/// Writes the sum of `inputs` to `output`: counts and matrices add up, rollouts
/// and settings follow each other in the order of the inputs. They must be of
/// one model and one tokenizer (setting "tokenizer"); weights as in checkModel.
/// Takes the memory of two triangles.
llvm::Error mergeCalibrations(llvm::ArrayRef<std::string> inputs,
                              llvm::StringRef output, bool allowOtherWeights);

} // namespace sdc

#endif // SDC_COMPILER_RECORD_CALIBRATIONCHECKS_H
