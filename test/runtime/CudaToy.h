// The toy decoder on a CUDA device: the fake driver's, or a GPU.

#ifndef SDC_TEST_RUNTIME_CUDATOY_H
#define SDC_TEST_RUNTIME_CUDATOY_H

#include "test/runtime/FakeCuda.h"
#include "test/runtime/Handles.h"

namespace sdc::test {

/// The fake driver, if that is what the loader finds; else null.
FakeCuda *fakeCuda();

/// Makes it as it was when it was loaded, but for what is held.
void resetFakeCuda();

/// Whether the tests can run here; if not, why.
bool canRunCuda(std::string &reason);

/// With the cubin for this device: that beside the test (run-device.sh makes
/// it), or one that the fake driver takes.
ToyCudaOptions toyCuda();

inline sdc_session_options onCuda(sdc_session_options options = {}) {
  options.struct_size = sizeof(options);
  options.device = SDC_DEVICE_CUDA;
  return options;
}

#define NEEDS_CUDA()                                                           \
  do {                                                                         \
    std::string reason;                                                        \
    if (!canRunCuda(reason))                                                   \
      GTEST_SKIP() << reason;                                                  \
    resetFakeCuda();                                                           \
  } while (false)

/// Without it there is nothing to count and nobody to fail.
#define NEEDS_FAKE_CUDA()                                                      \
  do {                                                                         \
    if (!fakeCuda())                                                           \
      GTEST_SKIP() << "needs the fake driver";                                 \
    resetFakeCuda();                                                           \
  } while (false)

} // namespace sdc::test

#endif // SDC_TEST_RUNTIME_CUDATOY_H
