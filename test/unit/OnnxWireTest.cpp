// slimModel against protobuf's own reading of the same bytes: what stays, what
// goes, and where in the file the large values are.

#include "compiler/Import/OnnxWire.h"

#include "onnx/onnx_pb.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace sdc;

namespace {

constexpr uint64_t kLimit = 64;

std::string serialize(const onnx::ModelProto &model) {
  std::string bytes;
  EXPECT_TRUE(model.SerializeToString(&bytes));
  return bytes;
}

onnx::ModelProto slim(const std::string &bytes) {
  llvm::Expected<std::string> result = slimModel(bytes, kLimit);
  EXPECT_TRUE(static_cast<bool>(result));
  onnx::ModelProto model;
  EXPECT_TRUE(result && model.ParseFromString(*result));
  return model;
}

/// Reads the values of a tensor out of the file, where it says that they are.
std::string readRange(const onnx::TensorProto &tensor,
                      const std::string &file) {
  EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
  size_t offset = 0, length = 0;
  bool inModel = false;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "offset")
      offset = std::stoull(entry.value());
    else if (entry.key() == "length")
      length = std::stoull(entry.value());
    else
      inModel |= entry.key() == kInModelFile;
  }
  EXPECT_TRUE(inModel);
  EXPECT_LE(offset + length, file.size());
  return file.substr(offset, length);
}

/// A tensor of `count` values 0, 1, 2, ... in the field that `add` adds to.
template <typename Add>
onnx::TensorProto makeTensor(const char *name, int type, int count, Add add) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.add_dims(count);
  for (int i = 0; i < count; ++i)
    add(tensor, i);
  return tensor;
}

onnx::ModelProto emptyModel() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  model.mutable_graph()->set_name("g");
  return model;
}

/// A field of length `payload`.
std::string wrap(char tag, const std::string &payload) {
  std::string field(1, tag);
  size_t length = payload.size();
  for (; length >= 0x80; length >>= 7)
    field += static_cast<char>(length | 0x80);
  field += static_cast<char>(length);
  return field + payload;
}

TEST(OnnxWire, NamesBytesInTheFile) {
  onnx::ModelProto model = emptyModel();
  auto *graph = model.mutable_graph();
  onnx::TensorProto raw;
  raw.set_name("raw");
  raw.set_data_type(onnx::TensorProto::FLOAT16);
  raw.add_dims(50);
  for (int i = 0; i < 100; ++i)
    raw.mutable_raw_data()->push_back(static_cast<char>(i * 37));
  *graph->add_initializer() = raw;
  *graph->add_initializer() =
      makeTensor("floats", onnx::TensorProto::FLOAT, 17,
                 [](auto &tensor, int i) { tensor.add_float_data(i * 0.5f); });
  *graph->add_initializer() =
      makeTensor("doubles", onnx::TensorProto::DOUBLE, 9,
                 [](auto &tensor, int i) { tensor.add_double_data(i * 0.1); });
  // In a Constant inside a branch.
  auto *attribute = graph->add_node()->add_attribute();
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto *inner = attribute->mutable_g()->add_node()->add_attribute();
  inner->set_type(onnx::AttributeProto::TENSOR);
  *inner->mutable_t() = raw;
  // In a function.
  auto *inFunction = model.add_functions()->add_node()->add_attribute();
  inFunction->set_type(onnx::AttributeProto::TENSOR);
  *inFunction->mutable_t() = raw;

  std::string file = serialize(model);
  onnx::ModelProto result = slim(file);
  ASSERT_EQ(result.graph().initializer_size(), 3);
  const auto &slimRaw = result.graph().initializer(0);
  EXPECT_EQ(slimRaw.name(), "raw");
  EXPECT_EQ(slimRaw.dims(0), 50);
  EXPECT_FALSE(slimRaw.has_raw_data());
  EXPECT_EQ(readRange(slimRaw, file), raw.raw_data());
  std::string floats = readRange(result.graph().initializer(1), file);
  ASSERT_EQ(floats.size(), 17 * sizeof(float));
  EXPECT_EQ(std::memcmp(floats.data(),
                        graph->initializer(1).float_data().data(),
                        floats.size()),
            0);
  std::string doubles = readRange(result.graph().initializer(2), file);
  ASSERT_EQ(doubles.size(), 9 * sizeof(double));
  EXPECT_EQ(std::memcmp(doubles.data(),
                        graph->initializer(2).double_data().data(),
                        doubles.size()),
            0);
  EXPECT_EQ(
      readRange(
          result.graph().node(0).attribute(0).g().node(0).attribute(0).t(),
          file),
      raw.raw_data());
  EXPECT_EQ(readRange(result.functions(0).node(0).attribute(0).t(), file),
            raw.raw_data());
}

TEST(OnnxWire, LeavesWhatCannotBeNamed) {
  onnx::ModelProto model = emptyModel();
  auto *graph = model.mutable_graph();
  // At the limit; varints; bits of f16 in int32_data; external already.
  *graph->add_initializer() =
      makeTensor("small", onnx::TensorProto::FLOAT, 16,
                 [](auto &tensor, int i) { tensor.add_float_data(i); });
  *graph->add_initializer() =
      makeTensor("varints", onnx::TensorProto::INT64, 100,
                 [](auto &tensor, int i) { tensor.add_int64_data(-i); });
  *graph->add_initializer() =
      makeTensor("halves", onnx::TensorProto::FLOAT16, 100,
                 [](auto &tensor, int i) { tensor.add_int32_data(i); });
  // Complex numbers use float_data too, two for each element.
  *graph->add_initializer() = makeTensor(
      "complex", onnx::TensorProto::COMPLEX64, 50, [](auto &tensor, int i) {
        tensor.add_float_data(i);
        tensor.add_float_data(-i);
      });
  onnx::TensorProto external;
  external.set_name("external");
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  auto *entry = external.add_external_data();
  entry->set_key("location");
  entry->set_value(std::string(100, 'x'));
  *graph->add_initializer() = external;
  std::string file = serialize(model);
  EXPECT_EQ(serialize(slim(file)), file);
}

TEST(OnnxWire, LeavesValuesInSeveralPieces) {
  // Parsers append the pieces of a packed field: no one range holds them.
  onnx::ModelProto model = emptyModel();
  std::string tensor =
      makeTensor("w", onnx::TensorProto::FLOAT, 20, [](auto &tensor, int i) {
        tensor.add_float_data(i);
      }).SerializeAsString();
  tensor += tensor;
  // Parsers merge the second graph with the first.
  std::string file =
      serialize(model) + wrap('\x3a', wrap('\x2a', tensor)); // initializer
  onnx::ModelProto result = slim(file);
  ASSERT_EQ(result.graph().initializer_size(), 1);
  EXPECT_EQ(result.graph().initializer(0).float_data_size(), 40);
}

TEST(OnnxWire, DropsStoredTypesAndNotes) {
  onnx::ModelProto model = emptyModel();
  model.set_doc_string("model");
  model.set_producer_name("kept");
  model.add_metadata_props()->set_key("key");
  auto *graph = model.mutable_graph();
  graph->add_value_info()->set_name("wrong");
  graph->set_doc_string("graph");
  graph->add_input()->set_name("in");
  graph->add_output()->set_name("out");
  auto *node = graph->add_node();
  node->set_op_type("Neg");
  node->set_doc_string("node");
  node->add_metadata_props()->set_key("stack trace");
  onnx::ModelProto result = slim(serialize(model));
  model.clear_doc_string();
  model.clear_metadata_props();
  graph->clear_value_info();
  graph->clear_doc_string();
  node->clear_doc_string();
  node->clear_metadata_props();
  EXPECT_EQ(result.SerializeAsString(), model.SerializeAsString());
}

TEST(OnnxWire, RefusesMalformedBytes) {
  onnx::ModelProto model = emptyModel();
  model.mutable_graph()->add_node()->set_op_type("Neg");
  std::string file = serialize(model);
  auto isRefused = [](llvm::StringRef bytes) {
    llvm::Expected<std::string> result = slimModel(bytes, kLimit);
    bool refused = !result;
    llvm::consumeError(result.takeError());
    return refused;
  };
  EXPECT_FALSE(isRefused(file));
  EXPECT_TRUE(isRefused(llvm::StringRef(file).drop_back(1)));
  EXPECT_TRUE(isRefused("\x0b"));                         // a group
  EXPECT_TRUE(isRefused(llvm::StringRef("\x00\x01", 2))); // field 0
  EXPECT_TRUE(isRefused(std::string(20, '\xff')));        // endless varint
  EXPECT_TRUE(isRefused("\x3a\x7f"));                     // too long
  // Graphs in graphs, deeper than any model is.
  std::string nested;
  for (int depth = 0; depth < 100; ++depth)
    for (char tag : {'\x32', '\x2a', '\x0a'}) // g, attribute, node
      nested = wrap(tag, nested);
  nested = wrap('\x3a', nested); // graph
  EXPECT_TRUE(isRefused(nested));
}

} // namespace
