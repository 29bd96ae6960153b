// Follows constants to where they are sizes.

#include "compiler/Import/OnnxNumbers.h"

#include "compiler/Import/OnnxOperators.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

using namespace sdc;
using llvm::StringRef;
using llvm::Twine;

/// Constants hold any number, and "to the end" of Shape may be the largest.
static bool holdsAnyNumber(StringRef op) {
  return op == "Constant" || op == "Shape";
}

static void checkAttributes(const onnx::NodeProto &node,
                            ImportDiagnostics &diagnostics) {
  auto check = [&](const onnx::AttributeProto &attribute, int64_t value) {
    if (value < INT32_MIN || value > INT32_MAX)
      diagnostics.errorAt(nodeName(node), "attribute '" + attribute.name() +
                                              "' is " + Twine(value) +
                                              ", expected at most 32 bits");
  };
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT)
      check(attribute, attribute.i());
    for (int64_t value : attribute.ints())
      check(attribute, value);
  }
}

/// The inputs of an operator that say how large its result is.
static llvm::ArrayRef<int> sizeInputs(StringRef op) {
  static constexpr int first[] = {0}, second[] = {1}, all[] = {0, 1, 2};
  return llvm::StringSwitch<llvm::ArrayRef<int>>(op)
      .Case("ConstantOfShape", first)
      .Cases({"Reshape", "Expand", "Tile"}, second)
      .Case("Range", all)
      .Default({});
}

/// Whether an operator hands numbers on as they are.
static bool passesOn(StringRef op) {
  return op == "Concat" || op == "Cast" || op == "Identity" ||
         op == "Unsqueeze" || op == "Squeeze" || op == "Where";
}

static void checkSizes(const onnx::TensorProto &tensor, StringRef name,
                       ImportDiagnostics &diagnostics) {
  auto check = [&](int64_t value) {
    if (value <= kLargestSize)
      return true;
    diagnostics.errorAt(name, "the size " + Twine(value) +
                                  " is beyond what a model has, expected at "
                                  "most " +
                                  Twine(kLargestSize));
    return false;
  };
  if (tensor.data_type() != onnx::TensorProto::INT64)
    return;
  for (int64_t value : tensor.int64_data())
    if (!check(value))
      return;
  StringRef raw = tensor.raw_data();
  for (; raw.size() >= 8; raw = raw.drop_front(8))
    if (!check(int64_t(llvm::support::endian::read64le(raw.data()))))
      return;
}

void sdc::checkNumbers(const onnx::GraphProto &graph,
                       ImportDiagnostics &diagnostics) {
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    if (shape.dim_size() == 1 && shape.dim(0).dim_value() > kLargestSize)
      diagnostics.errorAt(input.name(), "has " +
                                            Twine(shape.dim(0).dim_value()) +
                                            " elements, expected at most " +
                                            Twine(kLargestSize));
  }
  llvm::StringSet<> sizes;
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto &node = graph.node(i);
    if (!holdsAnyNumber(node.op_type()))
      checkAttributes(node, diagnostics);
    for (int input : sizeInputs(node.op_type()))
      if (input < node.input_size())
        sizes.insert(node.input(input));
    bool isSize = llvm::any_of(node.output(), [&](const std::string &output) {
      return sizes.contains(output);
    });
    if (!isSize)
      continue;
    if (passesOn(node.op_type()))
      for (const std::string &input : node.input())
        sizes.insert(input);
    if (node.op_type() == "Constant")
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.type() == onnx::AttributeProto::TENSOR)
          checkSizes(attribute.t(), nodeName(node), diagnostics);
        onnx::TensorProto tensor;
        tensor.set_data_type(onnx::TensorProto::INT64);
        *tensor.mutable_int64_data() = attribute.ints();
        tensor.add_int64_data(attribute.i());
        checkSizes(tensor, nodeName(node), diagnostics);
      }
  }
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (sizes.contains(tensor.name()))
      checkSizes(tensor, tensor.name(), diagnostics);
}
