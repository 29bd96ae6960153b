// The levels of CPU that code is made for, and what this machine runs.

#ifndef SDC_RUNTIME_SRC_CPU_LEVEL_H
#define SDC_RUNTIME_SRC_CPU_LEVEL_H

#include <cstdint>

namespace sdc::rt::cpu {

/// Levels from best to least; null after the last.
const char *levelName(uint32_t index);

/// Whether processor and system both support a level; false for other names.
bool runsLevel(const char *name);

/// Physical cores and logical processors that this process may use, by its
/// affinity and its share of the machine (cgroup v2). At least 1.
uint32_t availableCores();
uint32_t availableProcessors();

} // namespace sdc::rt::cpu

#endif // SDC_RUNTIME_SRC_CPU_LEVEL_H
