// Pack, unpack and verify of the grammar in the header.

#include "kernels/Format/Bitmask.h"
#include "kernels/Format/CudaTile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace sdc;

namespace {

uint32_t loadWord(const uint8_t *bytes) {
  return uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 |
         uint32_t(bytes[2]) << 16 | uint32_t(bytes[3]) << 24;
}

void storeWord(uint8_t *bytes, uint32_t word) {
  for (unsigned i = 0; i < 4; ++i)
    bytes[i] = static_cast<uint8_t>(word >> (8 * i));
}

/// Columns of word `word` that exist.
int64_t realColumns(const PackedLayout &layout, int64_t word) {
  return std::min(kWordColumns, layout.columns - word * kWordColumns);
}

uint32_t maskAt(const PackedLayout &layout, const uint8_t *block, int64_t lane,
                int64_t word) {
  if (layout.tile.hasUnits())
    return loadUnitMask(layout, block, lane, word);
  return loadWord(block + layout.maskOffset(lane, word));
}

/// Where the values of a word lie: one after another in tiles of rows, each at
/// a place of its own in units.
class ValuePlaces {
public:
  explicit ValuePlaces(const PackedLayout &layout)
      : layout(layout), width(elementBytes(layout.type)) {
    if (!layout.tile.hasUnits())
      return;
    int64_t stored = layout.valuesPerWord();
    for (int64_t lane = 0; lane < layout.tile.rows; ++lane)
      for (int64_t word = 0; word < kUnitWords; ++word)
        for (int64_t k = 0; k < stored; ++k)
          inUnit.push_back(unitValueOffset(layout, lane, word, k));
  }

  /// Of value `k`, from the begin of the block.
  int64_t operator()(int64_t lane, int64_t word, int64_t k) const {
    if (!layout.tile.hasUnits())
      return layout.valueOffset(lane, word) + k * width;
    return word / kUnitWords * unitBytes(layout) +
           inUnit[static_cast<size_t>((lane * kUnitWords + word % kUnitWords) *
                                          layout.valuesPerWord() +
                                      k)];
  }

  /// All values of a word.
  void load(const uint8_t *block, int64_t lane, int64_t word,
            float *values) const {
    int64_t stored = layout.valuesPerWord();
    int64_t together = layout.tile.hasUnits() ? 1 : stored;
    for (int64_t k = 0; k < stored; k += together)
      loadValues(layout.type, block + (*this)(lane, word, k), together,
                 values + k);
  }

private:
  const PackedLayout &layout;
  int64_t width;
  std::vector<int64_t> inUnit;
};

FormatProblem keepsProblem(const PackedLayout &layout, int64_t row,
                           int64_t column, int kept) {
  return {row, column,
          "group keeps " + std::to_string(kept) + " of " +
              std::to_string(layout.pattern.m) + " columns, expected " +
              std::to_string(layout.pattern.n)};
}

std::string print(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", double(value));
  return text;
}

/// The mask of one word before it is completed, or a problem.
std::optional<FormatProblem> chooseMask(const PackedLayout &layout, int64_t row,
                                        int64_t word, const float *values,
                                        const uint32_t *given, uint32_t &mask) {
  int64_t real = realColumns(layout, word);
  uint32_t nonZero = 0;
  for (int64_t j = 0; j < real; ++j)
    nonZero |= uint32_t(values[j] != 0) << j;
  mask = given ? *given : nonZero;
  int64_t base = word * kWordColumns;
  if (uint32_t lost = nonZero & ~mask) {
    int64_t j = __builtin_ctz(lost);
    return FormatProblem{row, base + j,
                         "weight " + print(values[j]) +
                             " is not zero and its mask does not keep it"};
  }
  int64_t columns = base + real;
  int64_t bad = completeMask(layout.pattern, columns - base, &mask);
  if (bad < 0)
    return std::nullopt;
  uint32_t group = (mask >> bad) & layout.pattern.groupMask();
  int kept = __builtin_popcount(group);
  if (kept <= static_cast<int>(layout.pattern.n))
    return FormatProblem{row, base + bad,
                         "mask keeps a column beyond the last one"};
  if (given)
    return keepsProblem(layout, row, base + bad, kept);
  return FormatProblem{row, base + bad,
                       "group has " + std::to_string(kept) +
                           " non-zeros, expected at most " +
                           std::to_string(layout.pattern.n)};
}

/// Whether the value that these bits are is finite.
template <ElementType Type> bool isFinite(const uint8_t *bytes) {
  if constexpr (Type == ElementType::F32) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return std::isfinite(value);
  } else {
    uint16_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    constexpr uint16_t exponent = Type == ElementType::F16 ? 0x7c00 : 0x7f80;
    return (bits & exponent) != exponent;
  }
}

/// Stores the `real` values of one word that `kept` names, one after the other.
template <ElementType Type>
std::optional<FormatProblem> packValues(int64_t row, int64_t column,
                                        const float *source, int64_t real,
                                        uint32_t kept, uint8_t *out) {
  constexpr int64_t bytes = elementBytes(Type);
  // All are converted, which is vector code; what is not kept is zero.
  uint8_t values[kWordColumns * bytes];
  storeValues(Type, source, real, values);
  bool finite = true;
  for (int64_t j = 0; j < real; ++j)
    finite &= isFinite<Type>(values + j * bytes);
  if (!finite)
    for (int64_t j = 0; j < real; ++j)
      if ((kept >> j & 1u) && !isFinite<Type>(values + j * bytes))
        return FormatProblem{row, column + j,
                             "value " + print(source[j]) +
                                 " is not finite in " +
                                 std::string(elementName(Type))};
  if (kept == 0xffffffffu) {
    std::memcpy(out, values, sizeof(values));
    return std::nullopt;
  }
  for (; kept != 0; kept &= kept - 1, out += bytes)
    std::memcpy(out, values + __builtin_ctz(kept) * bytes, bytes);
  return std::nullopt;
}

template <ElementType Type>
std::optional<FormatProblem> packTyped(const PackedLayout &layout,
                                       int64_t first, int64_t count,
                                       const float *weights, int64_t stride,
                                       const uint32_t *mask, uint8_t *out) {
  ValuePlaces places(layout);
  constexpr int64_t bytes = elementBytes(Type);
  int64_t words = layout.numWords(), lanes = layout.tile.rows;
  bool dense = layout.pattern.isDense();
  std::memset(out, 0, static_cast<size_t>(count * layout.blockBytes()));
  for (int64_t block = 0; block < count; ++block) {
    uint8_t *base = out + block * layout.blockBytes();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t local = block * lanes + lane, row = first * lanes + local;
      for (int64_t word = 0; word < layout.storedWords(); ++word) {
        bool padding = row >= layout.rows || word >= words;
        const float *source =
            padding ? nullptr : weights + local * stride + word * kWordColumns;
        uint32_t kept = 0;
        if (padding || dense)
          completeMask(layout.pattern, kWordColumns, &kept);
        else if (auto problem = chooseMask(
                     layout, row, word, source,
                     mask ? mask + local * words + word : nullptr, kept))
          return problem;
        if (!dense && layout.tile.hasUnits())
          storeUnitMask(layout, base, lane, word, kept);
        else if (!dense)
          storeWord(base + layout.maskOffset(lane, word), kept);
        if (padding)
          continue;
        int64_t real = realColumns(layout, word);
        if (real < kWordColumns)
          kept &= (uint32_t(1) << real) - 1;
        // Padding columns are the last ones of their word's last groups, but
        // not always of the word's values: a group that keeps padding is
        // followed only by groups of padding, so the tail of zeros is in place.
        uint8_t inOrder[kWordColumns * bytes];
        uint8_t *to = layout.tile.hasUnits()
                          ? inOrder
                          : base + layout.valueOffset(lane, word);
        if (auto problem = packValues<Type>(row, word * kWordColumns, source,
                                            real, kept, to))
          return problem;
        if (layout.tile.hasUnits())
          for (int64_t k = 0; k < __builtin_popcount(kept); ++k)
            std::memcpy(base + places(lane, word, k), inOrder + k * bytes,
                        bytes);
      }
    }
  }
  return std::nullopt;
}

} // namespace

std::string PackedLayout::problem() const {
  // 2^40 elements keep every product below 2^63, whatever the type.
  constexpr int64_t limit = int64_t(1) << 40;
  if (rows < 1 || columns < 1 || rows > limit || columns > limit / rows)
    return "a weight of " + std::to_string(rows) + " x " +
           std::to_string(columns) + " cannot be packed";
  if (std::string text = pattern.problem(); !text.empty())
    return text;
  if (std::string text = tile.problem(); !text.empty())
    return text;
  if (tile.kind == Tile::Kind::Fragments &&
      (type == ElementType::F32 ||
       !(pattern.isDense() || pattern == Pattern{2, 4})))
    return "tile mma16 holds dense and 2:4 weights of f16 and bf16, not " +
           pattern.str() + " of " + std::string(elementName(type));
  return "";
}

int64_t PackedLayout::blockBytes() const {
  int64_t bytes = tile.hasUnits()
                      ? storedWords() / kUnitWords * unitBytes(*this)
                      : numWords() * wordBytes();
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string FormatProblem::str() const {
  return "row " + std::to_string(row) + ", column " + std::to_string(column) +
         ": " + message;
}

std::optional<FormatProblem>
sdc::packBlocks(const PackedLayout &layout, int64_t first, int64_t count,
                const float *weights, int64_t stride, const uint32_t *mask,
                uint8_t *out) {
  switch (layout.type) {
  case ElementType::F32:
    return packTyped<ElementType::F32>(layout, first, count, weights, stride,
                                       mask, out);
  case ElementType::F16:
    return packTyped<ElementType::F16>(layout, first, count, weights, stride,
                                       mask, out);
  case ElementType::BF16:
    return packTyped<ElementType::BF16>(layout, first, count, weights, stride,
                                        mask, out);
  }
  return FormatProblem{0, 0, "unknown element type"};
}

void sdc::unpackBlocks(const PackedLayout &layout, int64_t first, int64_t count,
                       const uint8_t *packed, float *weights, int64_t stride,
                       uint32_t *mask) {
  int64_t words = layout.numWords(), lanes = layout.tile.rows;
  int64_t stored = layout.valuesPerWord();
  ValuePlaces places(layout);
  float values[kWordColumns];
  for (int64_t block = 0; block < count; ++block) {
    const uint8_t *base = packed + block * layout.blockBytes();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t local = block * lanes + lane;
      if (first * lanes + local >= layout.rows)
        return;
      float *row = weights + local * stride;
      std::fill(row, row + layout.columns, 0.0f);
      for (int64_t word = 0; word < words; ++word) {
        uint32_t bits = layout.pattern.isDense()
                            ? 0xffffffffu
                            : maskAt(layout, base, lane, word);
        if (mask)
          mask[local * words + word] = bits;
        places.load(base, lane, word, values);
        int64_t real = realColumns(layout, word);
        for (int64_t k = 0; bits != 0 && k < stored; bits &= bits - 1, ++k)
          if (int64_t j = __builtin_ctz(bits); j < real)
            row[word * kWordColumns + j] = values[k];
      }
    }
  }
}

namespace {

/// Checks the mask of one word; `real` columns of it exist.
std::optional<FormatProblem> verifyMask(const PackedLayout &layout, int64_t row,
                                        int64_t word, int64_t real,
                                        uint32_t mask) {
  int64_t base = word * kWordColumns;
  unsigned n = layout.pattern.n, m = layout.pattern.m;
  for (unsigned start = 0; start < kWordColumns; start += m) {
    uint32_t group = (mask >> start) & layout.pattern.groupMask();
    int kept = __builtin_popcount(group);
    if (kept != static_cast<int>(n))
      return keepsProblem(layout, row, base + start, kept);
  }
  // With N bits in each group, completing the columns that exist must give the
  // same mask: padding is kept only on demand, and lowest first.
  uint32_t again = mask;
  if (real < kWordColumns)
    again &= (uint32_t(1) << real) - 1;
  completeMask(layout.pattern, real, &again);
  if (again != mask) {
    int64_t j = __builtin_ctz(again ^ mask);
    return FormatProblem{row, base + j,
                         "mask keeps padding beyond what the pattern demands"};
  }
  return std::nullopt;
}

/// Checks that a block of units has nothing but the masks and values that were
/// read from it, coded as pack does.
std::optional<FormatProblem> verifyRest(const PackedLayout &layout,
                                        const ValuePlaces &places, int64_t row,
                                        const uint8_t *block) {
  std::vector<uint8_t> again(static_cast<size_t>(layout.blockBytes()));
  for (int64_t lane = 0; lane < layout.tile.rows; ++lane)
    for (int64_t word = 0; word < layout.storedWords(); ++word) {
      if (!layout.pattern.isDense())
        storeUnitMask(layout, again.data(), lane, word,
                      maskAt(layout, block, lane, word));
      for (int64_t k = 0; k < layout.valuesPerWord(); ++k) {
        int64_t at = places(lane, word, k);
        std::memcpy(&again[static_cast<size_t>(at)], block + at,
                    elementBytes(layout.type));
      }
    }
  if (std::memcmp(again.data(), block, again.size()) == 0)
    return std::nullopt;
  return FormatProblem{row, 0,
                       "block has a code out of order or a byte that is not "
                       "zero between its values"};
}

} // namespace

std::optional<FormatProblem> sdc::verifyBlocks(const PackedLayout &layout,
                                               int64_t first, int64_t count,
                                               const uint8_t *packed) {
  int64_t words = layout.numWords(), lanes = layout.tile.rows;
  int64_t stored = layout.valuesPerWord();
  unsigned width = elementBytes(layout.type);
  ValuePlaces places(layout);
  bool dense = layout.pattern.isDense();
  float values[kWordColumns];
  for (int64_t block = 0; block < count; ++block) {
    const uint8_t *base = packed + block * layout.blockBytes();
    int64_t firstRow = (first + block) * lanes;
    for (int64_t word = 0; word < layout.storedWords(); ++word) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t row = firstRow + lane;
        // Padding looks like words whose 32 columns all exist.
        bool outside = row >= layout.rows || word >= words;
        int64_t real = outside ? kWordColumns : realColumns(layout, word);
        uint32_t mask = 0xffffffffu;
        if (!dense) {
          mask = maskAt(layout, base, lane, word);
          if (auto problem = verifyMask(layout, row, word, real, mask))
            return problem;
          uint32_t lowest = 0;
          completeMask(layout.pattern, kWordColumns, &lowest);
          if (outside && mask != lowest)
            return FormatProblem{row, word * kWordColumns,
                                 (row < layout.rows ? "mask of padding"
                                                    : "mask of a padding row") +
                                     std::string(" is not the lowest ") +
                                     std::to_string(layout.pattern.n) +
                                     " of each group"};
        }
        places.load(base, lane, word, values);
        for (int64_t k = 0; k < stored; ++k, mask &= mask - 1) {
          int64_t j = __builtin_ctz(mask);
          int64_t column = word * kWordColumns + j;
          if (!std::isfinite(values[k]))
            return FormatProblem{row, column, "value is not finite"};
          bool padding = outside || j >= real;
          static constexpr uint8_t zero[4] = {0, 0, 0, 0};
          if (padding &&
              std::memcmp(base + places(lane, word, k), zero, width) != 0)
            return FormatProblem{row, column, "value of padding is not zero"};
        }
      }
    }
    if (layout.tile.hasUnits()) {
      if (auto problem = verifyRest(layout, places, firstRow, base))
        return problem;
      continue;
    }
    for (int64_t i = words * layout.wordBytes(); i < layout.blockBytes(); ++i)
      if (base[i] != 0)
        return FormatProblem{firstRow, layout.columns,
                             "byte at the end of the block is not zero"};
  }
  return std::nullopt;
}
