// What CUDA devices this machine has.

#include "runtime/src/cuda/symbols.h"
#include "runtime/src/model.h"

#include <cstring>

using namespace sdc::rt;
using namespace sdc::rt::cuda;

sdc_status sdc_cuda_count(uint32_t *out_count, sdc_error *out_error) {
  sdc_error *error = out_error;
  const Driver *driver = nullptr;
  SDC_TRY(openDriver(driver, error));
  int count = 0;
  SDC_CUDA_TRY(*driver, cuDeviceGetCount, &count);
  if (count <= 0)
    return fail(error, SDC_NO_DEVICE, "the CUDA driver finds no device");
  *out_count = uint32_t(count);
  return SDC_OK;
}

sdc_status sdc_cuda_query(uint32_t index, sdc_cuda_info *out_info,
                          sdc_error *out_error) {
  sdc_error *error = out_error;
  SDC_TRY(checkStruct(out_info, "sdc_cuda_info", error));
  uint32_t count = 0;
  SDC_TRY(sdc_cuda_count(&count, error));
  if (index >= count)
    return fail(error, SDC_NO_DEVICE,
                "no device cuda:%u: this machine has %u, from cuda:0 on", index,
                count);
  const Driver *driver = nullptr;
  SDC_TRY(openDriver(driver, error));
  sdc_cuda_info info = {};
  DeviceNumber device = 0;
  int major = 0, minor = 0, multiprocessors = 0;
  size_t memory = 0;
  SDC_CUDA_TRY(*driver, cuDeviceGet, &device, int(index));
  SDC_CUDA_TRY(*driver, cuDeviceGetName, info.name, int(sizeof(info.name)),
               device);
  SDC_CUDA_TRY(*driver, cuDeviceGetAttribute, &major, kMajor, device);
  SDC_CUDA_TRY(*driver, cuDeviceGetAttribute, &minor, kMinor, device);
  SDC_CUDA_TRY(*driver, cuDeviceGetAttribute, &multiprocessors,
               kMultiprocessors, device);
  SDC_CUDA_TRY(*driver, cuDeviceTotalMem, &memory, device);
  info.major = uint32_t(major);
  info.minor = uint32_t(minor);
  info.driver_major = uint32_t(driver->version / 1000);
  info.driver_minor = uint32_t(driver->version % 1000 / 10);
  info.multiprocessors = uint32_t(multiprocessors);
  info.memory = memory;
  fillStruct(out_info, info);
  return SDC_OK;
}
