// Runs generated kernels inside a test: builds the image of a level, maps it
// executable and calls its kernels by the convention of kernels/Spec.

#ifndef SDC_TEST_UNIT_KERNELRUNNER_H
#define SDC_TEST_UNIT_KERNELRUNNER_H

#include "kernels/Cpu/CpuLevel.h"
#include "kernels/Spec/KernelSpec.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// Bytes aligned to 64, filled with a pattern that is no plausible value, with
/// guards on both sides that must not change.
class Buffer {
public:
  explicit Buffer(size_t size);
  template <typename T>
  explicit Buffer(const std::vector<T> &values)
      : Buffer(values.size() * sizeof(T)) {
    std::memcpy(data(), values.data(), size());
  }

  uint8_t *data() { return bytes.get() + kGuard; }
  template <typename T> T *as() { return reinterpret_cast<T *>(data()); }
  size_t size() const { return length; }
  bool guardsIntact() const;

private:
  static constexpr size_t kGuard = 256;
  struct Free {
    void operator()(uint8_t *p) const;
  };
  size_t length;
  std::unique_ptr<uint8_t, Free> bytes;
};

/// Whether this machine can run the level.
bool canRun(CpuLevel level);

/// The kernels of some specs for one level, mapped.
class KernelSet {
public:
  using Function = void (*)(void *const *, int64_t, int64_t, void *);

  KernelSet(const std::vector<std::string> &names, CpuLevel level);
  ~KernelSet();
  KernelSet(const KernelSet &) = delete;
  KernelSet &operator=(const KernelSet &) = delete;

  /// Empty unless building failed.
  std::string problem;

  /// Runs all units of kernel `index`, cut into `ranges` ranges of about the
  /// same size, the last one first.
  void run(size_t index, const std::vector<void *> &operands, int ranges = 1);
  Function function(size_t index) const { return functions[index]; }
  const KernelSpec &spec(size_t index) const { return specs[index]; }

private:
  std::vector<KernelSpec> specs;
  std::vector<Function> functions;
  void *mapped = nullptr;
  size_t mappedSize = 0;
};

} // namespace sdc

#endif // SDC_TEST_UNIT_KERNELRUNNER_H
