// Fills a weight with values that come from a seed, for measurements without
// files: exactly N of every M columns kept, values of the sum of four uniform
// ones, scaled so that activations keep their size. Integers until the last
// product, so that a CPU can make the same bits. One thread a row and a word of
// 32 columns.

#pragma once

#include "memory.cuh"
#include "rows.cuh"

namespace sdc {

/// The finaliser of splitmix64.
SDC_DEVICE u64 scramble(u64 z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/// Of mean 0 and variance 1.
SDC_DEVICE float bell(u64 bits) {
  int sum = static_cast<int>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                             (bits >> 32 & 0xffff) + (bits >> 48));
  constexpr float kDeviation = 37837.227f; // of four uniform 16-bit numbers
  return static_cast<float>(sum - 131070) * (1 / kDeviation);
}

/// The columns of a word that are kept.
template <int kN, int kM> SDC_DEVICE u32 chooseMask(u64 key) {
  if constexpr (kN == kM) {
    return 0xffffffffu;
  } else {
    u32 mask = 0;
#pragma unroll 1
    for (int first = 0; first < 32; first += kM) {
      int need = kN;
      for (int j = 0; j < kM; ++j) {
        u32 draw = static_cast<u32>(scramble(key + first + j) >> 48);
        if (draw * static_cast<u32>(kM - j) >> 16 < static_cast<u32>(need)) {
          mask |= 1u << (first + j);
          --need;
        }
      }
    }
    return mask;
  }
}

/// Where a word of a row goes: `mask`, then `value` for each kept column.
template <class Type, int kColumns, int kN, int kM> struct LanePlaces {
  static constexpr int kTileRows = 32, kValues = 32 * kN / kM;
  static constexpr int kMaskBytes = kN == kM ? 0 : 512;
  static constexpr int kPlanes = (4 * kValues * kBytesOf<Type> + 15) / 16;
  static constexpr long long kUnit = kMaskBytes + kPlanes * 512;
  static constexpr int kUnits = (kColumns + 127) / 128;

  static SDC_DEVICE void fill(char *bytes, int row, int word, u32 mask,
                              const float *value) {
    char *unit = bytes + (row / 32 * kUnits + word / 4) * kUnit;
    int lane = row % 32, w = word % 4;
    if constexpr (kMaskBytes > 0)
      reinterpret_cast<u32 *>(unit)[lane * 4 + w] = mask;
    for (int k = 0; k < kValues; ++k) {
      int from = kN == kM ? k : 31 - __clz(mask);
      mask &= ~(1u << from);
      int offset = (w * kValues + k) * kBytesOf<Type>;
      storeValue<Type>(unit + kMaskBytes + offset / 16 * 512 + lane * 16 +
                           offset % 16,
                       0, value[from]);
    }
  }
};

template <class Type, int kColumns> struct SparseFragmentPlaces {
  static constexpr int kTileRows = 16, kUnits = (kColumns + 127) / 128;

  static SDC_DEVICE void fill(char *bytes, int row, int word, u32 mask,
                              const float *value) {
    char *unit =
        bytes + (row / 16 * kUnits + word / 4) * static_cast<long long>(2304);
    int r = row % 16 / 8, g = row % 8, w = word % 4;
    u32 codes[2] = {0, 0};
    for (int group = 0; group < 8; ++group) {
      int h = group / 4, t = group % 4;
      u32 kept = mask >> (4 * group) & 15;
      int low = __ffs(kept) - 1, high = 31 - __clz(kept);
      codes[h] |= static_cast<u32>(low | high << 2) << (4 * t);
      char *to = unit + w * 512 + (4 * g + t) * 16 + (2 * h + r) * 4;
      storeValue<Type>(to, 0, value[4 * group + low]);
      storeValue<Type>(to, 1, value[4 * group + high]);
    }
    for (int h = 0; h < 2; ++h)
      reinterpret_cast<u16 *>(unit + 2048)[((g * 2 + h) * 4 + w) * 2 + r] =
          static_cast<u16>(codes[h]);
  }
};

/// Values that have a place each: dense tiles and plain tensors.
template <class Type, class Place, int kTileRows_, bool kPadded, int kColumns>
struct SinglePlaces {
  static constexpr int kTileRows = kTileRows_;

  static SDC_DEVICE void fill(char *bytes, int row, int word, u32,
                              const float *value) {
    for (int j = 0; j < 32; ++j)
      if (kPadded || word * 32 + j < kColumns)
        storeValue<Type>(bytes, Place::at(row, word * 32 + j), value[j]);
  }
};

/// With `kOnes` every value is 1, as weights of norms.
template <class Places, int kRows, int kColumns, int kN, int kM, u32 kScale,
          bool kOnes>
SDC_DEVICE void generate(void *bytes, u64 seed, u64 weight) {
  constexpr int kTile = Places::kTileRows;
  constexpr int kAllRows = (kRows + kTile - 1) / kTile * kTile;
  constexpr int kWords =
      kTile == 1 ? (kColumns + 31) / 32 : (kColumns + 127) / 128 * 4;
  long long index =
      static_cast<long long>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (index >= static_cast<long long>(kAllRows) * kWords)
    return;
  int row = static_cast<int>(index / kWords), word = index % kWords;
  u64 key = scramble(scramble(seed) ^ weight) + static_cast<u64>(index) * 64;
  float value[32];
  for (int j = 0; j < 32; ++j)
    value[j] = row >= kRows || word * 32 + j >= kColumns ? 0
               : kOnes ? 1
                       : bell(scramble(key + 32 + j)) * __uint_as_float(kScale);
  Places::fill(static_cast<char *>(bytes), row, word, chooseMask<kN, kM>(key),
               value);
}

} // namespace sdc
