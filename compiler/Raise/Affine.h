// a + b P: a number that depends on the past length P >= 0 and on nothing else.
// Every size of a decoder graph with a fixed batch and sequence is one.

#ifndef SDC_COMPILER_RAISE_AFFINE_H
#define SDC_COMPILER_RAISE_AFFINE_H

#include <cstdint>
#include <optional>

namespace sdc {

struct Affine {
  int64_t base = 0;
  int64_t slope = 0;

  constexpr Affine(int64_t base = 0, int64_t slope = 0)
      : base(base), slope(slope) {}

  bool isConstant() const { return slope == 0; }
  /// Whether it is at least 0 for every P.
  bool isNonNegative() const { return base >= 0 && slope >= 0; }

  friend bool operator==(Affine a, Affine b) {
    return a.base == b.base && a.slope == b.slope;
  }
  friend bool operator!=(Affine a, Affine b) { return !(a == b); }
  friend Affine operator+(Affine a, Affine b) {
    return {a.base + b.base, a.slope + b.slope};
  }
  friend Affine operator-(Affine a, Affine b) {
    return {a.base - b.base, a.slope - b.slope};
  }
  friend Affine operator*(Affine a, int64_t factor) {
    return {a.base * factor, a.slope * factor};
  }

  /// The product, if it is affine too.
  static std::optional<Affine> multiply(Affine a, Affine b) {
    if (a.isConstant())
      return b * a.base;
    if (b.isConstant())
      return a * b.base;
    return std::nullopt;
  }
};

} // namespace sdc

#endif // SDC_COMPILER_RAISE_AFFINE_H
