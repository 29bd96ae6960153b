// The prune pass with a calibration file: its bytes are those of the methods,
// whatever the threads, the memory or an interruption; a file of another model
// is refused.

#include "compiler/Prune/PruneWeights.h"
#include "compiler/Prune/SparseGpt.h"
#include "compiler/Record/Calibration.h"
#include "compiler/Record/ModelLinears.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <random>
#include <unistd.h>

using namespace mlir;
using namespace sdc;

namespace {

/// q and k share their input, o has its own; K of o is no multiple of 32.
constexpr char kModel[] = R"(
decode.weight @layers.0.q : tensor<72x64xf32> from #decode.random<7>
decode.weight @layers.0.k : tensor<40x64xf32> from #decode.random<7>
decode.weight @layers.0.o : tensor<64x72xf32> from #decode.random<7>
func.func @decode(%x: tensor<1x1x64xf32>)
    -> (tensor<1x1x40xf32>, tensor<1x1x64xf32>) {
  %m = decode.record %x "layers.0.attn_in" : tensor<1x1x64xf32>
  %wq = decode.load @layers.0.q : tensor<72x64xf32>
  %wk = decode.load @layers.0.k : tensor<40x64xf32>
  %wo = decode.load @layers.0.o : tensor<64x72xf32>
  %q = decode.linear %m, %wq
      : tensor<1x1x64xf32>, tensor<72x64xf32> -> tensor<1x1x72xf32>
  %k = decode.linear %m, %wk
      : tensor<1x1x64xf32>, tensor<40x64xf32> -> tensor<1x1x40xf32>
  %n = decode.record %q "layers.0.attn_out" : tensor<1x1x72xf32>
  %o = decode.linear %n, %wo
      : tensor<1x1x72xf32>, tensor<64x72xf32> -> tensor<1x1x64xf32>
  return %k, %o : tensor<1x1x40xf32>, tensor<1x1x64xf32>
})";

class PruneWeightsTest : public testing::Test {
protected:
  void SetUp() override {
    context
        .loadDialect<decode::DecodeDialect, nm::NMDialect, func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sdc-prune", path));
    folder = path.str().str();
    options.pattern = "4:8";
    options.dtype = "f32";
    options.calibration = record("calibration", kModel);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  /// Records some random rows for each input of a model.
  std::string record(const std::string &name, StringRef text,
                     int64_t count = 200) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    CalibrationInfo info;
    info.linears = cantFail(describeLinears(*module, "", 2));
    info.keys = keysOf(info.linears);
    info.sources = {{{"seed", "1"}, {"tokenizer", "t"}}};
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<Hessian> sums;
    for (const CalibrationKey &key : info.keys) {
      Hessian &sum = sums.emplace_back(key.columns);
      std::vector<float> rows(static_cast<size_t>(count * key.columns));
      for (float &value : rows)
        value = normal(random);
      std::vector<PositionClass> classes(static_cast<size_t>(count),
                                         PositionClass::Decode);
      cantFail(sum.add(rows.data(), key.columns, classes, 1));
      sum.finishWave(1);
    }
    std::vector<const Hessian *> pointers;
    for (const Hessian &sum : sums)
      pointers.push_back(&sum);
    std::string path = folder + "/" + name;
    cantFail(writeCalibration(path, info, pointers));
    return path;
  }

  bool run(StringRef text, std::vector<PruneEntry> *entries = nullptr) {
    messages.clear();
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    passes.addPass(createPruneWeightsPass(options, {spool, {}, entries, plan}));
    return succeeded(passes.run(*module));
  }

  std::vector<float> values(StringRef name) {
    auto weight = module->lookupSymbol<decode::WeightOp>(name);
    WeightReader reader = cantFail(WeightReader::open(weight, ""));
    std::vector<float> all(
        static_cast<size_t>(reader.rows() * reader.columns()));
    reader.readRows(0, reader.rows(), all.data(), reader.columns());
    return all;
  }

  MLIRContext context;
  std::string folder, messages;
  PruneWeightsPassOptions options;
  std::shared_ptr<Spool> spool = cantFail(Spool::createUnnamed("/tmp"));
  OwningOpRef<ModuleOp> module;
  MemoryNeed *plan = nullptr;
};

} // namespace

TEST_F(PruneWeightsTest, GivesTheBytesOfTheMethod) {
  for (StringRef method : {"sparsegpt", "wanda", "magnitude"}) {
    options.method = method.str();
    std::vector<PruneEntry> entries;
    ASSERT_TRUE(run(kModel, &entries)) << messages;
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[1].method, method);
    EXPECT_GT(entries[1].relativeLoss, 0);
    std::vector<float> got = values("layers.0.k");

    auto dense = parseSourceString<ModuleOp>(kModel, &context);
    module = std::move(dense);
    std::vector<float> weight = values("layers.0.k"), h(64 * 64),
                       expected(40 * 64);
    std::vector<uint32_t> mask(40 * 2);
    cantFail(cantFail(Calibration::open(options.calibration))
                 .weigh("layers.0.attn_in", 64, PositionWeights(), h.data()));
    DenseWeight w{weight.data(), 40, 64};
    PruneSettings settings{{4, 8}, ElementType::F32, 1};
    PrunedWeight out{expected.data(), mask.data()};
    double loss = 0;
    if (method == "sparsegpt")
      loss =
          cantFail(pruneSparseGpt(
                       w, h.data(),
                       cantFail(HessianFactor::compute(h.data(), 64, 0.01, 1)),
                       settings, out))
              .loss;
    else if (method == "wanda")
      loss = cantFail(pruneWanda(w, h.data(), settings, out)).loss;
    else
      loss = cantFail(pruneMagnitude(w, h.data(), settings, out)).loss;
    EXPECT_EQ(got, expected) << method.str();
    EXPECT_EQ(entries[1].loss, loss) << method.str();
  }
}

TEST_F(PruneWeightsTest, DoesNotDependOnThreadsOrMemory) {
  ASSERT_TRUE(run(kModel)) << messages;
  std::vector<float> q = values("layers.0.q"), o = values("layers.0.o");
  options.threads = 3;
  options.maxMemory = int64_t(1) << 30;
  ASSERT_TRUE(run(kModel)) << messages;
  EXPECT_EQ(values("layers.0.q"), q);
  EXPECT_EQ(values("layers.0.o"), o);
}

TEST_F(PruneWeightsTest, GoesOnInTheWorkFolder) {
  ASSERT_TRUE(run(kModel)) << messages;
  std::vector<float> q = values("layers.0.q"), o = values("layers.0.o");

  options.work = folder + "/work";
  std::vector<PruneEntry> first, second, third;
  ASSERT_TRUE(run(kModel, &first)) << messages;
  EXPECT_EQ(values("layers.0.q"), q);
  auto file = cast<decode::FileAttr>(
      module->lookupSymbol<decode::WeightOp>("layers.0.q").getSource());
  // A file that was cut is made again.
  std::string cut = file.getPath().str();
  ASSERT_EQ(::truncate(cut.c_str(), 5000), 0);
  ASSERT_TRUE(run(kModel, &second)) << messages;
  EXPECT_FALSE(first[0].reused);
  EXPECT_FALSE(second[0].reused);
  EXPECT_TRUE(second[1].reused);
  EXPECT_TRUE(second[2].reused);
  EXPECT_EQ(values("layers.0.q"), q);
  EXPECT_EQ(values("layers.0.o"), o);
  EXPECT_EQ(second[2].loss, first[2].loss);
  EXPECT_EQ(second[2].notes, first[2].notes);

  // Another setting is another file.
  options.damp = 0.1;
  ASSERT_TRUE(run(kModel, &third)) << messages;
  EXPECT_FALSE(third[0].reused);
  EXPECT_FALSE(third[2].reused);
}

TEST_F(PruneWeightsTest, StrictRefusesRaisedDamping) {
  // 10 positions excite no 64 columns: the damping asked for is not enough.
  options.calibration = record("few", kModel, 10);
  options.damp = 1e-12;
  std::vector<PruneEntry> entries;
  ASSERT_TRUE(run(kModel, &entries)) << messages;
  EXPECT_GT(entries[0].damping, options.damp);
  ASSERT_FALSE(entries[0].notes.empty());
  options.strict = true;
  EXPECT_FALSE(run(kModel));
  for (const char *name : {"layers.0.q", "layers.0.k", "layers.0.o"})
    EXPECT_NE(messages.find(std::string(name) + ": damping was raised to"),
              std::string::npos)
        << messages;
  options.damp = 0.01;
  EXPECT_TRUE(run(kModel)) << messages;
}

TEST_F(PruneWeightsTest, PlansWithoutLookingIntoWeightsAndCalibration) {
  options.calibration = "nowhere";
  MemoryNeed need;
  plan = &need;
  ASSERT_TRUE(run(kModel)) << messages;
  // The o group: two matrices and the mask of 64 x 72, and what SparseGPT makes
  // of a matrix of 72 x 72: itself, and its inverse factor in f64.
  EXPECT_EQ(need.name, "layers.0.o");
  EXPECT_EQ(need.bytes, 64 * 72 * 8 + 64 * 3 * 4 + 72 * 72 * (4 + 8));
  EXPECT_EQ(spool->reserved(), 20480 + 12288 + 20480);
  EXPECT_EQ(values("layers.0.q"), std::vector<float>(72 * 64));
}

TEST_F(PruneWeightsTest, RefusesOtherCalibrations) {
  // The same names and shapes, other weights.
  std::string other = kModel;
  for (size_t at; (at = other.find("random<7>")) != std::string::npos;)
    other.replace(at, 9, "random<8>");
  EXPECT_FALSE(run(other));
  EXPECT_NE(messages.find("layers.0.q"), std::string::npos) << messages;
  options.allowOtherWeights = true;
  EXPECT_TRUE(run(other)) << messages;

  // Another shape, whatever is allowed.
  std::string shape = kModel;
  for (size_t at; (at = shape.find("40x64")) != std::string::npos;)
    shape.replace(at, 5, "41x64");
  for (size_t at; (at = shape.find("x40xf32")) != std::string::npos;)
    shape.replace(at, 7, "x41xf32");
  EXPECT_FALSE(run(shape));
  EXPECT_NE(messages.find("layers.0.k"), std::string::npos) << messages;
}
