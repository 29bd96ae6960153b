// The CPU levels that kernels are generated for, and the tables of how. A level
// is a fixed set of instructions, never what the compiling machine has.

#ifndef SDC_KERNELS_CPU_CPULEVEL_H
#define SDC_KERNELS_CPU_CPULEVEL_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sdc {

/// From the least to the most capable one.
enum class CpuLevel : uint8_t { Avx2, Avx512Vbmi2 };
constexpr CpuLevel kCpuLevels[] = {CpuLevel::Avx2, CpuLevel::Avx512Vbmi2};

/// "avx2" or "avx512vbmi2"; and back.
std::string_view cpuLevelName(CpuLevel level);
std::optional<CpuLevel> parseCpuLevel(std::string_view name);

/// What machine code is generated for: a base architecture, instructions beyond
/// it, and the machine whose latencies order them.
struct CpuTarget {
  std::string_view cpu, features, tune;
};
CpuTarget cpuTarget(CpuLevel level);

/// Choices that only the generated code sees.
struct CpuTuning {
  /// Bytes between the weights being read and those being asked for, into the
  /// second cache and, nearer, from there into the first one. The second cache
  /// can wait for more lines at once than the first, which then always hits.
  int64_t farBytes, nearBytes;
  /// Rows of a block whose sums are kept in registers at once, one row of x.
  int64_t vectorRows;
  /// Rows of weights and of x whose sums are kept in registers at once.
  int64_t tileRows, tileBatch;
  /// Up to so many rows of x weights are decoded where they are used; above
  /// that, a block of them is decoded once for all rows of x.
  int64_t directBatch;
};
const CpuTuning &cpuTuning(CpuLevel level);

} // namespace sdc

#endif // SDC_KERNELS_CPU_CPULEVEL_H
