// A loop over independent items on several threads. Nothing that is computed
// may depend on which thread takes an item or on how many there are.

#ifndef SDC_COMPILER_ALGEBRA_PARALLEL_H
#define SDC_COMPILER_ALGEBRA_PARALLEL_H

#include <cstdint>
#include <functional>

namespace sdc {

/// Calls `body(i)` once for each i below `count`, on up to `threads` threads
/// (the caller's is one of them), and returns when all calls have. Items are
/// handed out in ascending order.
void parallelFor(unsigned threads, int64_t count,
                 const std::function<void(int64_t)> &body);

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_PARALLEL_H
