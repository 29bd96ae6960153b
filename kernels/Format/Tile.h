// The order of rows and words in packed weights. Targets differ in nothing
// else: a tile is chosen for how a kernel reads, never for what is stored.

#ifndef SDC_KERNELS_FORMAT_TILE_H
#define SDC_KERNELS_FORMAT_TILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sdc {

/// A tile, with a name:
///
///   tile = "rows" R        R in {1, 2, 4, 8, 16}
///        | "lanes32" | "mma16"
///
/// `rowsR` is for CPUs: R rows are interleaved word by word, so that one load
/// of 32 columns of x serves R rows. `lanes32` and `mma16` are for CUDA and
/// drawn in CudaTile.h: 32 rows are the lanes of a warp, or 16 rows lie in the
/// order of tensor core fragments.
struct Tile {
  enum class Kind : uint8_t { Rows, Lanes, Fragments };

  Kind kind = Kind::Rows;
  /// Rows that are stored together; rows beyond the last are stored as zeros.
  unsigned rows = 8;

  static constexpr Tile interleavedRows(unsigned rows) {
    return {Kind::Rows, rows};
  }
  static constexpr Tile lanes() { return {Kind::Lanes, 32}; }
  static constexpr Tile fragments() { return {Kind::Fragments, 16}; }

  /// Whether the words of a row are cut into units of four, as on CUDA.
  constexpr bool hasUnits() const { return kind != Kind::Rows; }

  /// Reads a name. On failure `problem` says what was expected.
  static std::optional<Tile> parse(std::string_view text, std::string &problem);

  /// Empty if this is a tile, else what is wrong.
  std::string problem() const;

  /// The name: "rows8".
  std::string str() const;

  constexpr bool operator==(const Tile &other) const {
    return kind == other.kind && rows == other.rows;
  }
  constexpr bool operator!=(const Tile &other) const {
    return !(*this == other);
  }
};

} // namespace sdc

#endif // SDC_KERNELS_FORMAT_TILE_H
