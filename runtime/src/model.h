// An open executable: its bytes, and the kernels of the image in use.

#ifndef SDC_RUNTIME_SRC_MODEL_H
#define SDC_RUNTIME_SRC_MODEL_H

#include "runtime/src/cpu/code.h"
#include "runtime/src/executable.h"
#include "runtime/src/file_map.h"
#include "runtime/src/status.h"

#include <atomic>
#include <pthread.h>

namespace sdc::rt::cuda {
struct Residence;
}

/// Never changes once it is open, but for the count of its owners and the
/// devices that it has been brought to.
struct sdc_model {
  sdc::rt::Allocator allocator;
  sdc_log_fn log = nullptr;
  void *logUser = nullptr;

  /// Empty if opened from memory.
  sdc::rt::FileMap file;
  sdc::rt::Executable executable;
  sdc::rt::cpu::Code code;

  /// Level of the image in use; empty if opened without code, "linked" for
  /// kernels of the host.
  const char *level = "";
  /// Of each kernel, its function; null if opened without code.
  sdc_kernel *kernels = nullptr;
  /// Opened without code.
  bool withoutCode = false;

  /// What is on CUDA devices, first to last; to be read under the lock.
  pthread_mutex_t residencesLock = PTHREAD_MUTEX_INITIALIZER;
  sdc::rt::cuda::Residence *residences = nullptr;

  /// The caller, until it closes the model, and each session.
  std::atomic<uint32_t> owners{1};

  ~sdc_model();

  const sdc::fb::Executable &root() const { return *executable.root; }
  [[gnu::format(printf, 3, 4)]] void report(sdc_log_level level,
                                            const char *format, ...) const;
  void retain();
  void release();
};

namespace sdc::rt {

/// Fills as much of `out` as its struct_size covers.
template <typename T> void fillStruct(T *out, T value) {
  value.struct_size = out->struct_size;
  __builtin_memcpy(out, &value,
                   value.struct_size < sizeof(T) ? value.struct_size
                                                 : sizeof(T));
}

/// Fails for an `out` that fillStruct would leave as it is.
template <typename T>
sdc_status checkStruct(const T *out, const char *name, sdc_error *error) {
  if (out && out->struct_size < sizeof(out->struct_size))
    return fail(error, SDC_BAD_ARGUMENT, "struct_size of %s is not set", name);
  return SDC_OK;
}

/// What the caller has given of a struct; the rest is zero. A size that was
/// forgotten is an error, or all that follows it would be ignored in silence.
template <typename T>
sdc_status readStruct(const T *given, const char *name, T &value,
                      sdc_error *error) {
  value = {};
  if (!given)
    return SDC_OK;
  SDC_TRY(checkStruct(given, name, error));
  __builtin_memcpy(&value, given,
                   given->struct_size < sizeof(T) ? given->struct_size
                                                  : sizeof(T));
  return SDC_OK;
}

/// Never null.
inline const char *text(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

/// The levels of the file's images, for messages: "avx512vbmi2, avx2".
void listLevels(const fb::Executable &root, char (&list)[128]);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_MODEL_H
