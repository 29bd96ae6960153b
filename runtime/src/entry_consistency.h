// Whether the entries of an executable make sense: bindings by role, operands
// by kind, everything inside the arena.

#ifndef SDC_RUNTIME_SRC_ENTRY_CONSISTENCY_H
#define SDC_RUNTIME_SRC_ENTRY_CONSISTENCY_H

#include "runtime/src/allocator.h"
#include "schema/executable_generated.h"

namespace sdc::rt {

/// Checks `root.entries`. The lists that they refer to have been checked.
sdc_status checkEntries(const fb::Executable &root, const Allocator &allocator,
                        sdc_error *error);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_ENTRY_CONSISTENCY_H
