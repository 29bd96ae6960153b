// Reading weights in every storage, random streams against numbers computed
// with Python's math, and the spool.

#include "compiler/Weights/Spool.h"
#include "compiler/Weights/WeightReader.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

using namespace mlir;
using namespace sdc;

namespace {

/// A folder that goes with all that is in it.
struct Folder {
  Folder() { llvm::sys::fs::createUniqueDirectory("weights-test", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  void write(StringRef name, const void *bytes, size_t size) {
    SmallString<128> file = path;
    llvm::sys::path::append(file, name);
    std::ofstream(file.c_str(), std::ios::binary)
        .write(static_cast<const char *>(bytes), static_cast<long>(size));
  }
  SmallString<128> path;
};

struct Weights : testing::Test {
  Weights() { context.loadDialect<decode::DecodeDialect>(); }

  llvm::Expected<WeightReader> open(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return WeightReader::open(*module->getOps<decode::WeightOp>().begin(),
                              folder.path);
  }
  std::vector<float> readAll(StringRef text, int64_t step) {
    auto reader = open(text);
    EXPECT_TRUE(static_cast<bool>(reader)) << toString(reader.takeError());
    std::vector<float> all(
        static_cast<size_t>(reader->rows() * reader->columns()));
    for (int64_t r = 0; r < reader->rows(); r += step)
      reader->readRows(r, std::min(step, reader->rows() - r),
                       all.data() + r * reader->columns(), reader->columns());
    return all;
  }
  std::string error(StringRef text) {
    auto reader = open(text);
    return reader ? "" : toString(reader.takeError());
  }

  Folder folder;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(Weights, FollowViews) {
  // stored[i, j] = 1000 i + j of 300 x 520, after 8 bytes of something else.
  std::vector<float> stored(2);
  for (int i = 0; i < 300; ++i)
    for (int j = 0; j < 520; ++j)
      stored.push_back(static_cast<float>(1000 * i + j));
  folder.write("w", stored.data(), 4 * stored.size());

  for (int64_t step : {1, 7, 1000}) {
    auto rows = readAll("decode.weight @w : tensor<9x520xf32> from "
                        "#decode.file<\"w\", 8, 624000> view "
                        "#decode.view<tensor<300x520xf32>, 17>",
                        step);
    for (int r = 0; r < 9; ++r)
      for (int k = 0; k < 520; ++k)
        ASSERT_EQ(rows[static_cast<size_t>(r * 520 + k)], 1000 * (17 + r) + k);
    auto columns = readAll("decode.weight @w : tensor<511x300xf32> from "
                           "#decode.file<\"w\", 8, 624000> view "
                           "#decode.view<tensor<300x520xf32>, 5, transposed>",
                           step);
    for (int r = 0; r < 511; ++r)
      for (int k = 0; k < 300; ++k)
        ASSERT_EQ(columns[static_cast<size_t>(r * 300 + k)], 1000 * k + 5 + r);
  }
  auto vector = readAll("decode.weight @w : tensor<3xf32> from "
                        "#decode.file<\"w\", 8, 624000> view "
                        "#decode.view<tensor<300x520xf32>, 519>",
                        1);
  EXPECT_EQ(vector, (std::vector<float>{519, 1000, 1001}));
}

TEST_F(Weights, ConvertTypes) {
  // 1.00390625 is halfway between two bf16 values; the even one is 1.
  double wide[] = {1.00390625, -2.5, 1e-3};
  folder.write("w", wide, sizeof wide);
  EXPECT_EQ(readAll("decode.weight @w : tensor<1x3xbf16> from "
                    "#decode.file<\"w\", 0, 24> view "
                    "#decode.view<tensor<1x3xf64>, 0>",
                    1),
            (std::vector<float>{1, -2.5f, 0x1.06p-10f}));
  uint16_t half[] = {0x3C00, 0xC100, 0x7BFF};
  folder.write("h", half, sizeof half);
  EXPECT_EQ(readAll("decode.weight @w : tensor<3x1xf16> from "
                    "#decode.file<\"h\", 0, 6>",
                    2),
            (std::vector<float>{1, -2.5f, 65504}));
  EXPECT_EQ(readAll("decode.weight @w : tensor<2x2xf32> from dense<[[1.0, "
                    "2.0], [3.0, -0.5]]> : tensor<2x2xf32>",
                    1),
            (std::vector<float>{1, 2, 3, -0.5f}));
  EXPECT_EQ(readAll("decode.weight @w : tensor<3xf32> from dense<1.5> : "
                    "tensor<3xf32>",
                    1),
            (std::vector<float>{1.5f, 1.5f, 1.5f}));
}

TEST_F(Weights, NameTheFault) {
  EXPECT_NE(error("decode.weight @w : tensor<2xf32> from #decode.file<\"no\", "
                  "0, 8>")
                .find("no: No such file"),
            std::string::npos);
  folder.write("w", "12345678", 8);
  EXPECT_NE(error("decode.weight @w : tensor<2xf32> from #decode.file<\"w\", "
                  "4, 8>")
                .find("w: expected 8 bytes from byte 4, the file has 8"),
            std::string::npos);
  EXPECT_EQ(error("decode.weight @w : tensor<2xi32> from #decode.file<\"w\", "
                  "0, 8>"),
            "expected a weight of f32, f16, bf16 or f64, got i32");
}

TEST(Philox, GivesThePublishedWords) {
  // Random123, kat_vectors: philox4x32 10.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}

TEST(RandomWeights, AreNormal) {
  // Computed with Python's integers and math.log, cos, sin.
  RandomWeights random(7, "layers.7.q");
  float got[4];
  random.fill(0, 4, 1, 0, got);
  EXPECT_NEAR(got[0], -0.7039711659517823, 1e-7);
  EXPECT_NEAR(got[1], -0.5897459712189969, 1e-7);
  EXPECT_NEAR(got[2], -0.7036094257402158, 1e-7);
  EXPECT_NEAR(got[3], -0.14069332050943098, 1e-7);
  random.fill(1000003, 1, 1, 0, got);
  EXPECT_NEAR(got[0], 0.7805107234260966, 1e-7);
  random.fill((int64_t(1) << 34) + 5, 1, 1, 0, got);
  EXPECT_NEAR(got[0], 0.8759394012897479, 1e-7);
  RandomWeights(7, "n").fill(0, 3, 1.0f / 16, 1, got);
  EXPECT_NEAR(got[0], 0.9953038228166031, 1e-7);
  EXPECT_NEAR(got[1], 1.1351187372637968, 1e-7);
  EXPECT_NEAR(got[2], 1.0612909961272938, 1e-7);
}

TEST_F(Weights, RandomStreamsDoNotDependOnBlocks) {
  StringRef text = "decode.weight @w : tensor<37x11xf32> from "
                   "#decode.random<3> view #decode.view<tensor<11x40xf32>, 2, "
                   "transposed>";
  std::vector<float> whole = readAll(text, 37);
  EXPECT_EQ(readAll(text, 1), whole);
  EXPECT_EQ(readAll(text, 5), whole);
}

TEST(Spool, ReleasesOnlyWhatNobodyCanName) {
  Folder folder;
  SmallString<128> name = folder.path;
  llvm::sys::path::append(name, "kept");
  auto kept = cantFail(Spool::createNamed(name));
  auto lost = cantFail(Spool::createUnnamed(folder.path));
  for (auto *spool : {kept.get(), lost.get()}) {
    spool->reserve(4096);
    cantFail(spool->write(0, std::vector<uint8_t>(4096, 7)));
    cantFail(spool->finish());
    spool->release(0, 4096);
  }
  EXPECT_EQ(cantFail(MappedRange::open(kept->path(), 0, 4096)).bytes()[9], 7);
  uint8_t byte = cantFail(MappedRange::open(lost->path(), 0, 4096)).bytes()[9];
  EXPECT_TRUE(byte == 0 || byte == 7); // 7 where holes can't be made.
}

TEST(Spool, KeepsBytesWithoutAName) {
  Folder folder;
  auto spool = cantFail(Spool::createUnnamed(folder.path));
  EXPECT_EQ(spool->reserve(5), 0);
  EXPECT_EQ(spool->reserve(3), Spool::kAlignment);
  cantFail(spool->write(Spool::kAlignment, {7, 8, 9}));
  cantFail(spool->write(0, {1, 2, 3, 4, 5}));
  cantFail(spool->finish());
  auto range = cantFail(MappedRange::open(spool->path(), 4096, 3));
  EXPECT_EQ(range.bytes().vec(), (std::vector<uint8_t>{7, 8, 9}));
  std::error_code error;
  llvm::sys::fs::directory_iterator it(folder.path, error), end;
  EXPECT_EQ(it, end) << "left " << it->path();
}
