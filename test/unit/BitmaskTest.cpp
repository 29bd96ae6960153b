// The packed layout by numbers: every pattern, type, tile and odd shape packs
// to the size that the grammar gives, unpacks to the same bits, verifies, and
// is caught when a byte of it is wrong.

#include "kernels/Format/Bitmask.h"
#include "kernels/Reference/Reference.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace sdc;

namespace {

constexpr ElementType kTypes[] = {ElementType::F32, ElementType::F16,
                                  ElementType::BF16};

std::vector<Pattern> allPatterns() {
  std::vector<Pattern> patterns = {Pattern::dense()};
  for (unsigned m : {2u, 4u, 8u, 16u, 32u})
    for (unsigned n = 1; n < m; ++n)
      patterns.push_back({n, m});
  return patterns;
}

/// Weights that are N:M and exact in `type`; one group in eight has fewer
/// non-zeros than N.
std::vector<float> randomWeights(const PackedLayout &layout, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> w(layout.rows * layout.columns, 0.0f);
  Pattern p = layout.pattern;
  for (int64_t r = 0; r < layout.rows; ++r)
    for (int64_t k = 0; k < layout.columns; k += p.m) {
      int64_t size = std::min<int64_t>(p.m, layout.columns - k);
      std::vector<int64_t> order(size);
      for (int64_t i = 0; i < size; ++i)
        order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      int64_t kept = std::min<int64_t>(size, p.n);
      if (random() % 8 == 0)
        kept = random() % (kept + 1);
      for (int64_t i = 0; i < kept; ++i)
        w[r * layout.columns + k + order[i]] =
            roundTo(layout.type, normal(random));
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

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

TEST(ElementType, HalfAgreesWithTheCompiler) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    _Float16 expected;
    std::memcpy(&expected, &half, 2);
    float wide = fromF16(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(expected)));
      EXPECT_TRUE(std::isnan(fromF16(toF16(wide))));
      continue;
    }
    EXPECT_EQ(bitsOf(wide), bitsOf(static_cast<float>(expected)));
    EXPECT_EQ(toF16(wide), half);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    uint32_t bits = random();
    // Half of them near the range of half, where rounding has cases.
    if (i % 2)
      bits = (bits & 0x80ffffffu) | ((100u + bits % 48u) << 23);
    float value;
    std::memcpy(&value, &bits, 4);
    auto expected = static_cast<_Float16>(value);
    uint16_t expectedBits;
    std::memcpy(&expectedBits, &expected, 2);
    if (!std::isnan(value)) {
      ASSERT_EQ(toF16(value), expectedBits) << std::hexfloat << value;
    }
  }
}

TEST(ElementType, BFloatRoundsToNearestEven) {
  // 1 + 2^-8 lies halfway between 1 and 1 + 2^-7: to even, 1. The next f32
  // rounds up; 1 + 3 * 2^-8 is halfway to 1 + 2^-6: to even, up.
  EXPECT_EQ(toBF16(0x1.01p0f), 0x3f80);
  EXPECT_EQ(toBF16(std::nextafter(0x1.01p0f, 2.0f)), 0x3f81);
  EXPECT_EQ(toBF16(0x1.03p0f), 0x3f82);
  EXPECT_EQ(toBF16(-0.0f), 0x8000);
  EXPECT_EQ(toBF16(3.4e38f), 0x7f80);
  EXPECT_TRUE(std::isnan(fromBF16(toBF16(NAN))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float wide = fromBF16(static_cast<uint16_t>(bits));
    if (!std::isnan(wide)) {
      EXPECT_EQ(toBF16(wide), bits);
    }
  }
}

// Many values are converted by other code than one.
TEST(ElementType, ManyAreConvertedAsOneIs) {
  std::mt19937 random(3);
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    for (int round = 0; round < 3000; ++round) {
      // Normal halves alone, then all bits: subnormal, infinite, NaN.
      size_t count = random() % 40;
      std::vector<float> values(count), loaded(count), rounded(count);
      for (float &value : values) {
        uint32_t bits = random();
        if (round % 2)
          bits = random() % 4 ? (bits & 0x80ffffffu) | 0x3c000000u : 0;
        std::memcpy(&value, &bits, 4);
      }
      std::vector<uint8_t> bytes(count * elementBytes(type));
      storeValues(type, values.data(), static_cast<int64_t>(count),
                  bytes.data());
      loadValues(type, bytes.data(), static_cast<int64_t>(count),
                 loaded.data());
      roundValues(type, values.data(), static_cast<int64_t>(count),
                  rounded.data());
      for (size_t i = 0; i < count; ++i) {
        uint16_t narrow;
        std::memcpy(&narrow, bytes.data() + 2 * i, 2);
        if (type == ElementType::F16)
          ASSERT_EQ(narrow, toF16(values[i]));
        if (type == ElementType::BF16)
          ASSERT_EQ(narrow, toBF16(values[i]));
        ASSERT_EQ(bitsOf(loaded[i]), bitsOf(roundTo(type, values[i])));
        ASSERT_EQ(bitsOf(rounded[i]), bitsOf(loaded[i]));
      }
    }
}

TEST(Pattern, NamesRoundTripAndProblemsAreNamed) {
  std::string problem;
  for (Pattern p : allPatterns()) {
    EXPECT_EQ(p.problem(), "");
    EXPECT_EQ(Pattern::parse(p.str(), problem), p);
  }
  for (const char *bad : {"4:2", "0:4", "3:7", "2:2", "1:1", "1:64", "2",
                          "2:", ":4", "-1:4", "2:4 ", "sparse", "", "002:4"}) {
    problem.clear();
    EXPECT_FALSE(Pattern::parse(bad, problem)) << bad;
    EXPECT_NE(problem, "") << bad;
  }
  EXPECT_FALSE(Pattern::parse("3:7", problem));
  EXPECT_EQ(problem, "pattern 3:7 has groups of 7, expected 2, 4, 8, 16 or 32");
}

TEST(Tile, NamesRoundTrip) {
  std::string problem;
  for (unsigned rows : {1u, 2u, 4u, 8u, 16u}) {
    Tile tile = Tile::interleavedRows(rows);
    EXPECT_EQ(Tile::parse(tile.str(), problem), tile);
    EXPECT_EQ(tile.problem(), "");
  }
  for (Tile tile : {Tile::lanes(), Tile::fragments()}) {
    EXPECT_EQ(Tile::parse(tile.str(), problem), tile);
    EXPECT_EQ(tile.problem(), "");
  }
  for (const char *bad : {"rows3", "rows", "rows08", "lanes16", "mma32", ""})
    EXPECT_FALSE(Tile::parse(bad, problem)) << bad;
  EXPECT_NE(Tile::interleavedRows(32).problem(), "");
}

TEST(Bitmask, LayoutOfTheExampleInTheHeader) {
  PackedLayout layout{2, 32, ElementType::BF16, {2, 4}, {Tile::Kind::Rows, 2}};
  EXPECT_EQ(layout.wordBytes(), 72);
  EXPECT_EQ(layout.packedSize(), 128);
  EXPECT_EQ(layout.maskOffset(1, 0), 4);
  EXPECT_EQ(layout.valueOffset(0, 0), 8);
  EXPECT_EQ(layout.valueOffset(1, 0), 40);

  // Row 0 keeps columns 1 and 2 of each group with values 1 and 2, row 1
  // columns 0 and 3 with values 3 and 4.
  std::vector<float> w(64, 0.0f);
  for (int g = 0; g < 8; ++g) {
    w[4 * g + 1] = 1;
    w[4 * g + 2] = 2;
    w[32 + 4 * g] = 3;
    w[32 + 4 * g + 3] = 4;
  }
  std::vector<uint8_t> packed = pack(layout, w), expected(128, 0);
  for (int i = 0; i < 4; ++i) {
    expected[i] = 0x66;
    expected[4 + i] = 0x99;
  }
  // bf16: 1 = 3f80, 2 = 4000, 3 = 4040, 4 = 4080, low byte first.
  const uint8_t row0[] = {0x80, 0x3f, 0x00, 0x40};
  const uint8_t row1[] = {0x40, 0x40, 0x80, 0x40};
  for (int g = 0; g < 8; ++g) {
    std::memcpy(&expected[8 + 4 * g], row0, 4);
    std::memcpy(&expected[40 + 4 * g], row1, 4);
  }
  EXPECT_EQ(packed, expected);
}

TEST(Bitmask, FewNonZerosAreCompletedWithTheLowestColumns) {
  PackedLayout layout{1, 6, ElementType::F32, {2, 4}, {Tile::Kind::Rows, 1}};
  // Group 0 has one non-zero at 2: column 0 joins. Group 1 has columns 4 and 5
  // only, both kept, and no padding. The other groups are padding: lowest two.
  std::vector<uint8_t> packed = pack(layout, {0, 0, 7, 0, 0, 0});
  uint32_t mask;
  std::memcpy(&mask, packed.data(), 4);
  EXPECT_EQ(mask, 0x33333335u);
  // 3:4 demands one column of padding in group 1.
  layout.pattern = {3, 4};
  packed = pack(layout, {0, 0, 7, 0, 0, 0});
  std::memcpy(&mask, packed.data(), 4);
  EXPECT_EQ(mask, 0x77777777u);
}

TEST(Bitmask, RoundTripsEveryPatternTypeTileAndOddShape) {
  unsigned seed = 0;
  for (Pattern pattern : allPatterns())
    for (ElementType type : kTypes)
      for (unsigned lanes : {1u, 2u, 4u, 8u, 16u}) {
        int64_t rows = 1 + seed % 19, columns = 1 + (seed * 7) % 71;
        PackedLayout layout{rows, columns, type, pattern,
                            Tile::interleavedRows(lanes)};
        ASSERT_EQ(layout.problem(), "");
        std::vector<float> w = randomWeights(layout, ++seed);
        std::vector<uint8_t> packed = pack(layout, w);
        auto bad = verifyBlocks(layout, 0, layout.numBlocks(), packed.data());
        ASSERT_FALSE(bad) << pattern.str() << " " << bad->str();
        std::vector<float> back(w.size(), NAN);
        std::vector<uint32_t> mask(rows * layout.numWords());
        unpackBlocks(layout, 0, layout.numBlocks(), packed.data(), back.data(),
                     columns, mask.data());
        ASSERT_EQ(std::memcmp(w.data(), back.data(), 4 * w.size()), 0)
            << pattern.str() << " " << rows << "x" << columns;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t k = 0; k < columns; ++k)
            ASSERT_EQ(reference::packedWeight(layout, packed.data(), r, k),
                      w[r * columns + k]);
        // The mask decides alone: packing with it gives the same bytes.
        ASSERT_EQ(pack(layout, w, mask.data()), packed);
        // Streaming block by block gives the same bytes.
        std::vector<uint8_t> streamed(packed.size(), 0xab);
        for (int64_t b = 0; b < layout.numBlocks(); ++b)
          ASSERT_FALSE(packBlocks(layout, b, 1, &w[b * lanes * columns],
                                  columns, nullptr,
                                  &streamed[b * layout.blockBytes()]));
        ASSERT_EQ(streamed, packed);
      }
}

TEST(Bitmask, ShapesAroundOneWord) {
  for (int64_t columns = 1; columns <= 33; ++columns)
    for (Pattern pattern : {Pattern{2, 4}, Pattern{3, 4}, Pattern{8, 16},
                            Pattern{16, 32}, Pattern{31, 32}, Pattern{1, 2}}) {
      PackedLayout layout{3, columns, ElementType::F16, pattern,
                          Tile::interleavedRows(2)};
      std::vector<float> w = randomWeights(layout, unsigned(columns));
      std::vector<uint8_t> packed = pack(layout, w);
      auto bad = verifyBlocks(layout, 0, layout.numBlocks(), packed.data());
      ASSERT_FALSE(bad) << columns << " " << pattern.str() << bad->str();
      std::vector<float> back(w.size());
      unpackBlocks(layout, 0, 2, packed.data(), back.data(), columns, nullptr);
      ASSERT_EQ(back, w);
    }
}

TEST(Bitmask, MaskKeepsZerosAndSignsOfZero) {
  PackedLayout layout{1, 4, ElementType::BF16, {2, 4}, Tile{}};
  uint32_t mask = 0b1010;
  std::vector<float> w = {-0.0f, -0.0f, 0.0f, 5.0f};
  std::vector<uint8_t> packed = pack(layout, w, &mask);
  std::vector<float> back(4);
  unpackBlocks(layout, 0, 1, packed.data(), back.data(), 4, nullptr);
  EXPECT_EQ(bitsOf(back[0]), bitsOf(0.0f));
  EXPECT_EQ(bitsOf(back[1]), bitsOf(-0.0f));
  EXPECT_EQ(back[3], 5.0f);
}

TEST(Bitmask, PackNamesTheFirstFault) {
  PackedLayout layout{3, 10, ElementType::F16, {2, 4}, Tile{}};
  std::vector<uint8_t> out(layout.packedSize());
  std::vector<float> w(30, 0.0f);
  auto problemOf = [&](const uint32_t *mask) -> std::string {
    auto problem = packBlocks(layout, 0, 1, w.data(), 10, mask, out.data());
    return problem ? problem->str() : "";
  };
  w[14] = w[15] = w[16] = 1;
  EXPECT_EQ(problemOf(nullptr), "row 1, column 4: group has 3 non-zeros, "
                                "expected at most 2");
  w[16] = 0;
  uint32_t mask[3] = {0, 0x20, 0};
  EXPECT_EQ(problemOf(mask), "row 1, column 4: weight 1 is not zero and its "
                             "mask does not keep it");
  mask[1] = 0x70;
  EXPECT_EQ(problemOf(mask), "row 1, column 4: group keeps 3 of 4 columns, "
                             "expected 2");
  mask[1] = 0x430;
  EXPECT_EQ(problemOf(mask),
            "row 1, column 8: mask keeps a column beyond the last one");
  w[15] = 1e6f;
  EXPECT_EQ(problemOf(nullptr), "row 1, column 5: value 1e+06 is not finite in "
                                "f16");
}

TEST(Bitmask, VerifyFindsWhatIsWrong) {
  PackedLayout layout{
      3, 40, ElementType::BF16, {4, 8}, Tile::interleavedRows(4)};
  std::vector<float> w = randomWeights(layout, 5);
  const std::vector<uint8_t> good = pack(layout, w);
  auto verify = [&](const std::vector<uint8_t> &bytes) -> std::string {
    auto problem = verifyBlocks(layout, 0, layout.numBlocks(), bytes.data());
    return problem ? problem->str() : "";
  };
  ASSERT_EQ(verify(good), "");
  // Any flipped bit of any mask changes a count.
  for (int64_t lane = 0; lane < 4; ++lane)
    for (int64_t word = 0; word < 2; ++word)
      for (unsigned bit = 0; bit < 32; ++bit) {
        std::vector<uint8_t> bytes = good;
        bytes[layout.maskOffset(lane, word) + bit / 8] ^= 1u << (bit % 8);
        std::string text = verify(bytes);
        ASSERT_NE(text.find("row " + std::to_string(lane) + ", column " +
                            std::to_string(word * 32 + bit / 8 * 8) +
                            ": group keeps "),
                  std::string::npos)
            << text;
      }
  // Padding: word 1 has 8 columns, so its values from the fifth on are zeros.
  std::vector<uint8_t> bytes = good;
  bytes[layout.valueOffset(2, 1) + 2 * 4] = 1;
  EXPECT_EQ(verify(bytes), "row 2, column 40: value of padding is not zero");
  bytes = good;
  bytes[layout.valueOffset(3, 0)] = 1;
  EXPECT_EQ(verify(bytes), "row 3, column 0: value of padding is not zero");
  // A negative zero in padding is not the zero that pack writes.
  bytes = good;
  bytes[layout.valueOffset(3, 0) + 1] = 0x80;
  EXPECT_EQ(verify(bytes), "row 3, column 0: value of padding is not zero");
  bytes = good;
  bytes[layout.maskOffset(2, 1) + 1] = 0xf0;
  EXPECT_EQ(verify(bytes), "row 2, column 40: mask keeps padding beyond what "
                           "the pattern demands");
  bytes = good;
  bytes[layout.valueOffset(0, 0)] = 0x80;
  bytes[layout.valueOffset(0, 0) + 1] = 0x7f;
  EXPECT_NE(verify(bytes).find("value is not finite"), std::string::npos);
  ASSERT_LT(2 * layout.wordBytes(), layout.blockBytes());
  bytes = good;
  bytes.back() = 1;
  EXPECT_EQ(verify(bytes),
            "row 0, column 40: byte at the end of the block is not zero");
}

TEST(Bitmask, ProductsAgreeWithTheDenseOracle) {
  for (Pattern pattern : {Pattern::dense(), Pattern{16, 32}, Pattern{3, 4}}) {
    PackedLayout layout{11, 75, ElementType::F32, pattern,
                        Tile::interleavedRows(4)};
    std::vector<float> w = randomWeights(layout, 3);
    std::vector<uint8_t> packed = pack(layout, w);
    std::vector<float> x(2 * 75), bias(11);
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    for (float &v : x)
      v = normal(random);
    for (float &v : bias)
      v = normal(random);
    std::vector<double> dense(22), sparse(22);
    reference::linear(2, 11, 75, x.data(), w.data(), bias.data(), dense.data());
    reference::packedLinear(layout, 2, x.data(), packed.data(), bias.data(),
                            sparse.data());
    for (int i = 0; i < 22; ++i)
      EXPECT_NEAR(dense[i], sparse[i], 1e-12);
  }
}

TEST(Bitmask, ImpossibleShapesAreNamed) {
  PackedLayout layout{0, 8, ElementType::BF16, {2, 4}, Tile{}};
  EXPECT_EQ(layout.problem(), "a weight of 0 x 8 cannot be packed");
  layout.rows = int64_t(1) << 40;
  layout.columns = int64_t(1) << 40;
  EXPECT_NE(layout.problem(), "");
  layout = {4, 8, ElementType::BF16, {4, 2}, Tile{}};
  EXPECT_NE(layout.problem(), "");
}

} // namespace
