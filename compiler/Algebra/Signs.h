// Random signs that are the same everywhere: start vectors, probes and
// projections must not change from run to run.

#ifndef SDC_COMPILER_ALGEBRA_SIGNS_H
#define SDC_COMPILER_ALGEBRA_SIGNS_H

#include <cstdint>

namespace sdc {

/// The finaliser of the SplitMix64 generator: a bijection of 64-bit words whose
/// bits look random.
constexpr uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// 1 or -1 for each index.
constexpr double fixedSign(uint64_t index) {
  return splitmix64(index) & 1u ? -1.0 : 1.0;
}

} // namespace sdc

#endif // SDC_COMPILER_ALGEBRA_SIGNS_H
