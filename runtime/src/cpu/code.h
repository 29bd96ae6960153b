// Machine code of an image in memory that may be executed.

#ifndef SDC_RUNTIME_SRC_CPU_CODE_H
#define SDC_RUNTIME_SRC_CPU_CODE_H

#include "sdc/sdc.h"

namespace sdc::rt::cpu {

/// Unmapped with the object.
class Code {
public:
  Code() = default;
  ~Code();
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;

  /// Maps `size` bytes at `offset`, a multiple of the page size, of an open
  /// file, read and execute.
  sdc_status map(int file, uint64_t offset, uint64_t size, sdc_error *error);
  /// Copies `size` bytes, then makes the copy read and execute: it is never
  /// writable and executable at once.
  sdc_status copy(const void *bytes, uint64_t size, sdc_error *error);

  const uint8_t *bytes() const { return static_cast<const uint8_t *>(memory); }

private:
  void *memory = nullptr;
  uint64_t length = 0;
};

} // namespace sdc::rt::cpu

#endif // SDC_RUNTIME_SRC_CPU_CODE_H
