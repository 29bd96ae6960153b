// Memory of handles: the caller's allocator, or the system's.

#ifndef SDC_RUNTIME_SRC_ALLOCATOR_H
#define SDC_RUNTIME_SRC_ALLOCATOR_H

#include "sdc/sdc.h"

namespace sdc::rt {

/// Where a handle takes its memory from. Copied into the handle.
struct Allocator {
  sdc_allocator functions;

  /// `options` may be null.
  static Allocator from(const sdc_allocator *options);

  /// `bytes` rounded up to `alignment`, all zero; null on failure.
  void *allocate(uint64_t bytes, uint64_t alignment) const;
  /// With the same numbers. Null is ignored.
  void release(void *memory, uint64_t bytes, uint64_t alignment) const;
};

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_ALLOCATOR_H
