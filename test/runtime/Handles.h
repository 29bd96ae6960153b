// Handles of the C interface that close themselves, a file that removes itself,
// and an allocator that counts, for the tests of the runtime.

#ifndef SDC_TEST_RUNTIME_HANDLES_H
#define SDC_TEST_RUNTIME_HANDLES_H

#include "test/runtime/ToyModel.h"

#include <gtest/gtest.h>

#include <cstring>

#include <unistd.h>

namespace sdc::test {

struct CloseModel {
  void operator()(sdc_model *model) const { sdc_model_close(model); }
};
struct DestroySession {
  void operator()(sdc_session *session) const { sdc_session_destroy(session); }
};
using Model = std::unique_ptr<sdc_model, CloseModel>;
using Session = std::unique_ptr<sdc_session, DestroySession>;

/// Opens bytes, which must outlive the model; expects success.
inline Model openModel(const AlignedBytes &bytes,
                       sdc_open_options options = {}) {
  options.struct_size = sizeof(options);
  sdc_model *model = nullptr;
  sdc_error error = {};
  sdc_status status = sdc_model_open_memory(bytes.data(), bytes.size(),
                                            &options, &model, &error);
  EXPECT_EQ(status, SDC_OK) << error.message;
  return Model(model);
}

inline Session makeSession(const Model &model,
                           sdc_session_options options = {}) {
  options.struct_size = sizeof(options);
  sdc_session *session = nullptr;
  sdc_error error = {};
  sdc_status status =
      sdc_session_create(model.get(), &options, &session, &error);
  EXPECT_EQ(status, SDC_OK) << error.message;
  return Session(session);
}

/// The toy decoder with its kernels linked, so that sanitizers see them.
struct Toy {
  explicit Toy(ToyOptions options = {})
      : file(makeToyDecoder(options)), bytes(file.write()),
        kernels(linkedKernels(file)) {
    sdc_open_options open = {};
    open.kernels = kernels.data();
    open.kernel_count = uint32_t(kernels.size());
    model = openModel(bytes, open);
  }

  ToyFile file;
  AlignedBytes bytes;
  std::vector<sdc_kernel> kernels;
  Model model;
};

/// A name in the temporary folder; the file goes with the object.
class TemporaryFile {
public:
  TemporaryFile()
      : path(::testing::TempDir() + "sdc-runtime-" + std::to_string(getpid()) +
             "-" + std::to_string(counter()++)) {}
  explicit TemporaryFile(const AlignedBytes &bytes) : TemporaryFile() {
    FILE *file = fopen(path.c_str(), "wb");
    EXPECT_EQ(fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    fclose(file);
  }
  ~TemporaryFile() { unlink(path.c_str()); }

  const std::string path;

private:
  static unsigned &counter() {
    static unsigned count = 0;
    return count;
  }
};

/// What an allocator was asked for.
struct Allocations {
  uint64_t bytes = 0; // held at the moment
  uint64_t calls = 0;
  /// Calls that succeed; those after them fail.
  uint64_t allowed = ~uint64_t{0};

  sdc_allocator allocator() {
    sdc_allocator functions = {sizeof(functions), this, allocate, release,
                               false};
    return functions;
  }

private:
  static void *allocate(void *user, size_t bytes, size_t alignment) {
    auto &self = *static_cast<Allocations *>(user);
    if (self.calls++ >= self.allowed)
      return nullptr;
    self.bytes += bytes;
    EXPECT_EQ(bytes % alignment, 0u);
    void *memory = aligned_alloc(std::max<size_t>(alignment, 8), bytes);
    // What was there before must not matter.
    memset(memory, 0xa5, bytes);
    return memory;
  }
  static void release(void *user, void *memory, size_t bytes, size_t) {
    static_cast<Allocations *>(user)->bytes -= bytes;
    free(memory);
  }
};

/// Expects a status and a part of the message.
#define EXPECT_FAILURE(call, expected, part)                                   \
  do {                                                                         \
    sdc_error error = {};                                                      \
    EXPECT_EQ(call, expected) << error.message;                                \
    EXPECT_EQ(error.code, expected);                                           \
    EXPECT_NE(std::string(error.message).find(part), std::string::npos)        \
        << error.message;                                                      \
  } while (false)

#define EXPECT_OK(call)                                                        \
  do {                                                                         \
    sdc_error error = {};                                                      \
    EXPECT_EQ(call, SDC_OK) << error.message;                                  \
  } while (false)

} // namespace sdc::test

#endif // SDC_TEST_RUNTIME_HANDLES_H
