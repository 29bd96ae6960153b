// Opens libcuda.

#include "runtime/src/cuda/symbols.h"

#include "runtime/src/status.h"

#include <cstring>
#include <dlfcn.h>
#include <pthread.h>

using namespace sdc::rt;
using namespace sdc::rt::cuda;

/// Programmatic edges in graphs came with it. Every function is asked for in
/// its form of this version, whatever later ones changed.
static constexpr int kVersion = 12030;

using GetProcAddress = Result (*)(const char *, void **, int, uint64_t, int *);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Driver theDriver;
static bool opened = false;

static sdc_status findSymbols(GetProcAddress find, Driver &driver,
                              sdc_error *error) {
  auto get = [&](const char *name, void **function) {
    int found = 0;
    *function = nullptr;
    Result result = find(name, function, kVersion, 0, &found);
    if (result == kSuccess && *function)
      return SDC_OK;
    return fail(error, SDC_NO_DEVICE,
                "the CUDA driver has no function %s: it must know CUDA %d.%d "
                "or newer",
                name, kVersion / 1000, kVersion % 1000 / 10);
  };
#define SDC_CUDA_FIND(name, parameters)                                        \
  SDC_TRY(get(#name, reinterpret_cast<void **>(&driver.name)));
  SDC_CUDA_SYMBOLS(SDC_CUDA_FIND)
#undef SDC_CUDA_FIND
  return SDC_OK;
}

static sdc_status initialise(Driver &driver, sdc_error *error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(error, SDC_NO_DEVICE, "no CUDA driver: %s", dlerror());
  auto find =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find)
    return fail(error, SDC_NO_DEVICE,
                "the CUDA driver is too old: it must know CUDA %d.%d or newer",
                kVersion / 1000, kVersion % 1000 / 10);
  SDC_TRY(findSymbols(find, driver, error));
  Result result = driver.cuInit(0);
  if (result == kNoDevice)
    return fail(error, SDC_NO_DEVICE, "the CUDA driver finds no device");
  if (check(driver, result, "cuInit", error) != SDC_OK) {
    if (error)
      error->code = SDC_NO_DEVICE;
    return SDC_NO_DEVICE;
  }
  SDC_CUDA_TRY(driver, cuDriverGetVersion, &driver.version);
  if (driver.version < kVersion)
    return fail(error, SDC_NO_DEVICE,
                "the CUDA driver knows CUDA %d.%d, this runtime needs %d.%d or "
                "newer",
                driver.version / 1000, driver.version % 1000 / 10,
                kVersion / 1000, kVersion % 1000 / 10);
  return SDC_OK;
}

sdc_status cuda::openDriver(const Driver *&driver, sdc_error *error) {
  pthread_mutex_lock(&mutex);
  // The library stays open: the driver does not bear being closed.
  sdc_status status = opened ? SDC_OK : initialise(theDriver, error);
  opened = status == SDC_OK;
  pthread_mutex_unlock(&mutex);
  driver = &theDriver;
  return status;
}

sdc_status cuda::check(const Driver &driver, Result result, const char *what,
                       sdc_error *error) {
  if (result == kSuccess)
    return SDC_OK;
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  return fail(error,
              result == kOutOfMemory ? SDC_OUT_OF_MEMORY : SDC_DEVICE_FAILED,
              "%s: %s (%s, %d)", what, text ? text : "no text",
              name ? name : "unknown", result);
}
