// Sums and products of sizes that come from a file or a caller: u64 that
// remembers whether it has overflowed.

#ifndef SDC_RUNTIME_SRC_ARITHMETIC_H
#define SDC_RUNTIME_SRC_ARITHMETIC_H

#include <cstdint>

namespace sdc::rt {

/// A size. Once it has overflowed, everything computed from it has.
struct Size {
  uint64_t value = 0;
  bool overflow = false;

  constexpr Size() = default;
  constexpr Size(uint64_t value) : value(value) {}

  friend Size operator+(Size a, Size b) {
    Size sum;
    sum.overflow = __builtin_add_overflow(a.value, b.value, &sum.value) ||
                   a.overflow || b.overflow;
    return sum;
  }
  friend Size operator*(Size a, Size b) {
    Size product;
    product.overflow =
        __builtin_mul_overflow(a.value, b.value, &product.value) ||
        a.overflow || b.overflow;
    return product;
  }

  /// The next multiple of `alignment`, a power of two.
  Size alignedTo(uint64_t alignment) const {
    Size sum = *this + Size(alignment - 1);
    sum.value &= ~(alignment - 1);
    return sum;
  }

  bool isAtMost(uint64_t limit) const { return !overflow && value <= limit; }
};

/// Whether [offset, offset + size) lies in [0, limit).
constexpr bool isInside(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_ARITHMETIC_H
