// The functions of the CUDA driver that the runtime calls, opened at run time:
// neither building nor linking needs CUDA. Types are those of cuda.h, as far as
// they are used, with the values of its enumerations.

#ifndef SDC_RUNTIME_SRC_CUDA_SYMBOLS_H
#define SDC_RUNTIME_SRC_CUDA_SYMBOLS_H

#include "sdc/sdc.h"

#include <cstdint>

namespace sdc::rt::cuda {

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kOutOfMemory = 2;
constexpr Result kNoDevice = 100;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;

using DevicePointer = uint64_t;
using DeviceNumber = int;
struct ContextObject;
using Context = ContextObject *;
struct StreamObject;
using Stream = StreamObject *;
struct ModuleObject;
using Module = ModuleObject *;
struct FunctionObject;
using Function = FunctionObject *;
struct EventObject;
using Event = EventObject *;
struct GraphObject;
using Graph = GraphObject *;
struct GraphExecObject;
using GraphExec = GraphExecObject *;

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kMultiprocessors = 16,
  kMajor = 75,
  kMinor = 76,
};
/// CUfunction_attribute.
enum FunctionAttribute : int { kMaxDynamicShared = 8 };
/// CU_STREAM_NON_BLOCKING.
constexpr unsigned kNonBlocking = 1;
/// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
constexpr int kCaptureThreadLocal = 1;

/// CUlaunchAttribute, of which one is used.
struct alignas(8) LaunchAttribute {
  static constexpr int kProgrammaticSerialization = 6;
  int id;
  char padding[4];
  union {
    char bytes[64];
    int allowed;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUDA_MEMCPY2D.
struct Copy2D {
  enum Memory : int { kHost = 1, kDevice = 2 };
  size_t sourceX, sourceY;
  Memory sourceMemory;
  const void *sourceHost;
  DevicePointer sourceDevice;
  void *sourceArray;
  size_t sourcePitch;
  size_t targetX, targetY;
  Memory targetMemory;
  void *targetHost;
  DevicePointer targetDevice;
  void *targetArray;
  size_t targetPitch;
  size_t width, height;
};

/// Calls X(name, parameters) for each function.
#define SDC_CUDA_SYMBOLS(X)                                                    \
  X(cuInit, (unsigned))                                                        \
  X(cuDriverGetVersion, (int *))                                               \
  X(cuGetErrorName, (Result, const char **))                                   \
  X(cuGetErrorString, (Result, const char **))                                 \
  X(cuDeviceGetCount, (int *))                                                 \
  X(cuDeviceGet, (DeviceNumber *, int))                                        \
  X(cuDeviceGetName, (char *, int, DeviceNumber))                              \
  X(cuDeviceGetAttribute, (int *, DeviceAttribute, DeviceNumber))              \
  X(cuDeviceTotalMem, (size_t *, DeviceNumber))                                \
  X(cuDevicePrimaryCtxRetain, (Context *, DeviceNumber))                       \
  X(cuDevicePrimaryCtxRelease, (DeviceNumber))                                 \
  X(cuCtxPushCurrent, (Context))                                               \
  X(cuCtxPopCurrent, (Context *))                                              \
  X(cuMemGetInfo, (size_t *, size_t *))                                        \
  X(cuMemAlloc, (DevicePointer *, size_t))                                     \
  X(cuMemFree, (DevicePointer))                                                \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                               \
  X(cuMemFreeHost, (void *))                                                   \
  X(cuMemcpyHtoDAsync, (DevicePointer, const void *, size_t, Stream))          \
  X(cuMemcpyDtoHAsync, (void *, DevicePointer, size_t, Stream))                \
  X(cuMemcpy2DAsync, (const Copy2D *, Stream))                                 \
  X(cuMemsetD8Async, (DevicePointer, unsigned char, size_t, Stream))           \
  X(cuStreamCreate, (Stream *, unsigned))                                      \
  X(cuStreamDestroy, (Stream))                                                 \
  X(cuStreamSynchronize, (Stream))                                             \
  X(cuStreamQuery, (Stream))                                                   \
  X(cuStreamBeginCapture, (Stream, int))                                       \
  X(cuStreamEndCapture, (Stream, Graph *))                                     \
  X(cuGraphInstantiateWithFlags, (GraphExec *, Graph, unsigned long long))     \
  X(cuGraphLaunch, (GraphExec, Stream))                                        \
  X(cuGraphDestroy, (Graph))                                                   \
  X(cuGraphExecDestroy, (GraphExec))                                           \
  X(cuModuleLoadData, (Module *, const void *))                                \
  X(cuModuleUnload, (Module))                                                  \
  X(cuModuleGetFunction, (Function *, Module, const char *))                   \
  X(cuFuncSetAttribute, (Function, FunctionAttribute, int))                    \
  X(cuLaunchKernelEx, (const LaunchConfig *, Function, void **, void **))      \
  X(cuEventCreate, (Event *, unsigned))                                        \
  X(cuEventDestroy, (Event))                                                   \
  X(cuEventRecord, (Event, Stream))                                            \
  X(cuEventSynchronize, (Event))                                               \
  X(cuEventElapsedTime, (float *, Event, Event))

/// The functions, each by its name.
struct Driver {
#define SDC_CUDA_MEMBER(name, parameters) Result(*name) parameters;
  SDC_CUDA_SYMBOLS(SDC_CUDA_MEMBER)
#undef SDC_CUDA_MEMBER
  /// As 1000 * major + 10 * minor.
  int version;
};

/// The driver of this process, opened and initialised by the first call that
/// succeeds. SDC_NO_DEVICE if there is none, or if it is too old.
sdc_status openDriver(const Driver *&driver, sdc_error *error);

/// Turns a result into a status; on failure the message names `what`.
sdc_status check(const Driver &driver, Result result, const char *what,
                 sdc_error *error);

} // namespace sdc::rt::cuda

/// Calls a function of the driver and returns from here if it fails.
#define SDC_CUDA_TRY(driver, name, ...)                                        \
  SDC_TRY(::sdc::rt::cuda::check(driver, (driver).name(__VA_ARGS__), #name,    \
                                 error))

#endif // SDC_RUNTIME_SRC_CUDA_SYMBOLS_H
