// Implements the driver's functions by name, over memory of the host.

#include "test/runtime/FakeCuda.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

using sdc::test::FakeCuda;

extern "C" {
void toy_append(void *const *, int64_t, int64_t, void *);
void toy_attend(void *const *, int64_t, int64_t, void *);
void toy_logits_3(void *const *, int64_t, int64_t, void *);
void toy_logits_4(void *const *, int64_t, int64_t, void *);
void toy_logits_last_4(void *const *, int64_t, int64_t, void *);
void toy_add(void *const *, int64_t, int64_t, void *);
}

namespace {
enum : int {
  kOk = 0,
  kInvalid = 1,
  kNoMemory = 2,
  kBadDevice = 101,
  kNoContext = 201,
  kNotFound = 500,
  kIllegalAddress = 700,
};

FakeCuda fake = {
    1, 9, 0, 13000, size_t{1} << 20, nullptr, nullptr, kOk, 0, 0, 0, 0,
    0, 0, 0, 0,     nullptr};
unsigned calls = 0;
int current = 0;
std::map<uint64_t, size_t> allocations;

/// Whether a call is told to fail; null-terminated names are compared.
int begin(const char *name, bool needsContext = true) {
  if (fake.failing && strcmp(fake.failing, name) == 0 && calls++ >= fake.skip)
    return fake.failure;
  return needsContext && current == 0 ? kNoContext : kOk;
}

#define BEGIN(...)                                                             \
  if (int failed = begin(__VA_ARGS__))                                         \
  return failed

bool onDevice(uint64_t address, size_t size) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return false;
  --after;
  return address + size <= after->first + after->second;
}

//===- Kernels ------------------------------------------------------------===//

struct Loop {
  uint64_t best;
  uint64_t *ring;
  uint32_t ringSize, step, arrived, rows, row, position;
};

/// As executable.fbs says of Image.greedy.
void greedy(const uint64_t *p) {
  auto *loop = reinterpret_cast<Loop *>(p[5]);
  auto vocabulary = int64_t(p[1]);
  const float *logits =
      reinterpret_cast<const float *>(p[0]) + loop->row * vocabulary;
  int32_t best = 0;
  float largest = -INFINITY;
  for (int64_t i = 0; i < vocabulary; ++i)
    if (logits[i] > largest) {
      largest = logits[i];
      best = int32_t(i);
    }
  auto *tokens = reinterpret_cast<int32_t *>(p[2]);
  auto *positions = reinterpret_cast<int32_t *>(p[3]);
  auto *slots = reinterpret_cast<int32_t *>(p[4]);
  loop->position += 1;
  for (uint32_t row = 0; row < loop->rows; ++row) {
    tokens[row] = row == loop->row ? best : 0;
    positions[row] = row == loop->row ? int32_t(loop->position) : -1;
    slots[row] = int32_t(row);
  }
  uint64_t entry = (uint64_t{loop->step} + 1) << 32 | uint32_t(best);
  __atomic_store_n(loop->ring + loop->step % loop->ringSize, entry,
                   __ATOMIC_RELEASE);
  loop->step += 1;
}

/// Fills a table of the toy decoder: 37 x 8 values.
void generate(const uint64_t *p) {
  auto *values = reinterpret_cast<float *>(p[0]);
  for (uint64_t i = 0; i < 37 * 8; ++i)
    values[i] = float((i * 7 + p[1] * 3 + p[2] * 5) % 16) - 8;
}

struct Kernel {
  unsigned parameters;
  std::function<void(const uint64_t *, unsigned grid)> run;
};

using Toy = void (*)(void *const *, int64_t, int64_t, void *);
Kernel toy(unsigned parameters, Toy function) {
  return {parameters, [function](const uint64_t *p, unsigned grid) {
            alignas(64) char scratch[64];
            function(reinterpret_cast<void *const *>(p), 0, grid, scratch);
          }};
}

const std::map<std::string, Kernel> &kernels() {
  static const std::map<std::string, Kernel> table = {
      {"toy_append", toy(7, toy_append)},
      {"toy_attend", toy(6, toy_attend)},
      {"toy_logits_3", toy(4, toy_logits_3)},
      {"toy_logits_4", toy(4, toy_logits_4)},
      {"toy_logits_last_4", toy(4, toy_logits_last_4)},
      {"toy_add", toy(3, toy_add)},
      {"toy_generate", {3, [](const uint64_t *p, unsigned) { generate(p); }}},
      {"toy_greedy", {6, [](const uint64_t *p, unsigned) { greedy(p); }}}};
  return table;
}

//===- Streams and graphs -------------------------------------------------===//

using Operation = std::function<int()>;
using Graph = std::vector<Operation>;

struct Stream {
  ~Stream() { delete capture; }
  Graph *capture = nullptr;
  bool lastIsKernel = false;
};

struct Launch {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  Stream *stream;
  const int *attributes;
  unsigned attributeCount;
};

struct Copy {
  size_t sourceX, sourceY;
  int sourceMemory;
  const void *sourceHost;
  uint64_t sourceDevice;
  void *sourceArray;
  size_t sourcePitch, targetX, targetY;
  int targetMemory;
  void *targetHost;
  uint64_t targetDevice;
  void *targetArray;
  size_t targetPitch, width, height;
};

/// Does it now, or when the graph is launched.
int put(Stream *stream, bool kernel, Operation operation) {
  fake.lastStream = stream;
  if (!stream->capture)
    return operation();
  stream->lastIsKernel = kernel;
  stream->capture->push_back(std::move(operation));
  return kOk;
}

template <typename T> int make(T **out) {
  *out = new T();
  ++fake.live;
  return kOk;
}
template <typename T> int destroy(T *object) {
  delete object;
  --fake.live;
  return kOk;
}

//===- The driver ---------------------------------------------------------===//

int cuInit(unsigned) {
  BEGIN("cuInit", false);
  return fake.devices < 0 ? 100 : kOk;
}
int cuDriverGetVersion(int *version) {
  *version = fake.version;
  return kOk;
}
int cuGetErrorName(int result, const char **name) {
  *name = result == kNoMemory         ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == kNoContext      ? "CUDA_ERROR_INVALID_CONTEXT"
                                      : "CUDA_ERROR_OTHER";
  return kOk;
}
int cuGetErrorString(int result, const char **text) {
  *text = result == kIllegalAddress ? "an illegal address was met" : "other";
  return kOk;
}
int cuDeviceGetCount(int *count) {
  *count = fake.devices;
  return kOk;
}
int cuDeviceGet(int *device, int index) {
  if (index >= fake.devices)
    return kBadDevice;
  *device = index;
  return kOk;
}
int cuDeviceGetName(char *name, int size, int) {
  snprintf(name, size_t(size), "Fake GPU");
  return kOk;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75 ? fake.major : attribute == 76 ? fake.minor : 132;
  return kOk;
}
int cuDeviceTotalMem(size_t *bytes, int) {
  *bytes = fake.memory;
  return kOk;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN("cuDevicePrimaryCtxRetain", false);
  *context = &fake + device;
  ++fake.live;
  return kOk;
}
int cuDevicePrimaryCtxRelease(int) {
  --fake.live;
  return kOk;
}
int cuCtxPushCurrent(void *context) {
  BEGIN("cuCtxPushCurrent", false);
  ++current;
  return context ? kOk : kInvalid;
}
int cuCtxPopCurrent(void **) {
  --current;
  return kOk;
}
int cuMemGetInfo(size_t *available, size_t *total) {
  BEGIN("cuMemGetInfo");
  *total = fake.memory;
  *available = fake.memory - fake.used;
  return kOk;
}
int cuMemAlloc(uint64_t *address, size_t size) {
  BEGIN("cuMemAlloc");
  if (size == 0 || size > fake.memory - fake.used)
    return size == 0 ? kInvalid : kNoMemory;
  // What was there before must not matter.
  void *bytes = aligned_alloc(512, (size + 511) / 512 * 512);
  memset(bytes, 0xa5, size);
  *address = reinterpret_cast<uint64_t>(bytes);
  allocations[*address] = size;
  fake.used += size;
  ++fake.live;
  return kOk;
}
int cuMemFree(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return kInvalid;
  fake.used -= found->second;
  allocations.erase(found);
  free(reinterpret_cast<void *>(address));
  --fake.live;
  return kOk;
}
int cuMemHostAlloc(void **bytes, size_t size, unsigned) {
  BEGIN("cuMemHostAlloc");
  *bytes = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  memset(*bytes, 0xa5, std::min<size_t>(size, 65536));
  ++fake.live;
  return kOk;
}
int cuMemFreeHost(void *bytes) {
  free(bytes);
  --fake.live;
  return kOk;
}
int cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t size, Stream *s) {
  BEGIN("cuMemcpyHtoDAsync");
  if (!onDevice(to, size))
    return kInvalid;
  fake.uploaded += size;
  return put(s, false, [=] {
    memcpy(reinterpret_cast<void *>(to), from, size);
    return kOk;
  });
}
int cuMemcpyDtoHAsync(void *to, uint64_t from, size_t size, Stream *s) {
  BEGIN("cuMemcpyDtoHAsync");
  if (!onDevice(from, size))
    return kInvalid;
  return put(s, false, [=] {
    memcpy(to, reinterpret_cast<const void *>(from), size);
    return kOk;
  });
}
int cuMemcpy2DAsync(const Copy *given, Stream *s) {
  BEGIN("cuMemcpy2DAsync");
  Copy c = *given;
  size_t rows = c.height - 1;
  if ((c.sourceMemory == 2 &&
       !onDevice(c.sourceDevice, rows * c.sourcePitch + c.width)) ||
      (c.targetMemory == 2 &&
       !onDevice(c.targetDevice, rows * c.targetPitch + c.width)))
    return kInvalid;
  auto *from = c.sourceMemory == 2
                   ? reinterpret_cast<const char *>(c.sourceDevice)
                   : static_cast<const char *>(c.sourceHost);
  auto *to = c.targetMemory == 2 ? reinterpret_cast<char *>(c.targetDevice)
                                 : static_cast<char *>(c.targetHost);
  return put(s, false, [=] {
    for (size_t row = 0; row < c.height; ++row)
      memcpy(to + row * c.targetPitch, from + row * c.sourcePitch, c.width);
    return kOk;
  });
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t size, Stream *s) {
  BEGIN("cuMemsetD8Async");
  if (!onDevice(at, size))
    return kInvalid;
  return put(s, false, [=] {
    memset(reinterpret_cast<void *>(at), value, size);
    return kOk;
  });
}
int cuStreamCreate(Stream **stream, unsigned) {
  BEGIN("cuStreamCreate");
  return make(stream);
}
int cuStreamDestroy(Stream *stream) { return destroy(stream); }
int cuStreamSynchronize(Stream *) {
  BEGIN("cuStreamSynchronize");
  return kOk;
}
int cuStreamQuery(Stream *) {
  BEGIN("cuStreamQuery");
  return kOk;
}
int cuStreamBeginCapture(Stream *stream, int) {
  BEGIN("cuStreamBeginCapture");
  stream->capture = new Graph();
  return kOk;
}
int cuStreamEndCapture(Stream *stream, Graph **graph) {
  BEGIN("cuStreamEndCapture");
  *graph = stream->capture;
  stream->capture = nullptr;
  ++fake.live;
  return kOk;
}
int cuGraphInstantiateWithFlags(Graph **exec, Graph *graph,
                                unsigned long long) {
  BEGIN("cuGraphInstantiateWithFlags");
  *exec = new Graph(*graph);
  ++fake.live;
  return kOk;
}
int cuGraphLaunch(Graph *graph, Stream *stream) {
  BEGIN("cuGraphLaunch");
  fake.lastStream = stream;
  ++fake.graphLaunches;
  for (const Operation &operation : *graph)
    if (int failed = operation())
      return failed;
  return kOk;
}
int cuGraphDestroy(Graph *graph) { return destroy(graph); }
int cuGraphExecDestroy(Graph *graph) { return destroy(graph); }
int cuModuleLoadData(std::string **module, const void *image) {
  BEGIN("cuModuleLoadData");
  if (strncmp(static_cast<const char *>(image), "cubin", 5) != 0)
    return 200;
  return make(module);
}
int cuModuleUnload(std::string *module) { return destroy(module); }
int cuModuleGetFunction(const Kernel **function, std::string *,
                        const char *name) {
  BEGIN("cuModuleGetFunction");
  auto found = kernels().find(name);
  if (found == kernels().end())
    return kNotFound;
  *function = &found->second;
  return kOk;
}
int cuFuncSetAttribute(Kernel *, int, int) {
  BEGIN("cuFuncSetAttribute");
  return kOk;
}
int cuLaunchKernelEx(const Launch *launch, const Kernel *kernel,
                     void **parameters, void **) {
  BEGIN("cuLaunchKernelEx");
  std::vector<uint64_t> values;
  for (unsigned i = 0; i < kernel->parameters; ++i)
    values.push_back(*static_cast<uint64_t *>(parameters[i]));
  bool early = launch->attributeCount == 1 && launch->attributes[0] == 6 &&
               launch->attributes[2] == 1;
  // Only a kernel can be followed programmatically.
  if (early && !launch->stream->lastIsKernel)
    return kInvalid;
  ++fake.launches;
  fake.programmatic += early;
  unsigned grid = launch->gridX;
  return put(launch->stream, true, [=] {
    kernel->run(values.data(), grid);
    return kOk;
  });
}
int cuEventCreate(int **event, unsigned) {
  BEGIN("cuEventCreate");
  return make(event);
}
int cuEventDestroy(int *event) { return destroy(event); }
int cuEventRecord(int *, Stream *) {
  BEGIN("cuEventRecord");
  return kOk;
}
int cuEventSynchronize(int *) {
  BEGIN("cuEventSynchronize");
  return kOk;
}
int cuEventElapsedTime(float *milliseconds, int *, int *) {
  BEGIN("cuEventElapsedTime");
  ++fake.measured;
  *milliseconds = 0.25F;
  return kOk;
}
} // namespace

extern "C" __attribute__((visibility("default"))) FakeCuda *fake_cuda() {
  calls = 0;
  return &fake;
}

extern "C" __attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *name, void **function, int, uint64_t, int *) {
#define FUNCTION(name)                                                         \
  {                                                                            \
    #name, reinterpret_cast<void *>(&name)                                     \
  }
  static const std::map<std::string, void *> table = {
      FUNCTION(cuInit),
      FUNCTION(cuDriverGetVersion),
      FUNCTION(cuGetErrorName),
      FUNCTION(cuGetErrorString),
      FUNCTION(cuDeviceGetCount),
      FUNCTION(cuDeviceGet),
      FUNCTION(cuDeviceGetName),
      FUNCTION(cuDeviceGetAttribute),
      FUNCTION(cuDeviceTotalMem),
      FUNCTION(cuDevicePrimaryCtxRetain),
      FUNCTION(cuDevicePrimaryCtxRelease),
      FUNCTION(cuCtxPushCurrent),
      FUNCTION(cuCtxPopCurrent),
      FUNCTION(cuMemGetInfo),
      FUNCTION(cuMemAlloc),
      FUNCTION(cuMemFree),
      FUNCTION(cuMemHostAlloc),
      FUNCTION(cuMemFreeHost),
      FUNCTION(cuMemcpyHtoDAsync),
      FUNCTION(cuMemcpyDtoHAsync),
      FUNCTION(cuMemcpy2DAsync),
      FUNCTION(cuMemsetD8Async),
      FUNCTION(cuStreamCreate),
      FUNCTION(cuStreamDestroy),
      FUNCTION(cuStreamSynchronize),
      FUNCTION(cuStreamQuery),
      FUNCTION(cuStreamBeginCapture),
      FUNCTION(cuStreamEndCapture),
      FUNCTION(cuGraphInstantiateWithFlags),
      FUNCTION(cuGraphLaunch),
      FUNCTION(cuGraphDestroy),
      FUNCTION(cuGraphExecDestroy),
      FUNCTION(cuModuleLoadData),
      FUNCTION(cuModuleUnload),
      FUNCTION(cuModuleGetFunction),
      FUNCTION(cuFuncSetAttribute),
      FUNCTION(cuLaunchKernelEx),
      FUNCTION(cuEventCreate),
      FUNCTION(cuEventDestroy),
      FUNCTION(cuEventRecord),
      FUNCTION(cuEventSynchronize),
      FUNCTION(cuEventElapsedTime)};
  auto found = table.find(name);
  bool hidden = fake.missing && strcmp(fake.missing, name) == 0;
  if (found == table.end() || hidden)
    return kNotFound;
  *function = found->second;
  return kOk;
}
