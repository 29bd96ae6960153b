// Opens the bytes of an executable. The layout of the file is the grammar at
// the top of schema/executable.fbs. What is checked, in this order:
//
//   1. header     magic, major, digest, sizes against the real ones
//   2. root       digest, then structure (the generated verifier)
//   3. meaning    every index, offset, size, overlap, count (consistency.h)
//   4. segments   digests of code and text
//   5. on request digests of weights, and that padding is zero
//
// so that each step reads only what those before it have vouched for, and
// nothing after needs checks. Steps 1 to 4 do not touch the weights.

#ifndef SDC_RUNTIME_SRC_EXECUTABLE_H
#define SDC_RUNTIME_SRC_EXECUTABLE_H

#include "runtime/src/allocator.h"
#include "schema/executable_generated.h"
#include "sdc/sdc.h"

namespace sdc::rt {

constexpr uint16_t kFormatMajor = 1;
constexpr uint16_t kFormatMinor = 0;
constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kSegmentAlignment = 4096;
/// Of weights in segments, of bindings in arenas, and so of everything's base.
constexpr uint64_t kAlignment = 64;

/// Bytes that have passed the checks.
struct Executable {
  const uint8_t *bytes = nullptr;
  uint64_t size = 0;
  const fb::Executable *root = nullptr;
  uint16_t minor = 0;
  /// XXH3-64 of the root, and so of the whole content.
  uint64_t digest = 0;
  /// First byte after the root.
  uint64_t rootEnd = 0;

  const uint8_t *segment(uint32_t index) const {
    return bytes + root->segments()->Get(index)->offset();
  }
  const uint8_t *weight(uint32_t index) const {
    const fb::Weight *weight = root->weights()->Get(index);
    return segment(weight->segment()) + weight->offset();
  }
};

/// Steps 1 to 4. `allocator` serves for the time of the call.
sdc_status openExecutable(const void *bytes, uint64_t size,
                          const Allocator &allocator, Executable &executable,
                          sdc_error *error);

/// Step 5. Reads the whole file.
sdc_status verifyWeights(const Executable &executable,
                         const Allocator &allocator, sdc_error *error);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_EXECUTABLE_H
