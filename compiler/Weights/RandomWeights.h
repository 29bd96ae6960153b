// Weights that nobody trained: a stream of normal numbers for each symbol, so
// that a graph can be compiled and timed without its data.
//
//   element i = scale * normal(i % 4) of block i / 4 + shift
//   block b   = Philox4x32-10(counter = {b, b >> 32, 0, 0}, key)
//   key       = seed xor XXH3-64(symbol name), low half first
//   normal    = Box-Muller on the lanes (0, 1) and on the lanes (2, 3), the
//               cosine first; a lane u stands for (u + 1/2) / 2^32
//
// Logarithm, sine and cosine are computed here from + - * / and sqrt alone, so
// that the bits depend on no library.

#ifndef SDC_COMPILER_WEIGHTS_RANDOMWEIGHTS_H
#define SDC_COMPILER_WEIGHTS_RANDOMWEIGHTS_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>

namespace sdc {

/// One block of Philox4x32-10 (Salmon et al., 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

class RandomWeights {
public:
  RandomWeights(uint64_t seed, llvm::StringRef symbol);

  /// Elements first .. first + count of the stream, each times `scale`, plus
  /// `shift`.
  void fill(int64_t first, int64_t count, float scale, float shift,
            float *out) const;

private:
  std::array<uint32_t, 2> key;
};

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_RANDOMWEIGHTS_H
