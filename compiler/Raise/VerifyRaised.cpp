// verify-raised: says what is left of the ONNX graph, and that it must not be.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_VERIFYRAISEDPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

static std::string describe(NodeOp node) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'" << node.getNodeName().value_or("") << "' ("
     << (node.getDomainName().empty() ? "ai.onnx" : node.getDomainName())
     << "::" << node.getOpType() << " since " << node.getSince() << ")";
  return text;
}

static std::string describe(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto node = value.getDefiningOp<NodeOp>())
    os << describe(node);
  else if (Operation *op = value.getDefiningOp())
    os << op->getName();
  else
    os << "a graph input";
  os << " : " << value.getType();
  return text;
}

/// Nodes that make integers or conditions, and operators that only move or
/// combine single elements: they are left because what reads them is.
static bool isPlain(NodeOp node) {
  if (node.getNumResults() == 1 &&
      getElementTypeOrSelf(node.getResult(0).getType()).isIntOrIndex())
    return true;
  static constexpr StringRef kNames[] = {
      "Add",
      "Sub",
      "Mul",
      "Div",
      "Neg",
      "Cast",
      "Reshape",
      "Transpose",
      "Concat",
      "Slice",
      "Expand",
      "Unsqueeze",
      "Squeeze",
      "Gather",
      "GatherND",
      "Where",
      "Shape",
      "Range",
      "And",
      "Or",
      "Not",
      "Equal",
      "Less",
      "Greater",
      "LessOrEqual",
      "GreaterOrEqual",
      "Cos",
      "Sin",
      "Split",
      "Identity",
      "Max",
      "Min",
      "ConstantOfShape",
      "IsNaN",
      "Sigmoid",
      "Pow",
      "Sqrt",
      "Reciprocal",
  };
  return node.getDomainName().empty() &&
         llvm::is_contained(kNames, node.getOpType());
}

/// The nodes around a node, a line for each.
static void describeAround(InFlightDiagnostic &diagnostic, NodeOp node) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "around " << describe(node) << ":";
  for (auto [i, input] : llvm::enumerate(node.getInputs()))
    if (!isa<NoneType>(input.getType()))
      os << "\n  input " << i << ": " << describe(input);
  for (auto [i, output] : llvm::enumerate(node.getOutputs()))
    for (Operation *user : output.getUsers()) {
      os << "\n  output " << i << ": " << output.getType() << ", read by ";
      if (auto reader = dyn_cast<NodeOp>(user))
        os << describe(reader);
      else
        os << user->getName();
    }
  diagnostic.attachNote(node.getLoc()) << text;
}

/// Reports the nodes that are left, one error for each operator and reason.
static void reportGraph(GraphOp graph) {
  SmallVector<NodeOp> left;
  for (auto node : graph.getBody().getOps<NodeOp>())
    if (!isPlain(node))
      left.push_back(node);
  if (left.empty())
    llvm::append_range(left, graph.getBody().getOps<NodeOp>());

  llvm::MapVector<std::pair<StringAttr, StringAttr>, SmallVector<NodeOp>>
      problems;
  for (NodeOp node : left) {
    auto name = StringAttr::get(graph.getContext(),
                                node.getDomainName() + "::" + node.getOpType());
    auto reason = node->getAttrOfType<StringAttr>(kReasonAttr);
    problems[{name, reason}].push_back(node);
  }
  for (auto &[problem, nodes] : problems) {
    InFlightDiagnostic diagnostic = nodes.front()->emitError();
    diagnostic << (nodes.front().getDomainName().empty() ? "ai.onnx" : "")
               << problem.first.getValue()
               << " was not recognised as a part of a decoder";
    if (problem.second)
      diagnostic << ": " << problem.second.getValue();
    diagnostic << "; " << nodes.size() << " node"
               << (nodes.size() == 1 ? "" : "s") << " in entry '"
               << graph.getSymName() << "': ";
    llvm::interleave(
        nodes, [&](NodeOp node) { diagnostic << describe(node); },
        [&] { diagnostic << ", "; });
    describeAround(diagnostic, nodes.front());
  }
  if (!problems.empty())
    return;
  InFlightDiagnostic diagnostic = graph.emitError();
  diagnostic << "entry '" << graph.getSymName()
             << "' is not that of a decoder: expected logits as the only "
                "output besides caches, got";
  for (unsigned i = 0; i < graph.getNumResults(); ++i)
    diagnostic << " '" << graph.getResultRole(i) << "'";
  for (BlockArgument argument : graph.getBody().getArguments())
    if (!argument.use_empty())
      diagnostic.attachNote()
          << "input '" << graph.getArgRole(argument.getArgNumber())
          << "' is read";
}

/// The operations of an entry with their attributes, but for those that depend
/// on the number of rows.
static SmallVector<std::pair<StringRef, Attribute>>
wordsOf(func::FuncOp entry) {
  SmallVector<std::pair<StringRef, Attribute>> words;
  for (Operation &op : entry.getBody().front()) {
    if (isa<decode::LastRowOp>(op))
      continue;
    // A reshape holds its shape, which has the rows in it.
    bool isReshape = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
    words.push_back({op.getName().getStringRef(),
                     isReshape ? Attribute() : op.getPropertiesAsAttribute()});
  }
  return words;
}

namespace {
struct VerifyRaisedPass
    : public sdc::impl::VerifyRaisedPassBase<VerifyRaisedPass> {
  using VerifyRaisedPassBase::VerifyRaisedPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool failed = false;
    // Both entries are made from one graph: what is wrong with one is wrong
    // with the other, and is said once.
    for (auto graph : module.getOps<GraphOp>()) {
      if (!failed)
        reportGraph(graph);
      failed = true;
    }
    func::FuncOp first;
    for (auto entry : module.getOps<func::FuncOp>()) {
      if (!entry->hasAttr(decode::kEntryAttr))
        continue;
      entry.walk([&](Operation *op) {
        for (Type type : op->getResultTypes()) {
          auto tensor = dyn_cast<TensorType>(type);
          if (!tensor || tensor.hasStaticShape())
            continue;
          op->emitError("expected static shapes after raise, got ") << type;
          failed = true;
        }
      });
      if (first && wordsOf(first) != wordsOf(entry)) {
        entry.emitError("entries '")
            << first.getSymName() << "' and '" << entry.getSymName()
            << "' are not the same operations";
        failed = true;
      }
      first = entry;
    }
    if (failed)
      signalPassFailure();
  }
};
} // namespace
