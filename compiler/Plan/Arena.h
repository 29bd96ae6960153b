// Places buffers in one arena: lifetimes in, offsets out. Plain C++, knows
// nothing of MLIR.
//
// Offsets are multiples of 64. Two buffers whose lifetimes share a step share
// no byte; all others may. Finding the smallest arena is NP-hard; several
// orders of best-fit placement are tried and the smallest result is taken, the
// first one among equals, so that the same lifetimes give the same offsets.

#ifndef SDC_COMPILER_PLAN_ARENA_H
#define SDC_COMPILER_PLAN_ARENA_H

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

/// A buffer of `size` bytes that is needed in the steps `first` to `last`, both
/// included.
struct Lifetime {
  int64_t size = 0;
  int64_t first = 0;
  int64_t last = 0;

  bool overlaps(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct ArenaPlan {
  /// Offset of each lifetime, in the order in which they were given.
  std::vector<int64_t> offsets;
  /// Bytes of the arena, a multiple of 64.
  int64_t size = 0;
};

/// Demands sizes of at least 1 and first <= last.
ArenaPlan planArena(const std::vector<Lifetime> &lifetimes);

/// Bytes that are needed in the busiest step: no plan can be smaller.
int64_t arenaLowerBound(const std::vector<Lifetime> &lifetimes);

/// What is wrong with a plan, with the buffers at fault by their index; empty
/// if nothing is. Compares all pairs and shares no code with planArena.
std::string arenaProblem(const std::vector<Lifetime> &lifetimes,
                         const ArenaPlan &plan);

} // namespace sdc

#endif // SDC_COMPILER_PLAN_ARENA_H
