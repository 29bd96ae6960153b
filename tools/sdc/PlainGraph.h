// Runs a plain graph, one without a cache, on tensors from files.

#ifndef SDC_TOOLS_SDC_PLAINGRAPH_H
#define SDC_TOOLS_SDC_PLAINGRAPH_H

#include "tools/sdc/Verbs.h"

#include <string>
#include <vector>

namespace sdc {

/// `inputs` are NAME=FILE; every output is written to `output`/NAME.npy. Gives
/// the exit status.
int runPlainGraph(const std::string &model,
                  const std::vector<std::string> &inputs,
                  const std::string &output, const std::string &device,
                  const CommonOptions &common);

} // namespace sdc

#endif // SDC_TOOLS_SDC_PLAINGRAPH_H
