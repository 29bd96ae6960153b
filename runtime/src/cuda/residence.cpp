// Loads an image and uploads weights.

#include "runtime/src/cuda/residence.h"

#include "runtime/src/cuda/architecture.h"
#include "runtime/src/cuda/launch.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/mman.h>

using namespace sdc;
using namespace sdc::rt;
using namespace sdc::rt::cuda;

/// Of each of the two pieces of pinned memory that an upload goes through.
static constexpr uint64_t kStaging = uint64_t{16} << 20;

static bool holdsWeights(const fb::Segment &segment) {
  return segment.kind() == fb::SegmentKind::Weights ||
         segment.kind() == fb::SegmentKind::Generated;
}

Size cuda::weightsOnDevice(const fb::Executable &root) {
  Size bytes;
  for (const fb::Segment *segment : *root.segments())
    if (holdsWeights(*segment))
      bytes = bytes + Size(segment->size()).alignedTo(kDeviceAlignment);
  return bytes;
}

//===- The device and its image -------------------------------------------===//

static sdc_status findDevice(const Driver &driver, uint32_t index,
                             DeviceNumber &device, sdc_error *error) {
  int count = 0;
  SDC_CUDA_TRY(driver, cuDeviceGetCount, &count);
  if (count == 0)
    return fail(error, SDC_NO_DEVICE, "the CUDA driver finds no device");
  if (index >= uint32_t(count))
    return fail(error, SDC_NO_DEVICE,
                "no device cuda:%u: this machine has %d, from cuda:0 on", index,
                count);
  SDC_CUDA_TRY(driver, cuDeviceGet, &device, int(index));
  return SDC_OK;
}

static sdc_status findImage(const Driver &driver, DeviceNumber device,
                            const fb::Executable &root, Residence &residence,
                            sdc_error *error) {
  int major = 0, minor = 0;
  SDC_CUDA_TRY(driver, cuDeviceGetAttribute, &major, kMajor, device);
  SDC_CUDA_TRY(driver, cuDeviceGetAttribute, &minor, kMinor, device);
  residence.image = chooseImage(root, {uint32_t(major), uint32_t(minor)});
  if (residence.image)
    return SDC_OK;
  char name[128] = "", list[128];
  driver.cuDeviceGetName(name, sizeof(name), device);
  listLevels(root, list);
  return fail(error, SDC_NO_IMAGE,
              "no code in the file for cuda:%u (%s), which is sm_%d%d; the "
              "file has: %s",
              residence.device, name, major, minor, list);
}

static sdc_status loadModule(const Driver &driver, const sdc_model &model,
                             Residence &residence, sdc_error *error) {
  const fb::Image &image = *residence.image;
  SDC_CUDA_TRY(driver, cuModuleLoadData, &residence.module,
               model.executable.segment(image.segment()));
  auto find = [&](const fb::CudaFunction &given, Function &function) {
    Result result = driver.cuModuleGetFunction(&function, residence.module,
                                               given.symbol()->c_str());
    if (result == kNotFound)
      return fail(error, SDC_MALFORMED, "the image %s has no function '%s'",
                  image.level()->c_str(), given.symbol()->c_str());
    SDC_TRY(check(driver, result, "cuModuleGetFunction", error));
    if (given.shared_bytes() == 0)
      return SDC_OK;
    char what[256];
    snprintf(what, sizeof(what), "%u bytes of shared memory for '%s'",
             given.shared_bytes(), given.symbol()->c_str());
    return check(driver,
                 driver.cuFuncSetAttribute(function, kMaxDynamicShared,
                                           int(given.shared_bytes())),
                 what, error);
  };
  for (uint32_t i = 0; i < image.functions()->size(); ++i)
    SDC_TRY(find(*image.functions()->Get(i), residence.functions[i]));
  if (image.greedy())
    SDC_TRY(find(*image.greedy(), residence.greedy));
  return SDC_OK;
}

//===- Weights ------------------------------------------------------------===//

/// Not enough memory is said before anything large is asked for.
static sdc_status checkMemory(const Driver &driver, uint32_t device,
                              uint64_t weights, uint64_t session,
                              sdc_error *error) {
  size_t available = 0, total = 0;
  SDC_CUDA_TRY(driver, cuMemGetInfo, &available, &total);
  if (weights + session <= available)
    return SDC_OK;
  return fail(error, SDC_OUT_OF_MEMORY,
              "not enough memory on cuda:%u: %" PRIu64
              " bytes are needed (%" PRIu64 " for weights, %" PRIu64
              " for the session), %zu of %zu are free",
              device, weights + session, weights, session, available, total);
}

namespace {
/// Copies host bytes to the device through two pieces of pinned memory: one is
/// filled while the other travels.
class Upload {
public:
  explicit Upload(const Driver &driver) : driver(driver) {}
  ~Upload() {
    if (stream)
      driver.cuStreamSynchronize(stream);
    for (Piece &piece : pieces) {
      if (piece.bytes)
        driver.cuMemFreeHost(piece.bytes);
      if (piece.copied)
        driver.cuEventDestroy(piece.copied);
    }
    if (stream)
      driver.cuStreamDestroy(stream);
  }
  Upload(const Upload &) = delete;
  Upload &operator=(const Upload &) = delete;

  sdc_status start(sdc_error *error) {
    SDC_CUDA_TRY(driver, cuStreamCreate, &stream, kNonBlocking);
    return SDC_OK;
  }
  Stream onStream() const { return stream; }

  /// `mapped` bytes are dropped from memory once they have been read.
  sdc_status copy(DevicePointer to, const uint8_t *from, uint64_t size,
                  bool mapped, sdc_error *error) {
    for (uint64_t done = 0; done < size; done += kStaging) {
      uint64_t count = size - done < kStaging ? size - done : kStaging;
      Piece &piece = pieces[next];
      next ^= 1;
      SDC_TRY(prepare(piece, error));
      memcpy(piece.bytes, from + done, count);
      // A hint: segments and pieces start at pages.
      if (mapped)
        madvise(const_cast<uint8_t *>(from + done), count, MADV_DONTNEED);
      SDC_CUDA_TRY(driver, cuMemcpyHtoDAsync, to + done, piece.bytes, count,
                   stream);
      SDC_CUDA_TRY(driver, cuEventRecord, piece.copied, stream);
    }
    return SDC_OK;
  }

  sdc_status finish(sdc_error *error) {
    SDC_CUDA_TRY(driver, cuStreamSynchronize, stream);
    return SDC_OK;
  }

private:
  struct Piece {
    void *bytes = nullptr;
    Event copied = nullptr;
  };

  /// Makes it, or waits until its bytes have left it.
  sdc_status prepare(Piece &piece, sdc_error *error) {
    if (piece.bytes) {
      SDC_CUDA_TRY(driver, cuEventSynchronize, piece.copied);
      return SDC_OK;
    }
    SDC_CUDA_TRY(driver, cuEventCreate, &piece.copied, 0);
    SDC_CUDA_TRY(driver, cuMemHostAlloc, &piece.bytes, kStaging, 0);
    return SDC_OK;
  }

  const Driver &driver;
  Stream stream = nullptr;
  Piece pieces[2];
  uint32_t next = 0;
};
} // namespace

/// Fills the weights of Generated segments.
static sdc_status generate(const Driver &driver, const fb::Executable &root,
                           Residence &residence, Stream stream,
                           sdc_error *error) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < root.weights()->size(); ++i) {
    const fb::Weight &weight = *root.weights()->Get(i);
    const fb::Segment &segment = *root.segments()->Get(weight.segment());
    if (segment.kind() != fb::SegmentKind::Generated)
      continue;
    const fb::CudaFunction &generator =
        *residence.image->generators()->Get(next++);
    Function function = nullptr;
    Result result = driver.cuModuleGetFunction(&function, residence.module,
                                               generator.symbol()->c_str());
    if (result == kNotFound)
      return fail(error, SDC_MALFORMED, "the image %s has no function '%s'",
                  residence.image->level()->c_str(),
                  generator.symbol()->c_str());
    SDC_TRY(check(driver, result, "cuModuleGetFunction", error));
    DevicePointer bytes = residence.weight(root, i);
    uint64_t seed = segment.seed(), index = i;
    void *parameters[] = {&bytes, &seed, &index};
    SDC_TRY(launch(driver, generator, function, parameters, stream,
                   /*programmatic=*/false, error));
  }
  return SDC_OK;
}

static sdc_status loadWeights(const Driver &driver, const sdc_model &model,
                              Residence &residence, sdc_error *error) {
  const fb::Executable &root = model.root();
  Upload upload(driver);
  SDC_TRY(upload.start(error));
  for (uint32_t i = 0; i < root.segments()->size(); ++i) {
    const fb::Segment &segment = *root.segments()->Get(i);
    if (!holdsWeights(segment) || segment.size() == 0)
      continue;
    uint64_t bytes = Size(segment.size()).alignedTo(kDeviceAlignment).value;
    SDC_CUDA_TRY(driver, cuMemAlloc, &residence.segments[i], bytes);
    if (segment.kind() == fb::SegmentKind::Weights)
      SDC_TRY(upload.copy(residence.segments[i], model.executable.segment(i),
                          segment.size(), model.file.bytes() != nullptr,
                          error));
  }
  SDC_TRY(generate(driver, root, residence, upload.onStream(), error));
  return upload.finish(error);
}

//===- Life ---------------------------------------------------------------===//

static uint64_t residenceBytes(const fb::Executable &root) {
  return sizeof(Residence) + root.kernels()->size() * sizeof(Function) +
         root.segments()->size() * sizeof(DevicePointer);
}

static void moveOut(const sdc_model &model, Residence &residence) {
  const Driver &driver = *residence.driver;
  if (residence.context) {
    Current current(driver, residence.context);
    for (uint32_t i = 0; i < model.root().segments()->size(); ++i)
      if (residence.segments[i])
        driver.cuMemFree(residence.segments[i]);
    if (residence.module)
      driver.cuModuleUnload(residence.module);
  }
  DeviceNumber device = 0;
  if (residence.context &&
      driver.cuDeviceGet(&device, int(residence.device)) == kSuccess)
    driver.cuDevicePrimaryCtxRelease(device);
  model.allocator.release(&residence, residenceBytes(model.root()), kAlignment);
}

static sdc_status fillResidence(const sdc_model &model, uint64_t sessionBytes,
                                Residence &residence, sdc_error *error) {
  const Driver &driver = *residence.driver;
  const fb::Executable &root = model.root();
  DeviceNumber device = 0;
  SDC_TRY(findDevice(driver, residence.device, device, error));
  SDC_TRY(findImage(driver, device, root, residence, error));
  SDC_CUDA_TRY(driver, cuDevicePrimaryCtxRetain, &residence.context, device);
  Current current(driver, residence.context);
  SDC_TRY(current.status(error));
  SDC_TRY(checkMemory(driver, residence.device, weightsOnDevice(root).value,
                      sessionBytes, error));
  SDC_TRY(loadModule(driver, model, residence, error));
  return loadWeights(driver, model, residence, error);
}

/// Under the lock.
static sdc_status makeResidence(sdc_model &model, uint32_t device,
                                uint64_t sessionBytes, Residence *&out,
                                sdc_error *error) {
  if (model.withoutCode)
    return fail(error, SDC_NO_IMAGE,
                "the model was opened without code, so it cannot run");
  const fb::Executable &root = model.root();
  const Driver *driver = nullptr;
  SDC_TRY(openDriver(driver, error));
  void *memory = model.allocator.allocate(residenceBytes(root), kAlignment);
  if (!memory)
    return fail(error, SDC_OUT_OF_MEMORY, "no memory for a list of kernels");
  auto *residence = new (memory) Residence();
  residence->driver = driver;
  residence->device = device;
  residence->functions = reinterpret_cast<Function *>(residence + 1);
  residence->segments = reinterpret_cast<DevicePointer *>(
      residence->functions + root.kernels()->size());
  sdc_status status = fillResidence(model, sessionBytes, *residence, error);
  if (status != SDC_OK) {
    moveOut(model, *residence);
    return status;
  }
  residence->next = model.residences;
  model.residences = residence;
  model.report(
      SDC_LOG_INFO, "cuda:%u: using the image %s, %" PRIu64 " bytes of weights",
      device, residence->image->level()->c_str(), weightsOnDevice(root).value);
  out = residence;
  return SDC_OK;
}

/// There already: only the session's own memory is wanted.
static sdc_status checkSession(const Residence &residence,
                               uint64_t sessionBytes, sdc_error *error) {
  Current current(*residence.driver, residence.context);
  SDC_TRY(current.status(error));
  return checkMemory(*residence.driver, residence.device, 0, sessionBytes,
                     error);
}

sdc_status cuda::moveIn(sdc_model &model, uint32_t device,
                        uint64_t sessionBytes, Residence *&residence,
                        sdc_error *error) {
  pthread_mutex_lock(&model.residencesLock);
  residence = model.residences;
  while (residence && residence->device != device)
    residence = residence->next;
  sdc_status status =
      residence ? checkSession(*residence, sessionBytes, error)
                : makeResidence(model, device, sessionBytes, residence, error);
  pthread_mutex_unlock(&model.residencesLock);
  return status;
}

void cuda::leaveDevices(sdc_model &model) {
  while (Residence *residence = model.residences) {
    model.residences = residence->next;
    moveOut(model, *residence);
  }
}
