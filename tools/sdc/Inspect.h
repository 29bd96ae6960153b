// What `sdc inspect` prints of each kind of file. All give the exit status.

#ifndef SDC_TOOLS_SDC_INSPECT_H
#define SDC_TOOLS_SDC_INSPECT_H

#include "tools/sdc/Verbs.h"

#include <string>

namespace sdc {

int inspectExecutable(const std::string &path, const CommonOptions &common);

/// Counts and keys; with `against` the discrepancy of each key.
int inspectCalibration(const std::string &path, const std::string &against,
                       const CommonOptions &common);

/// Coverage, roles of inputs and outputs, linears by name, and which of them
/// would be pruned and which not, and why.
int inspectModel(const std::string &path, const CommonOptions &common);

} // namespace sdc

#endif // SDC_TOOLS_SDC_INSPECT_H
