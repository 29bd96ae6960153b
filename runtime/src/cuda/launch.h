// Launches of a function as the file describes it.

#ifndef SDC_RUNTIME_SRC_CUDA_LAUNCH_H
#define SDC_RUNTIME_SRC_CUDA_LAUNCH_H

#include "runtime/src/cuda/symbols.h"
#include "runtime/src/status.h"
#include "schema/executable_generated.h"

#include <cstdio>

namespace sdc::rt::cuda {

/// `programmatic`: may start before the launch before it on the stream, a
/// kernel too, has ended, if the function allows it.
inline sdc_status launch(const Driver &driver, const fb::CudaFunction &given,
                         Function function, void **parameters, Stream stream,
                         bool programmatic, sdc_error *error) {
  LaunchAttribute early = {};
  early.id = LaunchAttribute::kProgrammaticSerialization;
  early.allowed = 1;
  LaunchConfig config = {};
  config.gridX = given.grid_x();
  config.gridY = given.grid_y();
  config.gridZ = given.grid_z();
  config.blockX = given.block();
  config.blockY = config.blockZ = 1;
  config.sharedBytes = given.shared_bytes();
  config.stream = stream;
  config.attributes = &early;
  config.attributeCount = programmatic && given.programmatic() ? 1 : 0;
  Result result =
      driver.cuLaunchKernelEx(&config, function, parameters, nullptr);
  if (result == kSuccess)
    return SDC_OK;
  char what[256];
  snprintf(what, sizeof(what), "launch of '%s'", given.symbol()->c_str());
  return check(driver, result, what, error);
}

} // namespace sdc::rt::cuda

#endif // SDC_RUNTIME_SRC_CUDA_LAUNCH_H
