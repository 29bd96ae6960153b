// Pruned weights in the tensors of the original graph: either orientation, row
// ranges of one tensor, every place where a tensor's bytes may be.

#include "compiler/Emit/PrunedOnnx.h"
#include "compiler/Emit/OnnxTensors.h"
#include "kernels/Format/ElementType.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sdc;

namespace {

class PrunedOnnxTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<decode::DecodeDialect>();
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sdc-onnx", path));
    folder = path.str().str();

    // In an external file after 16 other bytes: qkv [K = 8, 48] as MatMul has
    // it. In the model: o [16, 40] in f16 as Gemm has it, and a small one.
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    onnx::GraphProto &graph = *model.mutable_graph();
    graph.set_name("g");
    std::ofstream data(folder + "/w.data", std::ios::binary);
    data << std::string(16, 'x');
    data.write(reinterpret_cast<const char *>(qkv.data()),
               static_cast<long>(4 * qkv.size()));
    onnx::TensorProto &a = add(graph, "qkv", onnx::TensorProto::FLOAT, {8, 48});
    a.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] : {std::pair{"location", "w.data"},
                              {"offset", "16"},
                              {"length", "1536"}}) {
      auto *entry = a.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    onnx::TensorProto &b =
        add(graph, "o", onnx::TensorProto::FLOAT16, {16, 40});
    std::vector<uint16_t> half(16 * 40, toF16(3));
    b.set_raw_data(half.data(), 2 * half.size());
    onnx::TensorProto &c =
        add(graph, "small", onnx::TensorProto::FLOAT, {2, 2});
    float small[] = {1, 3, 2, 4}; // [K, rows]; the module has [rows, K]
    c.set_raw_data(small, sizeof small);
    onnx::TensorProto &d = add(graph, "kept", onnx::TensorProto::INT64, {2});
    int64_t kept[] = {5, 6};
    d.set_raw_data(kept, sizeof kept);
    std::ofstream(folder + "/m.onnx", std::ios::binary)
        << model.SerializeAsString();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  static onnx::TensorProto &add(onnx::GraphProto &graph, const char *name,
                                int type, std::vector<int64_t> dims) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (int64_t size : dims)
      tensor.add_dims(size);
    return tensor;
  }

  /// The text of a module whose q [32, 8] is rows 0 to 31 of qkv, v [16, 8]
  /// rows 32 to 47.
  std::string text(StringRef q, StringRef v, StringRef small) {
    return ("decode.weight @q : tensor<32x8xf32> from " + q +
            "decode.weight @v : tensor<16x8xf32> from " + v +
            "decode.weight @small : tensor<2x2xf32> from " + small)
        .str();
  }
  OwningOpRef<ModuleOp> parse(const std::string &source) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    return module;
  }

  std::vector<float> qkv = std::vector<float>(8 * 48, 9);
  MLIRContext context;
  std::string folder;
};

constexpr char kQkv[] = "#decode.file<\"w.data\", 16, 1536> view "
                        "#decode.view<tensor<8x48xf32>, ";
constexpr char kSmall[] = "dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n";

} // namespace

TEST_F(PrunedOnnxTest, PutsWeightsWhereTheyWere) {
  auto dense = parse(text(std::string(kQkv) + "0, transposed>\n",
                          std::string(kQkv) + "32, transposed>\n", kSmall));
  auto pruned = parse(text("dense<0.5> : tensor<32x8xf32>\n",
                           std::string(kQkv) + "32, transposed>\n",
                           "dense<[[0.0, 2.5], [3.5, 0.0]]> : "
                           "tensor<2x2xf32>\n"));
  std::string out = folder + "/out.onnx";
  llvm::Error error = writePrunedOnnx(
      folder + "/m.onnx", captureOrigins(*dense), *pruned, folder, out);
  ASSERT_FALSE(error) << toString(std::move(error));

  OnnxTensors tensors = cantFail(OnnxTensors::read(out));
  ASSERT_EQ(tensors.ranges.size(), 4u);
  auto bytes = [&](size_t index) {
    const OnnxTensorRange &range = tensors.ranges[index];
    std::ifstream in(range.file, std::ios::binary);
    in.seekg(range.offset);
    std::string all(static_cast<size_t>(range.length), 0);
    in.read(all.data(), range.length);
    return all;
  };
  EXPECT_EQ(tensors.ranges[0].file, out + ".data");
  std::string got = bytes(0);
  ASSERT_EQ(got.size(), 1536u);
  for (int k = 0; k < 8; ++k)
    for (int r = 0; r < 48; ++r) {
      float value;
      std::memcpy(&value, got.data() + 4 * (48 * k + r), 4);
      ASSERT_EQ(value, r < 32 ? 0.5f : 9.0f) << k << ", " << r;
    }
  EXPECT_EQ(bytes(1).substr(0, 2), std::string("\0\x42", 2)); // 3 in f16
  float small[4];
  std::memcpy(small, bytes(2).data(), sizeof small);
  EXPECT_EQ(small[0], 0);
  EXPECT_EQ(small[1], 3.5f);
  EXPECT_EQ(small[2], 2.5f);
  EXPECT_EQ(bytes(3), std::string("\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0", 16));
}

TEST_F(PrunedOnnxTest, RefusesWhatHasNoPlace) {
  auto dense = parse(text("dense<7.0> : tensor<32x8xf32>\n",
                          std::string(kQkv) + "32, transposed>\n", kSmall));
  auto pruned = parse(text("dense<0.5> : tensor<32x8xf32>\n",
                           "dense<0.5> : tensor<16x8xf32>\n", kSmall) +
                      "decode.weight @embed : tensor<8x8xf32> from " + kQkv +
                      "40, transposed>\n");
  std::string out = folder + "/out.onnx";
  std::string message = toString(writePrunedOnnx(
      folder + "/m.onnx", captureOrigins(*dense), *pruned, folder, out));
  EXPECT_NE(message.find("q: the graph has no tensor of its own"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("v: its tensor is that of embed too"),
            std::string::npos)
      << message;
  EXPECT_FALSE(llvm::sys::fs::exists(out));
  EXPECT_FALSE(llvm::sys::fs::exists(out + ".data"));
}
