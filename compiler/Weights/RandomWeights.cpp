// Philox and Box-Muller.

#include "compiler/Weights/RandomWeights.h"

#include <cmath>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc;

std::array<uint32_t, 4> sdc::philox(std::array<uint32_t, 4> c,
                                    std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0];
    uint64_t p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0],
         static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
         static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

/// The natural logarithm of x in (0, 1), within 1e-9 of it.
static double logarithm(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  uint64_t moved = bits - 0x3FE6A09E667F3BCDull;
  auto e = static_cast<int64_t>(moved) >> 52;
  bits -= static_cast<uint64_t>(e) << 52;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  double s = (m - 1) / (m + 1), s2 = s * s; // |s| < 0.172
  double series =
      1 + s2 * (1. / 3 + s2 * (1. / 5 + s2 * (1. / 7 + s2 * (1. / 9))));
  return 2 * s * series + static_cast<double>(e) * 0.6931471805599453;
}

/// Cosine and sine of 2 pi x for x in (0, 1), within 1e-8 of them.
static void turn(double x, double &cosine, double &sine) {
  // x = q / 4 + r / (2 pi) with |r| <= pi / 4.
  auto q = static_cast<int>(4 * x + 0.5);
  double r = (x - 0.25 * q) * 6.283185307179586, r2 = r * r;
  double s =
      r *
      (1 - r2 * (1. / 6 - r2 * (1. / 120 - r2 * (1. / 5040 - r2 / 362880))));
  double c =
      1 -
      r2 * (1. / 2 - r2 * (1. / 24 -
                           r2 * (1. / 720 - r2 * (1. / 40320 - r2 / 3628800))));
  bool swapped = q & 1;
  double first = swapped ? s : c, second = swapped ? c : s;
  // Quadrants: (c, s), (-s, c), (-c, -s), (s, -c).
  cosine = ((q + 1) & 2) ? -first : first;
  sine = (q & 2) ? -second : second;
}

RandomWeights::RandomWeights(uint64_t seed, llvm::StringRef symbol) {
  uint64_t mixed = seed ^ XXH3_64bits(symbol.data(), symbol.size());
  key = {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

void RandomWeights::fill(int64_t first, int64_t count, float scale, float shift,
                         float *out) const {
  int64_t end = first + count;
  for (int64_t block = first / 4; 4 * block < end; ++block) {
    std::array<uint32_t, 4> bits = philox(
        {static_cast<uint32_t>(block),
         static_cast<uint32_t>(static_cast<uint64_t>(block) >> 32), 0, 0},
        key);
    double normal[4];
    for (int pair = 0; pair < 2; ++pair) {
      double u = (bits[2 * pair] + 0.5) * 0x1p-32;
      double v = (bits[2 * pair + 1] + 0.5) * 0x1p-32;
      double radius = std::sqrt(-2 * logarithm(u)), c, s;
      turn(v, c, s);
      normal[2 * pair] = radius * c;
      normal[2 * pair + 1] = radius * s;
    }
    for (int lane = 0; lane < 4; ++lane) {
      int64_t i = 4 * block + lane;
      if (i >= first && i < end)
        out[i - first] = static_cast<float>(normal[lane]) * scale + shift;
    }
  }
}
