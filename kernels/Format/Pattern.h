// N:M: exactly N weights kept of every M consecutive ones along K. Some tools
// count the zeros; here N always counts what is kept.

#ifndef SDC_KERNELS_FORMAT_PATTERN_H
#define SDC_KERNELS_FORMAT_PATTERN_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sdc {

/// Columns that share one mask word.
constexpr int64_t kWordColumns = 32;

/// How many weights of a group stay. Groups start at multiples of `m` and do
/// not overlap. n = m = 1 means dense: all weights, and no mask is stored.
struct Pattern {
  unsigned n = 1;
  unsigned m = 1;

  static constexpr Pattern dense() { return {1, 1}; }

  /// Reads "dense" or "N:M". On failure `problem` says what is wrong with it.
  static std::optional<Pattern> parse(std::string_view text,
                                      std::string &problem);

  /// Empty if this is dense or 1 <= n < m with m in {2, 4, 8, 16, 32}, else
  /// what is wrong.
  std::string problem() const;

  /// "dense" or "N:M".
  std::string str() const;

  constexpr bool isDense() const { return n == m; }

  /// Values stored for each 32 columns: 32 N/M.
  constexpr int64_t valuesPerWord() const { return kWordColumns / m * n; }

  /// Bits of the group that holds column 0, as a mask in the lowest bits.
  constexpr uint32_t groupMask() const {
    return m == 32 ? 0xffffffffu : (1u << m) - 1;
  }

  constexpr bool operator==(const Pattern &other) const {
    return n == other.n && m == other.m;
  }
  constexpr bool operator!=(const Pattern &other) const {
    return !(*this == other);
  }
};

/// Makes a mask of `columns` columns whole: in each group with fewer than N
/// bits the lowest columns that are not kept are added, so that columns at or
/// beyond `columns` are kept only where N demands it. `words` holds
/// ceil(columns / 32) words. Returns the first column of the first group that
/// has more than N bits, or a bit at or beyond `columns` that N does not
/// demand; -1 if there is none. A dense pattern sets every bit.
int64_t completeMask(Pattern pattern, int64_t columns, uint32_t *words);

} // namespace sdc

#endif // SDC_KERNELS_FORMAT_PATTERN_H
