// The kernels of a decode step on a GPU: what each takes, reads, and reaches of
// what the memory gives.

#ifndef SDC_TOOLS_SDC_BENCHKERNELS_H
#define SDC_TOOLS_SDC_BENCHKERNELS_H

#include "sdc/sdc.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sdc {

/// All launches of one kernel in a step.
struct KernelTime {
  std::string name;
  uint32_t launches = 0;
  /// Of one step, all launches: time, and bytes of weights.
  double microseconds = 0;
  uint64_t bytes = 0;
  /// Of the read ceiling of the device; 0 if that is not known.
  double share = 0;
};

/// Bytes a second that reads of a device's memory reach at best, measured; 0 if
/// it is not in the table.
double readCeiling(const char *device);

/// Runs `steps` decode steps after `depth` tokens in a session of its own, each
/// launch by itself between two events. On failure `problem` says why.
bool measureKernels(sdc_model *model, const std::string &device, uint32_t depth,
                    uint32_t steps, std::vector<KernelTime> &kernels,
                    std::string &problem);

void printKernels(const std::string &title,
                  const std::vector<KernelTime> &kernels);
nlohmann::ordered_json kernelsJson(const std::vector<KernelTime> &kernels);

} // namespace sdc

#endif // SDC_TOOLS_SDC_BENCHKERNELS_H
