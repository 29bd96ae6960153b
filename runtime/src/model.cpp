// Opens and closes models; picks the image and finds its kernels.

#include "runtime/src/model.h"

#include "runtime/src/cpu/level.h"
#include "runtime/src/cuda/residence.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

using namespace sdc;
using namespace sdc::rt;

sdc_model::~sdc_model() {
  cuda::leaveDevices(*this);
  pthread_mutex_destroy(&residencesLock);
  if (kernels)
    allocator.release(static_cast<void *>(kernels),
                      root().kernels()->size() * sizeof(*kernels), kAlignment);
}

void sdc_model::report(sdc_log_level severity, const char *format, ...) const {
  if (!log)
    return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  log(logUser, severity, line);
}

void sdc_model::retain() { owners.fetch_add(1, std::memory_order_relaxed); }

void sdc_model::release() {
  if (owners.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  Allocator memory = allocator;
  this->~sdc_model();
  memory.release(this, sizeof(sdc_model), alignof(sdc_model));
}

void sdc::rt::listLevels(const fb::Executable &root, char (&list)[128]) {
  list[0] = '\0';
  for (const fb::Image *image : *root.images()) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
             image->level()->c_str());
  }
}

static const fb::Image *findImage(const fb::Executable &root,
                                  const char *level) {
  for (const fb::Image *image : *root.images())
    if (strcmp(image->level()->c_str(), level) == 0)
      return image;
  return nullptr;
}

/// The image of `wanted`, or the best that this machine runs.
static sdc_status chooseImage(const sdc_model &model, const char *wanted,
                              const fb::Image *&image, sdc_error *error) {
  const fb::Executable &root = model.root();
  char list[128];
  listLevels(root, list);
  if (wanted) {
    image = findImage(root, wanted);
    if (!image)
      return fail(error, SDC_NO_IMAGE,
                  "no code for level '%s' in the file, it has: %s", wanted,
                  list);
    if (!cpu::runsLevel(wanted))
      return fail(error, SDC_NO_IMAGE, "this machine does not run level '%s'",
                  wanted);
    return SDC_OK;
  }
  for (uint32_t i = 0; const char *level = cpu::levelName(i); ++i) {
    if (!cpu::runsLevel(level))
      continue;
    image = findImage(root, level);
    if (image)
      return SDC_OK;
  }
  sdc_cpu_info info = {};
  info.struct_size = sizeof(info);
  sdc_cpu_query(&info);
  return fail(error, SDC_NO_IMAGE,
              "no code in the file for this machine, which runs %s; the file "
              "has: %s",
              info.level[0] ? info.level : "no known level", list);
}

/// The kernels of the image that the host was linked with.
static sdc_status findLinked(const sdc_static_model &linked,
                             const fb::Executable &root, const fb::Image &image,
                             const sdc_kernel *&kernels, sdc_error *error) {
  const char *level = image.level()->c_str();
  if (linked.kernel_count != root.kernels()->size())
    return fail(error, SDC_BAD_ARGUMENT,
                "%u kernels are linked, the executable has %u",
                linked.kernel_count, root.kernels()->size());
  for (uint32_t i = 0; i < linked.image_count; ++i)
    if (linked.images[i].kernels && linked.images[i].level &&
        strcmp(linked.images[i].level, level) == 0) {
      kernels = linked.images[i].kernels;
      return SDC_OK;
    }
  return fail(error, SDC_NO_IMAGE, "the code for level '%s' is not linked",
              level);
}

/// Fills the table of kernels from the image, or from the host.
static sdc_status loadKernels(sdc_model &model, const sdc_open_options &options,
                              const sdc_static_model *linked,
                              sdc_error *error) {
  const fb::Executable &root = model.root();
  uint32_t count = root.kernels()->size();
  if (options.kernels && options.kernel_count != count)
    return fail(error, SDC_BAD_ARGUMENT,
                "%u kernels are linked, the file has %u", options.kernel_count,
                count);
  const sdc_kernel *kernels = options.kernels;
  const fb::Image *image = nullptr;
  if (root.target() == fb::TargetFamily::Cuda) {
    if (kernels || options.level)
      return fail(error, SDC_BAD_ARGUMENT,
                  "%s given, the file is for CUDA, where each device chooses",
                  kernels ? "kernels are" : "a level is");
    if (root.images()->size() == 1)
      model.level = root.images()->Get(0)->level()->c_str();
    return SDC_OK;
  }
  if (!kernels)
    SDC_TRY(chooseImage(model, options.level, image, error));
  if (linked && !kernels)
    SDC_TRY(findLinked(*linked, root, *image, kernels, error));
  if (count == 0)
    return SDC_OK;
  model.kernels = static_cast<sdc_kernel *>(
      model.allocator.allocate(count * sizeof(sdc_kernel), kAlignment));
  if (!model.kernels)
    return fail(error, SDC_OUT_OF_MEMORY, "no memory for %u kernels", count);

  if (kernels) {
    for (uint32_t i = 0; i < count; ++i) {
      if (!kernels[i])
        return fail(error, SDC_BAD_ARGUMENT, "linked kernel %u is null", i);
      model.kernels[i] = kernels[i];
    }
    model.level = image ? image->level()->c_str() : "linked";
    model.report(SDC_LOG_INFO, "using %u linked kernels", count);
    return SDC_OK;
  }

  const fb::Segment &segment = *root.segments()->Get(image->segment());
  if (model.file.descriptor() >= 0)
    SDC_TRY(model.code.map(model.file.descriptor(), segment.offset(),
                           image->code_size(), error));
  else
    SDC_TRY(model.code.copy(model.executable.segment(image->segment()),
                            image->code_size(), error));
  for (uint32_t i = 0; i < count; ++i)
    model.kernels[i] =
        reinterpret_cast<sdc_kernel>(const_cast<uint8_t *>(model.code.bytes()) +
                                     image->kernel_offsets()->Get(i));
  model.level = image->level()->c_str();
  model.report(SDC_LOG_INFO, "using the image %s, %s", model.level,
               model.file.descriptor() >= 0 ? "mapped from the file"
                                            : "copied once");
  return SDC_OK;
}

static sdc_status finishOpen(sdc_model &model, const void *bytes, uint64_t size,
                             const sdc_open_options &options,
                             const sdc_static_model *linked, sdc_error *error) {
  SDC_TRY(
      openExecutable(bytes, size, model.allocator, model.executable, error));
  if (model.executable.minor > kFormatMinor)
    model.report(SDC_LOG_WARNING,
                 "the file has format %u.%u, this runtime knows %u.%u: what is "
                 "new in it is ignored",
                 kFormatMajor, model.executable.minor, kFormatMajor,
                 kFormatMinor);
  if (options.flags & SDC_OPEN_VERIFY_WEIGHTS)
    SDC_TRY(verifyWeights(model.executable, model.allocator, error));
  model.withoutCode = options.flags & SDC_OPEN_WITHOUT_CODE;
  if (!model.withoutCode)
    SDC_TRY(loadKernels(model, options, linked, error));
  model.file.closeDescriptor();
  return SDC_OK;
}

/// Opens `path`, or `bytes` if that is null.
static sdc_status openModel(const char *path, const void *bytes, uint64_t size,
                            const sdc_open_options *given,
                            const sdc_static_model *linked,
                            sdc_model **out_model, sdc_error *error) {
  sdc_open_options options;
  SDC_TRY(readStruct(given, "sdc_open_options", options, error));
  constexpr uint32_t known = SDC_OPEN_VERIFY_WEIGHTS | SDC_OPEN_WITHOUT_CODE;
  if (options.flags & ~known)
    return fail(error, SDC_BAD_ARGUMENT, "unknown flags 0x%x",
                options.flags & ~known);
  Allocator allocator = Allocator::from(options.allocator);
  void *memory = allocator.allocate(sizeof(sdc_model), alignof(sdc_model));
  if (!memory)
    return fail(error, SDC_OUT_OF_MEMORY, "no memory for a model");
  auto *model = new (memory) sdc_model();
  model->allocator = allocator;
  model->log = options.log;
  model->logUser = options.log_user;
  sdc_status status = SDC_OK;
  if (path) {
    status = model->file.open(path, error);
    bytes = model->file.bytes();
    size = model->file.size();
  }
  if (status == SDC_OK)
    status = finishOpen(*model, bytes, size, options, linked, error);
  if (status != SDC_OK) {
    model->release();
    return status;
  }
  *out_model = model;
  return SDC_OK;
}

sdc_status sdc_model_open(const char *path, const sdc_open_options *options,
                          sdc_model **out_model, sdc_error *out_error) {
  if (!path || !out_model)
    return fail(out_error, SDC_BAD_ARGUMENT, "%s is null",
                path ? "out_model" : "path");
  return openModel(path, nullptr, 0, options, nullptr, out_model, out_error);
}

sdc_status sdc_model_open_memory(const void *bytes, size_t size,
                                 const sdc_open_options *options,
                                 sdc_model **out_model, sdc_error *out_error) {
  if (!bytes || !out_model)
    return fail(out_error, SDC_BAD_ARGUMENT, "%s is null",
                bytes ? "out_model" : "bytes");
  return openModel(nullptr, bytes, size, options, nullptr, out_model,
                   out_error);
}

sdc_status sdc_model_open_static(const sdc_static_model *linked,
                                 const sdc_open_options *options,
                                 sdc_model **out_model, sdc_error *out_error) {
  if (!linked || !out_model)
    return fail(out_error, SDC_BAD_ARGUMENT, "%s is null",
                linked ? "out_model" : "linked");
  sdc_static_model given;
  SDC_TRY(readStruct(linked, "sdc_static_model", given, out_error));
  if (!given.bytes)
    return fail(out_error, SDC_BAD_ARGUMENT, "linked has no bytes");
  return openModel(nullptr, given.bytes, given.size, options, &given, out_model,
                   out_error);
}

sdc_status sdc_model_verify_weights(const sdc_model *model,
                                    sdc_error *out_error) {
  return verifyWeights(model->executable, model->allocator, out_error);
}

void sdc_model_close(sdc_model *model) {
  if (model)
    model->release();
}

uint32_t sdc_abi_version(void) { return SDC_ABI_VERSION; }

void sdc_format_version(uint32_t *out_major, uint32_t *out_minor) {
  *out_major = kFormatMajor;
  *out_minor = kFormatMinor;
}
