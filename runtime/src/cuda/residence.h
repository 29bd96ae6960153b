// What a model has on one CUDA device: the loaded image and the weights. Made
// by the first session there, shared by all, gone when the model is closed.

#ifndef SDC_RUNTIME_SRC_CUDA_RESIDENCE_H
#define SDC_RUNTIME_SRC_CUDA_RESIDENCE_H

#include "runtime/src/arithmetic.h"
#include "runtime/src/cuda/symbols.h"
#include "runtime/src/model.h"

namespace sdc::rt::cuda {

/// Of device memory, and of every piece in it.
constexpr uint64_t kDeviceAlignment = 256;

/// Makes a context current for a while.
class Current {
public:
  Current(const Driver &driver, Context context)
      : driver(driver), result(driver.cuCtxPushCurrent(context)) {}
  ~Current() {
    Context popped;
    if (result == kSuccess)
      driver.cuCtxPopCurrent(&popped);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

  sdc_status status(sdc_error *error) const {
    return check(driver, result, "cuCtxPushCurrent", error);
  }

private:
  const Driver &driver;
  Result result;
};

struct Residence {
  Residence *next;
  const Driver *driver;
  uint32_t device;
  Context context;
  const fb::Image *image;
  Module module;
  /// Of each kernel of the file.
  Function *functions;
  /// Null if the image has none.
  Function greedy;
  /// Of each segment, its bytes on the device; 0 if it holds no weights.
  DevicePointer *segments;

  DevicePointer weight(const fb::Executable &root, uint32_t index) const {
    const fb::Weight &weight = *root.weights()->Get(index);
    return segments[weight.segment()] + weight.offset();
  }
};

/// Bytes of all weights on a device.
Size weightsOnDevice(const fb::Executable &root);

/// Brings the model to a device unless it is there. `sessionBytes` are what the
/// session will ask the driver for: with too little memory for both, nothing is
/// loaded.
sdc_status moveIn(sdc_model &model, uint32_t device, uint64_t sessionBytes,
                  Residence *&residence, sdc_error *error);

/// Frees all residences of a model that is being closed.
void leaveDevices(sdc_model &model);

} // namespace sdc::rt::cuda

#endif // SDC_RUNTIME_SRC_CUDA_RESIDENCE_H
