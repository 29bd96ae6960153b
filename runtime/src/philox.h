// Philox4x32-10, a counter-based random number generator: J. K. Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The numbers of a step
// are a function of its counter and key, so nobody carries a state around.

#ifndef SDC_RUNTIME_SRC_PHILOX_H
#define SDC_RUNTIME_SRC_PHILOX_H

#include <cstdint>

namespace sdc::rt {

struct Philox {
  uint32_t words[4];
};

constexpr Philox philox(Philox counter, uint32_t key0, uint32_t key1) {
  constexpr uint64_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  uint32_t *c = counter.words;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = multiplier0 * c[0], product1 = multiplier1 * c[2];
    uint32_t next0 = uint32_t(product1 >> 32) ^ c[1] ^ key0;
    uint32_t next2 = uint32_t(product0 >> 32) ^ c[3] ^ key1;
    c[0] = next0;
    c[1] = uint32_t(product1);
    c[2] = next2;
    c[3] = uint32_t(product0);
    key0 += weyl0;
    key1 += weyl1;
  }
  return counter;
}

/// A number of [0, 1) for a step of a pass over a prompt, with 53 random bits;
/// sdc_sampling says how.
constexpr double uniform(uint64_t seed, uint64_t prompt, uint32_t pass,
                         uint32_t step) {
  Philox random =
      philox({{step, pass, uint32_t(prompt), uint32_t(prompt >> 32)}},
             uint32_t(seed), uint32_t(seed >> 32));
  uint64_t bits = (uint64_t{random.words[0]} << 21) + (random.words[1] >> 11);
  return double(bits) * 0x1p-53;
}

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_PHILOX_H
