// The verbs of the driver. Each returns the exit status: 0 done, 1 failed.

#ifndef SDC_TOOLS_SDC_VERBS_H
#define SDC_TOOLS_SDC_VERBS_H

#include "tools/sdc/Options.h"

namespace sdc {

[[nodiscard]] int compile(const CompileOptions &options);

} // namespace sdc

#endif // SDC_TOOLS_SDC_VERBS_H
