// The device templates as text: what a compiler of generated kernels hands to
// NVRTC, each under the name by which `#include` finds it.

#ifndef SDC_KERNELS_CUDA_DEVICEHEADERS_H
#define SDC_KERNELS_CUDA_DEVICEHEADERS_H

#include <vector>

namespace sdc {

struct DeviceHeader {
  const char *name; ///< "linear.cuh"
  const char *text;
};
const std::vector<DeviceHeader> &deviceHeaders();

} // namespace sdc

#endif // SDC_KERNELS_CUDA_DEVICEHEADERS_H
