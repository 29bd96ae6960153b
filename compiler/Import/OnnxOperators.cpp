// Which operators the rooms after import can handle, and whether the nodes of
// a graph hang together.

#include "compiler/Import/OnnxOperators.h"

#include "compiler/Import/OnnxModel.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sdc;

namespace {
struct Operator {
  StringRef domain, name, hint;
};
} // namespace

static constexpr Operator supportedOperators[] = {
#define SDC_OPERATOR(DOMAIN, NAME) {(DOMAIN), #NAME, ""},
#include "compiler/Import/Operators.def"
};

static constexpr Operator refusedOperators[] = {
#define SDC_REFUSED(DOMAIN, NAME, HINT) {(DOMAIN), #NAME, (HINT)},
#include "compiler/Import/Operators.def"
};

bool sdc::isSupportedOperator(StringRef op, StringRef domain) {
  return llvm::any_of(supportedOperators, [&](const Operator &supported) {
    return supported.name == op && supported.domain == domain;
  });
}

/// The hint of an operator that is refused, or nothing.
static StringRef hintForOperator(StringRef op, StringRef domain) {
  for (const Operator &refused : refusedOperators)
    if (refused.name == op && refused.domain == domain)
      return refused.hint;
  return "";
}

StringRef sdc::nodeName(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return node.op_type().empty() ? StringRef("unnamed node")
                                : StringRef(node.op_type());
}

void sdc::nameNodes(onnx::GraphProto &graph) {
  for (onnx::NodeProto &node : *graph.mutable_node())
    node.set_name(nodeName(node).str());
}

static void checkOperators(const onnx::ModelProto &model,
                           ImportDiagnostics &diagnostics) {
  for (const onnx::NodeProto &node : model.graph().node()) {
    if (node.op_type().empty()) {
      diagnostics.errorAt(nodeName(node), "the node has no operator");
      continue;
    }
    if (isSupportedOperator(node.op_type(), node.domain()))
      continue;
    StringRef domain = node.domain();
    int opset = importedOpset(model, domain);
    diagnostics.errorAt(nodeName(node),
                        "operator " + node.op_type() + " of domain " +
                            (domain.empty() ? StringRef("ai.onnx") : domain) +
                            ", opset " +
                            (opset ? Twine(opset) : Twine("not imported")) +
                            ", is not supported",
                        hintForOperator(node.op_type(), domain));
  }
}

static void checkValues(const onnx::GraphProto &graph,
                        ImportDiagnostics &diagnostics) {
  llvm::StringMap<StringRef> made; // by which node
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      made[output] = nodeName(node);
  llvm::StringSet<> defined;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!defined.insert(input.name()).second)
      diagnostics.errorAt(input.name(), "two graph inputs have this name");
  for (const onnx::TensorProto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (auto [index, input] : llvm::enumerate(node.input())) {
      if (input.empty() || defined.contains(input))
        continue;
      auto maker = made.find(input);
      if (maker == made.end())
        diagnostics.errorAt(nodeName(node), "input " + Twine(index) + ", '" +
                                                input + "', is undefined");
      else
        diagnostics.errorAt(nodeName(node),
                            "input " + Twine(index) + ", '" + input +
                                "', is made by a later node, '" +
                                maker->second + "'",
                            "sort the nodes of the graph topologically");
    }
    for (const std::string &output : node.output())
      if (!output.empty() && !defined.insert(output).second)
        diagnostics.errorAt(nodeName(node),
                            "output '" + output + "' is defined already");
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    if (!defined.contains(output.name()))
      diagnostics.errorAt(output.name(), "graph output is undefined");
}

void sdc::checkNodes(const onnx::ModelProto &model,
                     ImportDiagnostics &diagnostics) {
  checkOperators(model, diagnostics);
  checkValues(model.graph(), diagnostics);
}
