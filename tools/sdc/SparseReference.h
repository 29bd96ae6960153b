// The reference of a sparse executable: the same graph, dense, with the
// unpacked weights.

#ifndef SDC_TOOLS_SDC_SPARSEREFERENCE_H
#define SDC_TOOLS_SDC_SPARSEREFERENCE_H

#include "sdc/sdc.h"
#include "tools/sdc/VerifyNumbers.h"

#include <string>
#include <vector>

namespace sdc {

/// Builds the graph of `onnx` without fusion, in f32, with the weights that
/// `model` holds, runs it on the inputs of `sets` and puts what it gives in the
/// place of their outputs. Prints what is wrong and gives false.
bool computeSparseReference(const std::string &onnx, const sdc_model *model,
                            unsigned threads, std::vector<TestData> &sets);

} // namespace sdc

#endif // SDC_TOOLS_SDC_SPARSEREFERENCE_H
