// When the buffers of an entry hold a value that someone still needs.

#ifndef SDC_COMPILER_PLAN_LIVENESS_H
#define SDC_COMPILER_PLAN_LIVENESS_H

#include "compiler/Plan/Arena.h"
#include "dialects/Exec/ExecDialect.h"

#include <vector>

namespace sdc {

/// The buffers of one entry in their order, and their lifetimes. Step i is
/// launch i; the host acts in steps -1 and number of launches.
struct Liveness {
  std::vector<exec::BufferOp> buffers;
  std::vector<Lifetime> lifetimes;
};

/// A buffer lives from the first launch that touches it to the last one. A
/// bound buffer lives during the whole entry: a host may repeat a step without
/// writing its inputs anew, and reads outputs after the last launch.
///
/// Reports, located, every buffer that is read before it is written, that is
/// bound as an output and never written, or that nobody touches.
mlir::FailureOr<Liveness> computeLiveness(exec::EntryOp entry);

} // namespace sdc

#endif // SDC_COMPILER_PLAN_LIVENESS_H
