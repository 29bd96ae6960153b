// Values that kernels exchange: read from L2, since a line of the first level
// may be older than the kernel that wrote it.

#pragma once

#include "dependency.cuh"
#include "types.cuh"

namespace sdc {

/// Bytes of a stored value.
template <class Type> constexpr int kBytesOf = Type::kBits / 8;

template <class Type>
SDC_DEVICE float loadShared(const void *values, long long index) {
  if constexpr (Type::kBits == 32)
    return __ldcg(static_cast<const float *>(values) + index);
  else
    return Type::low(__ldcg(static_cast<const u16 *>(values) + index));
}

template <class Type>
SDC_DEVICE void storeValue(void *values, long long index, float value) {
  if constexpr (Type::kBits == 32)
    static_cast<float *>(values)[index] = value;
  else
    static_cast<u16 *>(values)[index] = u16(Type::pack(value, 0));
}

/// As many neighbours as one load takes: 16 bytes where `kCount` is divisible.
template <class Type, int kCount> struct Piece {
  static constexpr int kEach =
      kCount * kBytesOf<Type> % 16 == 0 ? 16 / kBytesOf<Type> : 1;
  static constexpr int kPieces = kCount / kEach;

  float value[kEach];

  SDC_DEVICE void load(const void *values, long long first, int piece) {
    if constexpr (kEach == 1) {
      value[0] = loadShared<Type>(values, first + piece);
    } else if constexpr (Type::kBits == 32) {
      float4 four = __ldcg(reinterpret_cast<const float4 *>(
          static_cast<const float *>(values) + first + piece * 4));
      value[0] = four.x, value[1] = four.y, value[2] = four.z,
      value[3] = four.w;
    } else {
      uint4 bits = __ldcg(reinterpret_cast<const uint4 *>(
          static_cast<const u16 *>(values) + first + piece * 8));
      u32 pairs[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        value[2 * i] = Type::low(pairs[i]);
        value[2 * i + 1] = Type::high(pairs[i]);
      }
    }
  }
};

} // namespace sdc
