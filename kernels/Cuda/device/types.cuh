// Value types and their conversions, exact when widening, to nearest when
// narrowing. Nothing is included, so NVRTC needs no headers but ours.

#pragma once

#define SDC_DEVICE __device__ __forceinline__

namespace sdc {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;

template <class A, class B> constexpr bool kSame = false;
template <class A> constexpr bool kSame<A, A> = true;

/// A stored 16-bit value, or two of them in a register: element 0 is the low
/// half. `kBits` is 16 or 32.
struct BF16 {
  static constexpr int kBits = 16;
  static SDC_DEVICE float low(u32 pair) { return __uint_as_float(pair << 16); }
  static SDC_DEVICE float high(u32 pair) {
    return __uint_as_float(pair & 0xffff0000u);
  }
  static SDC_DEVICE u32 pack(float first, float second) {
    u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
  }
};

struct F16 {
  static constexpr int kBits = 16;
  static SDC_DEVICE float widen(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  static SDC_DEVICE float low(u32 pair) { return widen(u16(pair)); }
  static SDC_DEVICE float high(u32 pair) { return widen(u16(pair >> 16)); }
  static SDC_DEVICE u32 pack(float first, float second) {
    u32 pair;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;"
        : "=r"(pair)
        : "f"(second), "f"(first));
    return pair;
  }
};

struct F32 {
  static constexpr int kBits = 32;
};

SDC_DEVICE u32 sharedAddress(const void *pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Value `index` of an array in global memory that no kernel writes.
template <class Type>
SDC_DEVICE float loadValue(const void *values, int index) {
  if constexpr (Type::kBits == 32)
    return __ldg(static_cast<const float *>(values) + index);
  else
    return Type::low(__ldg(static_cast<const u16 *>(values) + index));
}

} // namespace sdc
