// THE packed layout of weights: its grammar, its sizes, pack, unpack, verify.
// Everything else that touches packed bytes takes its offsets from here.
//
//   packed   = block{ceil(rows / R)}                 R rows in each
//   block    = word{ceil(K / 32)} zeros              up to a multiple of 64
//                                              bytes
//   word     = mask{R} value{R x V}            V = 32 N / M
//   word     = value{R x 32}                   of a dense pattern
//   mask     = u32, little-endian              bit j: column 32 w + j kept
//   value    = f32 | f16 | bf16, little-endian ascending columns
//
// The values of row 0 of the block come first, then those of row 1, and so on.
// One word of `rows2`, 2:4, bf16 (V = 16) is 72 bytes:
//
//   byte   0        4        8 .. 39                40 .. 71
//          mask r0  mask r1  16 values of row r0    16 values of row r1
//
// Every mask has exactly N bits in each group of M columns, always:
//  - a group with fewer than N non-zeros keeps stored zeros;
//  - columns at or beyond K are kept only where N demands it, as the lowest
//    ones of their group, and their values are zero;
//  - rows at or beyond `rows` keep the lowest N of each group, all zero.
// So a word's length is a constant and no reader ever counts bits. Blocks begin
// at multiples of 64 bytes of the packed bytes, which whoever places them must
// align to 64 as well. Words follow each other without gaps, so a word begins
// at a multiple of R (4 + V x value bytes) of its block: with R = 8 and 16-bit
// values at a multiple of 32 bytes for even V, with other tiles possibly at an
// odd one of 2.
//
// This is the order of tiles of rows. Those of CUDA keep every promise above in
// an order of their own, which CudaTile.h draws.

#ifndef SDC_KERNELS_FORMAT_BITMASK_H
#define SDC_KERNELS_FORMAT_BITMASK_H

#include "kernels/Format/ElementType.h"
#include "kernels/Format/Pattern.h"
#include "kernels/Format/Tile.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sdc {

/// Where every byte of one packed weight lies. A plain value; all functions
/// below demand that problem() is empty.
struct PackedLayout {
  static constexpr int64_t kAlignment = 64;

  int64_t rows = 0;
  int64_t columns = 0;
  ElementType type = ElementType::BF16;
  Pattern pattern;
  Tile tile;

  /// Empty if the layout is meaningful, else what is wrong with it.
  std::string problem() const;

  /// Blocks of tile.rows rows; words of 32 columns.
  int64_t numBlocks() const { return (rows + tile.rows - 1) / tile.rows; }
  int64_t numWords() const {
    return (columns + kWordColumns - 1) / kWordColumns;
  }
  int64_t valuesPerWord() const {
    return pattern.isDense() ? kWordColumns : pattern.valuesPerWord();
  }

  /// Words that a row takes in memory: whole units on CUDA. Words at or beyond
  /// numWords() look like those of rows beyond the last.
  int64_t storedWords() const {
    return tile.hasUnits() ? (numWords() + 3) / 4 * 4 : numWords();
  }

  /// Tiles of rows only: bytes of one word of all rows of a block, of its
  /// masks.
  int64_t maskBytes() const { return pattern.isDense() ? 0 : 4 * tile.rows; }
  int64_t wordBytes() const {
    return maskBytes() + tile.rows * valuesPerWord() * elementBytes(type);
  }
  int64_t blockBytes() const;

  /// Bytes of the whole weight: a multiple of 64.
  int64_t packedSize() const { return numBlocks() * blockBytes(); }

  /// Tiles of rows only: bytes from the begin of row's block to its mask, or to
  /// its first value, of word `word`. `lane` is the row within the block.
  int64_t maskOffset(int64_t lane, int64_t word) const {
    return word * wordBytes() + 4 * lane;
  }
  int64_t valueOffset(int64_t lane, int64_t word) const {
    return word * wordBytes() + maskBytes() +
           lane * valuesPerWord() * elementBytes(type);
  }
};

/// The first thing found wrong, by row and column of the dense matrix.
struct FormatProblem {
  int64_t row = 0;
  int64_t column = 0;
  /// Lower-case, without the place: "group keeps 3 of 4, expected 2".
  std::string message;

  /// "row 3, column 8: group keeps 3 of 4, expected 2".
  std::string str() const;
};

/// Packs `count` blocks from block `first` on, so that a weight need never be
/// in memory as a whole.
///
/// `weights` points at the first row of block `first`: row-major, rows `stride`
/// floats apart, already N:M (zeros elsewhere). `mask` is null or points at the
/// mask words of the same row, numWords() for each row; it then decides which
/// columns are kept, and only those, whatever their values; groups of it that
/// keep too few are completed as completeMask() says. Without a mask non-zeros
/// are kept and groups completed likewise. A kept value is stored as its
/// rounding to the layout's type, -0 as -0; what is not kept unpacks as +0.
/// `out` receives count * blockBytes() bytes.
///
/// Refuses a group with more than N non-zeros or mask bits, a non-zero that the
/// mask does not keep, and a value that is not finite in the layout's type.
[[nodiscard]] std::optional<FormatProblem>
packBlocks(const PackedLayout &layout, int64_t first, int64_t count,
           const float *weights, int64_t stride, const uint32_t *mask,
           uint8_t *out);

/// The inverse: writes the rows of blocks `first` .. `first + count` (those
/// below layout.rows) to `weights`. `packed` points at block `first`. `mask` is
/// null or receives numWords() words for each row. Trusts its input as far as
/// memory safety needs no trust: see verifyBlocks.
void unpackBlocks(const PackedLayout &layout, int64_t first, int64_t count,
                  const uint8_t *packed, float *weights, int64_t stride,
                  uint32_t *mask);

/// Checks all that the grammar promises: bits of every group, columns beyond K,
/// zero values of padding, zero bytes at block ends, finite values. Returns the
/// first violation in order of bytes.
[[nodiscard]] std::optional<FormatProblem>
verifyBlocks(const PackedLayout &layout, int64_t first, int64_t count,
             const uint8_t *packed);

} // namespace sdc

#endif // SDC_KERNELS_FORMAT_BITMASK_H
