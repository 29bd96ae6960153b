// Whether an executable makes sense: every index, offset, size, overlap,
// alignment and count of the root. Needs a root whose structure is sound.

#ifndef SDC_RUNTIME_SRC_CONSISTENCY_H
#define SDC_RUNTIME_SRC_CONSISTENCY_H

#include "runtime/src/executable.h"

namespace sdc::rt {

/// Checks `executable.root` against the file's size. A message names the place
/// ("entries[1].launches[7].operands[2]"), what was found and what is allowed.
sdc_status checkConsistency(const Executable &executable,
                            const Allocator &allocator, sdc_error *error);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_CONSISTENCY_H
