// Calibration files: what is written is read, what is broken is named, what
// does not belong together is refused.

#include "compiler/Record/CalibrationChecks.h"
#include "compiler/Record/Discrepancy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sdc;

namespace {

class CalibrationTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sdc-calibration", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string file(const std::string &name) const {
    return folder + "/" + name;
  }

  /// A recording of two layers' worth of keys on random inputs.
  std::string write(const std::string &name, unsigned seed,
                    std::vector<RecordedLinear> linears = model()) {
    CalibrationInfo info;
    info.linears = std::move(linears);
    info.keys = keysOf(info.linears);
    info.sources = {{{"seed", std::to_string(seed)}, {"tokenizer", "t1"}}};
    info.promptLengths = {3, 2};
    info.totalLengths = {7, 5};
    for (int i = 0; i < 12; ++i)
      info.tokens.push_back(int(seed) * 100 + i);
    std::vector<Hessian> sums;
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (const CalibrationKey &key : info.keys) {
      Hessian &h = sums.emplace_back(key.columns);
      std::vector<float> x(9 * key.columns);
      for (float &v : x)
        v = normal(random);
      using C = PositionClass;
      EXPECT_FALSE(h.add(x.data(), key.columns,
                         {C::First, C::Prompt, C::Prompt, C::Decode, C::Decode,
                          C::Decode, C::None, C::Decode, C::Decode},
                         1));
      h.finishWave(1);
    }
    std::vector<const Hessian *> pointers;
    for (const Hessian &h : sums)
      pointers.push_back(&h);
    EXPECT_EQ(message(writeCalibration(file(name), info, pointers)), "");
    return file(name);
  }

  static std::vector<RecordedLinear> model() {
    Fingerprint print;
    print.norm = 3;
    print.projections = {0.5, -1, 0.25, 0, 1, 2, -0.125, 0.75};
    return {{"layers.0.q", 8, 5, "layers.0.attn_in", print},
            {"layers.0.k", 4, 5, "layers.0.attn_in", print},
            {"layers.0.down", 5, 11, "layers.0.mlp_mid", print}};
  }

  static std::string message(llvm::Error error) {
    return llvm::toString(std::move(error));
  }
  static std::string openMessage(const std::string &path) {
    auto opened = Calibration::open(path);
    return opened ? "" : message(opened.takeError());
  }
  static Calibration open(const std::string &path) {
    auto opened = Calibration::open(path);
    EXPECT_TRUE(bool(opened)) << message(opened.takeError());
    return opened ? std::move(*opened) : Calibration();
  }

  static std::string bytes(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  std::string put(const std::string &name, const std::string &content) {
    std::error_code error;
    llvm::raw_fd_ostream(file(name), error) << content;
    return file(name);
  }

  std::string folder;
};

TEST_F(CalibrationTest, ReadsWhatWasWritten) {
  std::string path = write("a", 1);
  Calibration a = open(path);
  EXPECT_EQ(a.info().tokens[11], 111);
  EXPECT_EQ(a.info().linears.size(), 3u);
  EXPECT_EQ(a.info().linears[2].input, "layers.0.mlp_mid");
  EXPECT_EQ(a.info().linears[0].fingerprint.projections[6], -0.125);
  ASSERT_EQ(a.info().keys.size(), 2u);
  EXPECT_EQ(a.info().keys[1].counts, (std::array<int64_t, 3>{5, 2, 1}));
  EXPECT_EQ(a.info().sources[0].at("tokenizer"), "t1");
  EXPECT_EQ(message(a.verify()), "");

  // The weighed sum is the sum of weighed triangles, in full.
  std::vector<float> d, p, f, h(121);
  using C = PositionClass;
  ASSERT_FALSE(a.triangle("layers.0.mlp_mid", C::Decode, d));
  ASSERT_FALSE(a.triangle("layers.0.mlp_mid", C::Prompt, p));
  ASSERT_FALSE(a.triangle("layers.0.mlp_mid", C::First, f));
  ASSERT_FALSE(a.weigh("layers.0.mlp_mid", 11, {{1, 3, 0.5}}, h.data()));
  size_t at = 0;
  for (int i = 0; i < 11; ++i)
    for (int j = i; j < 11; ++j, ++at) {
      EXPECT_NEAR(h[i * 11 + j], d[at] + 3 * p[at] + 0.5f * f[at], 1e-5);
      EXPECT_EQ(h[i * 11 + j], h[j * 11 + i]);
    }
  // Writing it again gives the same bytes, and nothing lies beside it.
  std::string first = bytes(path);
  EXPECT_EQ(bytes(write("b", 1)), first);
  std::error_code error;
  int entries = 0;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end;
       it.increment(error))
    ++entries;
  EXPECT_EQ(entries, 2);
}

TEST_F(CalibrationTest, NamesWhatIsAskedInVain) {
  Calibration a = open(write("a", 1));
  std::vector<float> h(121);
  EXPECT_NE(message(a.weigh("layers.1.attn_in", 5, {}, h.data()))
                .find("has no input 'layers.1.attn_in'"),
            std::string::npos);
  EXPECT_NE(message(a.weigh("layers.0.attn_in", 11, {}, h.data()))
                .find("has 5 columns, expected 11"),
            std::string::npos);
  EXPECT_NE(openMessage(file("absent")).find("absent: "), std::string::npos);
  EXPECT_NE(openMessage(folder), "");
}

TEST_F(CalibrationTest, EveryTruncationIsAnError) {
  std::string path = write("a", 1), content = bytes(path);
  for (size_t size = 0; size < content.size(); size += 1 + content.size() / 200)
    EXPECT_NE(openMessage(put("cut", content.substr(0, size))), "") << size;
  EXPECT_NE(openMessage(put("long", content + "x")), "");
}

TEST_F(CalibrationTest, NoFlippedBitOfTheHeaderIsFatal) {
  // A flip may leave a meaningful file (a digit of a norm); it must never be
  // read out of bounds, which the sanitizers would see.
  std::string path = write("a", 1), content = bytes(path);
  // The JSON, then lengths, tokens and the first counts.
  uint64_t header = 8;
  for (unsigned i = 0; i < 8; ++i)
    header += uint64_t(static_cast<uint8_t>(content[i])) << (8 * i);
  int refused = 0;
  for (size_t i = 0; i < std::min<size_t>(header + 100, content.size()); i += 3)
    for (unsigned bit : {i < 8 ? 7u : 1u, 6u}) {
      std::string broken = content;
      broken[i] = static_cast<char>(broken[i] ^ (1u << bit));
      auto opened = Calibration::open(put("flip", broken));
      if (!opened) {
        ++refused;
        EXPECT_NE(message(opened.takeError()), "");
        continue;
      }
      llvm::consumeError(opened->verify());
    }
  EXPECT_GT(refused, 300);
}

TEST_F(CalibrationTest, MalformedHeadersAreNamed) {
  auto safetensors = [&](const std::string &header, const std::string &data) {
    std::string size(8, '\0');
    for (unsigned i = 0; i < 8; ++i)
      size[i] = static_cast<char>(header.size() >> (8 * i));
    return put("made", size + header + data);
  };
  const char *cases[][2] = {
      {"{}", "no calibration: metadata 'format' is ''"},
      {"{\"a\":3}", "tensor 'a' has no dtype"},
      {"{\"a\":{\"dtype\":\"F99\",\"shape\":[],\"data_offsets\":[0,0]}}",
       "unknown type 'F99'"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}",
       "ends at byte 9 of 8"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}",
       "has 8 bytes, expected 12"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
       "dimension that is no size"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],"
       "\"data_offsets\":[0,8]}}",
       "dimension that is no size"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
       "begins at byte 4, expected 0"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
       "has 8 bytes of data, expected 4"},
      {"{\"a\":", "not valid JSON"},
      {"{\"__metadata__\":{\"a\":1}}", "metadata 'a' is no string"},
  };
  for (auto &[header, expected] : cases) {
    bool hasTensor = std::string(header).find("dtype") != std::string::npos;
    std::string text =
        openMessage(safetensors(header, hasTensor ? "12345678" : ""));
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  }
  EXPECT_NE(openMessage(safetensors("{\"__metadata__\":{\"format\":"
                                    "\"sdc-calibration\",\"version\":\"2\"}}",
                                    ""))
                .find("has version '2' of the calibration format, expected "
                      "'1'"),
            std::string::npos);
  EXPECT_NE(openMessage(put("text", "version https://git-lfs.github.com/...")),
            "");
}

TEST_F(CalibrationTest, ValuesThatAreNotFiniteAreNamed) {
  std::string path = write("a", 1), content = bytes(path);
  // The last value of the file is the last diagonal of mlp_mid.first.
  float bad = NAN;
  content.replace(content.size() - 4, 4, reinterpret_cast<char *>(&bad), 4);
  Calibration broken = open(put("nan", content));
  std::vector<float> h(121);
  std::string text =
      message(broken.weigh("layers.0.mlp_mid", 11, {{1, 1, 1}}, h.data()));
  EXPECT_NE(text.find("nan: tensor 'layers.0.mlp_mid.first' has nan at 10, 10"),
            std::string::npos)
      << text;
  EXPECT_EQ(message(broken.weigh("layers.0.mlp_mid", 11, {}, h.data())), "");
  EXPECT_NE(message(broken.verify()), "");
  bad = -1;
  content.replace(content.size() - 4, 4, reinterpret_cast<char *>(&bad), 4);
  EXPECT_NE(
      message(open(put("negative", content)).verify()).find("has -1 at 10, 10"),
      std::string::npos);
}

TEST_F(CalibrationTest, ModelsAreCompared) {
  Calibration a = open(write("a", 1));
  EXPECT_EQ(message(checkModel(a, model(), false)), "");
  auto other = model();
  std::swap(other[0], other[2]);
  EXPECT_EQ(message(checkModel(a, other, false)), "");
  // Every difference is named.
  other = model();
  other[0].rows = 16;
  other[1].name = "layers.0.v";
  std::string text = message(checkModel(a, other, true));
  EXPECT_NE(text.find("another architecture: 'layers.0.q' was recorded as 8 x "
                      "5 of input 'layers.0.attn_in', here it is 16 x 5 of "
                      "input 'layers.0.attn_in'; 'layers.0.v' is not recorded; "
                      "'layers.0.k' is recorded but not in the model"),
            std::string::npos)
      << text;
  other = model();
  other[1].fingerprint.projections[0] += 0.5;
  text = message(checkModel(a, other, false));
  EXPECT_NE(text.find("other weights of the same architecture: 1 of 3 linears "
                      "differ by more than 16-bit rounding: 'layers.0.k'"),
            std::string::npos)
      << text;
  EXPECT_EQ(message(checkModel(a, other, true)), "");
}

TEST_F(CalibrationTest, FilesAddUp) {
  std::string a = write("a", 1), b = write("b", 2);
  ASSERT_EQ(message(mergeCalibrations({a, b}, file("c"), false)), "");
  Calibration sum = open(file("c")), first = open(a), second = open(b);
  EXPECT_EQ(sum.info().sources.size(), 2u);
  EXPECT_EQ(sum.info().sources[1].at("seed"), "2");
  EXPECT_EQ(sum.info().tokens.size(), 24u);
  EXPECT_EQ(sum.info().totalLengths, (std::vector<int32_t>{7, 5, 7, 5}));
  for (const CalibrationKey &key : sum.info().keys) {
    EXPECT_EQ(key.counts, (std::array<int64_t, 3>{10, 4, 2}));
    std::vector<float> x, y, z;
    ASSERT_FALSE(first.triangle(key.name, PositionClass::Decode, x));
    ASSERT_FALSE(second.triangle(key.name, PositionClass::Decode, y));
    ASSERT_FALSE(sum.triangle(key.name, PositionClass::Decode, z));
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(z[i], x[i] + y[i]);
  }
  auto other = model();
  other[0].rows = 9;
  EXPECT_NE(
      message(mergeCalibrations({a, write("d", 3, other)}, file("e"), false))
          .find("another architecture"),
      std::string::npos);
  EXPECT_FALSE(llvm::sys::fs::exists(file("e")));
}

TEST_F(CalibrationTest, AFileThatCannotBeWrittenIsAnError) {
  CalibrationInfo info;
  EXPECT_NE(message(writeCalibration(folder + "/no/such/folder", info, {})),
            "");
  // Fewer bytes than announced: nothing appears under the name.
  info.linears = model();
  info.keys = keysOf(info.linears);
  auto writer = CalibrationWriter::create(file("short"), info);
  ASSERT_TRUE(bool(writer));
  EXPECT_NE(message(writer->finish()).find("bytes of data were written"),
            std::string::npos);
  EXPECT_FALSE(llvm::sys::fs::exists(file("short")));
}

TEST(PositionWeights, Parse) {
  auto parsed = PositionWeights::parse("1,3,0.5");
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(parsed->weights, (std::array<double, 3>{1, 3, 0.5}));
  EXPECT_EQ(PositionWeights::parse("all")->weights,
            (std::array<double, 3>{1, 1, 1}));
  for (const char *bad : {"", "most", "1,2", "1,2,3,4", "0,0,0", "1,-1,1",
                          "nan,1,1", "inf,1,1", "1,2,x"}) {
    auto wrong = PositionWeights::parse(bad);
    EXPECT_FALSE(bool(wrong)) << bad;
    llvm::consumeError(wrong.takeError());
  }
}

TEST(Discrepancy, OfKnownMatrices) {
  constexpr int64_t n = 60;
  // Diagonal 60, 59, ... 1: the k largest directions are the first k columns.
  std::vector<double> a(n * n, 0.0), b;
  for (int64_t i = 0; i < n; ++i)
    a[i * n + i] = static_cast<double>(n - i);
  EXPECT_NEAR(discrepancy(n, a, a, 10, 1), 0, 1e-6);
  b = a;
  b[3 * n + 3] *= 1.5;
  EXPECT_NEAR(discrepancy(n, a, b, 10, 2), 0.5, 1e-4);
  b[0] *= 0.2;
  EXPECT_NEAR(discrepancy(n, a, b, 10, 2), 0.8, 1e-4);
  // A change outside of the directions does not count.
  b = a;
  b[50 * n + 50] *= 7;
  EXPECT_NEAR(discrepancy(n, a, b, 10, 1), 0, 1e-4);
  EXPECT_NEAR(discrepancy(n, a, b, n, 1), 6, 1e-6);
}

} // namespace
