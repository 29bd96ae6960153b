// The tiles of CUDA, read as a warp reads them: lanes that walk masks from the
// highest bit, fragments as PTX draws them for mma.m16n8k16 and
// mma.sp.m16n8k32. Nothing here uses the offsets of kernels/Format.

#include "kernels/Format/Bitmask.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace sdc;

namespace {

float valueOf(ElementType type, const uint8_t *at) {
  float value;
  loadValues(type, at, 1, &value);
  return value;
}

uint32_t word32(const uint8_t *at) {
  uint32_t word;
  std::memcpy(&word, at, 4);
  return word;
}

struct Dense {
  int64_t columns;
  std::vector<float> w;
  float &operator()(int64_t r, int64_t k) { return w[r * columns + k]; }
};

/// Every row and column that the bytes hold, padding included.
Dense readLanes(const PackedLayout &layout, const uint8_t *bytes) {
  int64_t units = (layout.columns + 127) / 128;
  int64_t blocks = (layout.rows + 31) / 32;
  int64_t stored =
      layout.pattern.isDense() ? 32 : layout.pattern.n * 32 / layout.pattern.m;
  int64_t width = layout.type == ElementType::F32 ? 4 : 2;
  int64_t planes = (4 * stored * width + 15) / 16;
  Dense out{units * 128, {}};
  out.w.resize(blocks * 32 * out.columns);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t unit = 0; unit < units; ++unit) {
      const uint8_t *masks = bytes;
      if (!layout.pattern.isDense())
        bytes += 512;
      for (int64_t lane = 0; lane < 32; ++lane) {
        // The registers of a lane: 16 bytes of each plane.
        std::vector<uint8_t> own;
        for (int64_t p = 0; p < planes; ++p)
          own.insert(own.end(), bytes + p * 512 + lane * 16,
                     bytes + p * 512 + lane * 16 + 16);
        const uint8_t *next = own.data();
        for (int64_t word = 0; word < 4; ++word) {
          uint32_t mask = layout.pattern.isDense()
                              ? 0
                              : word32(masks + lane * 16 + word * 4);
          for (int64_t step = 0; step < stored; ++step, next += width) {
            int64_t bit = step;
            if (!layout.pattern.isDense()) {
              bit = 31 - __builtin_clz(mask);
              mask ^= 1u << bit;
            }
            out(block * 32 + lane, unit * 128 + word * 32 + bit) =
                valueOf(layout.type, next);
          }
          EXPECT_EQ(mask, 0u);
        }
      }
      bytes += planes * 512;
    }
  return out;
}

Dense readFragments(const PackedLayout &layout, const uint8_t *bytes) {
  int64_t units = (layout.columns + 127) / 128;
  int64_t blocks = (layout.rows + 15) / 16;
  bool sparse = !layout.pattern.isDense();
  Dense out{units * 128, {}};
  out.w.resize(blocks * 16 * out.columns);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t unit = 0; unit < units; ++unit) {
      const uint8_t *codes = bytes + 4 * 512;
      for (int64_t fragment = 0; fragment < (sparse ? 4 : 8); ++fragment)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = 0; i < 8; ++i) {
            // PTX, A of m16n8k16: i in 0..7; row g for i = 0, 1, 4, 5, else
            // g + 8; column 2 t + (i & 1), and 8 more for i >= 4.
            int64_t g = lane / 4, t = lane % 4;
            int64_t row = i % 4 < 2 ? g : g + 8;
            int64_t column = 2 * t + (i & 1) + (i >= 4 ? 8 : 0);
            if (!sparse) {
              column += 16 * fragment;
            } else {
              // Stored column c of mma.sp is the (c & 1)-th kept one of the
              // group c / 2, whose place is in two bits of the metadata. Lanes
              // 4 g and 4 g + 1 give the lower and upper half of the columns.
              int64_t group = column / 2;
              const uint8_t *quad =
                  codes + (g * 2 + group / 4) * 16 + fragment * 4;
              uint32_t metadata = word32(quad) >> (row >= 8 ? 16 : 0);
              uint32_t place =
                  metadata >> (4 * (group % 4) + 2 * (column & 1)) & 3;
              column = 32 * fragment + 4 * group + place;
            }
            out(block * 16 + row, unit * 128 + column) = valueOf(
                layout.type, bytes + fragment * 512 + lane * 16 + i * 2);
          }
      bytes += sparse ? 4 * 512 + 256 : 8 * 512;
    }
  return out;
}

std::vector<float> randomWeights(const PackedLayout &layout, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> w(layout.rows * layout.columns, 0.0f);
  int64_t m = layout.pattern.m, n = layout.pattern.n;
  for (int64_t r = 0; r < layout.rows; ++r)
    for (int64_t k = 0; k < layout.columns; k += m) {
      int64_t size = std::min<int64_t>(m, layout.columns - k);
      int64_t left = random() % 8 ? std::min(n, size) : random() % n;
      for (int64_t i = 0; i < size; ++i)
        if (int64_t(random() % (size - i)) < left) {
          w[r * layout.columns + k + i] =
              roundTo(layout.type, normal(random) + 3);
          --left;
        }
    }
  return w;
}

std::vector<uint8_t> pack(const PackedLayout &layout,
                          const std::vector<float> &w,
                          const uint32_t *mask = nullptr) {
  std::vector<uint8_t> packed(layout.packedSize(), 0xcd);
  auto problem = packBlocks(layout, 0, layout.numBlocks(), w.data(),
                            layout.columns, mask, packed.data());
  EXPECT_FALSE(problem) << problem->str();
  return packed;
}

void check(const PackedLayout &layout, unsigned seed) {
  ASSERT_EQ(layout.problem(), "");
  std::vector<float> w = randomWeights(layout, seed);
  std::vector<uint8_t> packed = pack(layout, w);
  Dense read = layout.tile == Tile::lanes()
                   ? readLanes(layout, packed.data())
                   : readFragments(layout, packed.data());
  int64_t stored = int64_t(read.w.size()) / read.columns;
  for (int64_t r = 0; r < stored; ++r)
    for (int64_t k = 0; k < read.columns; ++k) {
      bool inside = r < layout.rows && k < layout.columns;
      ASSERT_EQ(read(r, k), inside ? w[r * layout.columns + k] : 0)
          << layout.pattern.str() << " row " << r << " column " << k;
    }
  auto bad = verifyBlocks(layout, 0, layout.numBlocks(), packed.data());
  ASSERT_FALSE(bad) << bad->str();
  std::vector<float> back(w.size(), NAN);
  std::vector<uint32_t> mask(layout.rows * layout.numWords());
  unpackBlocks(layout, 0, layout.numBlocks(), packed.data(), back.data(),
               layout.columns, mask.data());
  ASSERT_EQ(back, w);
  ASSERT_EQ(pack(layout, w, mask.data()), packed);
  std::vector<uint8_t> streamed(packed.size(), 0xab);
  for (int64_t b = 0; b < layout.numBlocks(); ++b)
    ASSERT_FALSE(packBlocks(
        layout, b, 1, &w[b * layout.tile.rows * layout.columns], layout.columns,
        nullptr, &streamed[b * layout.blockBytes()]));
  ASSERT_EQ(streamed, packed);
}

TEST(CudaTile, LanesHoldEveryPatternTypeAndOddShape) {
  unsigned seed = 0;
  std::vector<Pattern> patterns = {Pattern::dense()};
  for (unsigned m : {2u, 4u, 8u, 16u, 32u})
    for (unsigned n = 1; n < m; ++n)
      patterns.push_back({n, m});
  for (Pattern pattern : patterns)
    for (ElementType type :
         {ElementType::F32, ElementType::F16, ElementType::BF16}) {
      int64_t rows = 1 + seed * 5 % 70, columns = 1 + seed * 37 % 300;
      check({rows, columns, type, pattern, Tile::lanes()}, ++seed);
    }
}

TEST(CudaTile, FragmentsHoldDenseAndTwoOfFour) {
  unsigned seed = 0;
  for (Pattern pattern : {Pattern::dense(), Pattern{2, 4}})
    for (ElementType type : {ElementType::F16, ElementType::BF16})
      for (int64_t rows : {1, 7, 16, 33})
        for (int64_t columns : {1, 31, 32, 100, 128, 129, 256, 301})
          check({rows, columns, type, pattern, Tile::fragments()}, ++seed);
}

TEST(CudaTile, SizesOfTheDrawings) {
  PackedLayout layout{32, 128, ElementType::BF16, {16, 32}, Tile::lanes()};
  EXPECT_EQ(layout.packedSize(), 4608);
  layout.tile = Tile::fragments();
  layout.pattern = {2, 4};
  EXPECT_EQ(layout.packedSize(), 2 * 2304);
  layout.pattern = Pattern::dense();
  EXPECT_EQ(layout.packedSize(), 2 * 4096);
}

TEST(CudaTile, FragmentsRefuseWhatTheyCannotHold) {
  PackedLayout layout{32, 128, ElementType::BF16, {4, 8}, Tile::fragments()};
  EXPECT_EQ(layout.problem(), "tile mma16 holds dense and 2:4 weights of f16 "
                              "and bf16, not 4:8 of bf16");
  layout.pattern = {2, 4};
  EXPECT_EQ(layout.problem(), "");
  layout.type = ElementType::F32;
  EXPECT_NE(layout.problem(), "");
}

TEST(CudaTile, VerifyFindsAnyFlippedBit) {
  // A flipped mask bit changes a count or an order; a flipped bit of padding
  // makes it non-zero. Values that exist may be anything finite.
  for (PackedLayout layout :
       {PackedLayout{17, 40, ElementType::BF16, {2, 4}, Tile::fragments()},
        PackedLayout{3, 40, ElementType::BF16, {3, 8}, Tile::lanes()},
        PackedLayout{3, 40, ElementType::F16, {1, 32}, Tile::lanes()},
        PackedLayout{3, 40, ElementType::BF16, {1, 1}, Tile::fragments()}}) {
    std::vector<float> w(layout.rows * layout.columns, 0.0f);
    const std::vector<uint8_t> good = pack(layout, w);
    // All values are zero, so setting the lowest bit of a value of padding, or
    // any bit of a mask, must be found; that of a value that exists must not.
    int64_t found = 0, changed = 0;
    for (size_t i = 0; i < good.size(); ++i) {
      std::vector<uint8_t> bytes = good;
      bytes[i] ^= 1;
      if (verifyBlocks(layout, 0, layout.numBlocks(), bytes.data())) {
        ++found;
        continue;
      }
      std::vector<float> back(w.size());
      unpackBlocks(layout, 0, layout.numBlocks(), bytes.data(), back.data(),
                   layout.columns, nullptr);
      changed += back != w;
    }
    // Low and high bytes of every value that exists.
    int64_t perRow = layout.pattern.isDense()
                         ? 40
                         : 40 / layout.pattern.m * layout.pattern.n;
    if (layout.pattern.m == 32)
      perRow = 2;
    EXPECT_EQ(changed, 2 * perRow * layout.rows) << layout.pattern.str();
    EXPECT_EQ(found + changed, int64_t(good.size()));
  }
  // Codes of 2:4 in the wrong order name the same columns.
  PackedLayout layout{1, 4, ElementType::BF16, {2, 4}, Tile::fragments()};
  std::vector<uint8_t> bytes = pack(layout, {1, 2, 0, 0});
  ASSERT_EQ(bytes[2048] & 15, 0b0100);
  bytes[2048] = static_cast<uint8_t>((bytes[2048] & 0xf0) | 0b0001);
  auto problem = verifyBlocks(layout, 0, 1, bytes.data());
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->str(), "row 0, column 0: block has a code out of order or "
                            "a byte that is not zero between its values");
}

} // namespace
