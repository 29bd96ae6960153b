// Which image of a file a CUDA device runs.

#ifndef SDC_RUNTIME_SRC_CUDA_ARCHITECTURE_H
#define SDC_RUNTIME_SRC_CUDA_ARCHITECTURE_H

#include "schema/executable_generated.h"

namespace sdc::rt::cuda {

/// Compute capability.
struct Capability {
  uint32_t major;
  uint32_t minor;
};

/// Of the images that a device runs, the one made closest to it; null if none
/// is. "sm_90a" runs on 9.0 alone, "sm_100f" on 10.x, and "sm_80" on 8.x: code
/// of one major version is for devices of the same, with its minor or a later.
const fb::Image *chooseImage(const fb::Executable &root, Capability device);

} // namespace sdc::rt::cuda

#endif // SDC_RUNTIME_SRC_CUDA_ARCHITECTURE_H
