// Turns an ONNX model into a module: the steps of the import, in order.

#include "compiler/Import/OnnxImporter.h"

#include "compiler/Import/OnnxFile.h"
#include "compiler/Import/OnnxGraphBuilder.h"
#include "compiler/Import/OnnxModel.h"
#include "compiler/Import/OnnxNumbers.h"
#include "compiler/Import/OnnxOperators.h"
#include "compiler/Import/OnnxTypes.h"
#include "compiler/Import/OnnxWeights.h"
#include "compiler/Import/OnnxWire.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace sdc;

/// Parses the model; bytes that are not one are reported.
static std::optional<onnx::ModelProto> parse(StringRef path, StringRef bytes,
                                             ImportDiagnostics &diagnostics) {
  bool isText = isOnnxText(path);
  std::string slim;
  if (!isText) {
    llvm::Expected<std::string> result =
        slimModel(bytes, onnxir::ConstantOp::kMaxBytes);
    if (!result) {
      diagnostics.error("not an ONNX model: " +
                        llvm::toString(result.takeError()));
      return std::nullopt;
    }
    slim = std::move(*result);
  }
  llvm::Expected<onnx::ModelProto> model =
      parseModel(isText ? bytes : StringRef(slim), isText);
  if (!model) {
    diagnostics.error(model.takeError());
    return std::nullopt;
  }
  if (!model->has_graph() || model->opset_import_size() == 0) {
    diagnostics.error("not an ONNX model: it has no graph or no opset");
    return std::nullopt;
  }
  return std::move(*model);
}

static void checkVersions(const onnx::ModelProto &model,
                          ImportDiagnostics &diagnostics) {
  if (model.ir_version() > kNewestIr)
    diagnostics.error("expected an IR version of at most " + Twine(kNewestIr) +
                          ", got " + Twine(model.ir_version()),
                      "export the model with an older ONNX");
  int opset = importedOpset(model, "");
  if (opset > kNewestOpset)
    diagnostics.error("expected an opset of at most " + Twine(kNewestOpset) +
                          ", got " + Twine(opset),
                      "export the model with an older opset");
}

/// One spelling for the standard domain.
static void normalizeDomains(onnx::ModelProto &model) {
  auto normalize = [](auto &message) {
    if (message.domain() == "ai.onnx")
      message.clear_domain();
  };
  for (auto &import : *model.mutable_opset_import())
    normalize(import);
  for (auto &node : *model.mutable_graph()->mutable_node())
    normalize(node);
  for (auto &function : *model.mutable_functions())
    for (auto &node : *function.mutable_node())
      normalize(node);
}

/// Declares the weights, those that a node reads, in the order of the file.
static WeightSymbols addWeights(const onnx::GraphProto &graph,
                                ArrayRef<OnnxWeight> weights, ModuleOp module,
                                ImportDiagnostics &diagnostics) {
  llvm::StringSet<> used;
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &input : node.input())
      used.insert(input);
  for (const onnx::ValueInfoProto &output : graph.output())
    used.insert(output.name());
  WeightSymbols symbols;
  // The entries come later and keep their names.
  llvm::StringSet<> taken = {"decode", "prefill", "main"};
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (const OnnxWeight &weight : weights) {
    if (!used.contains(weight.name))
      continue;
    std::string name = weight.name;
    for (unsigned i = 0; !taken.insert(name).second; ++i)
      name = weight.name + "_" + std::to_string(i);
    decode::WeightOp::create(
        builder, diagnostics.locate(weight.name), builder.getStringAttr(name),
        TypeAttr::get(weight.type), weight.source, decode::ViewAttr());
    symbols[weight.name] = {FlatSymbolRefAttr::get(builder.getContext(), name),
                            weight.type};
  }
  return symbols;
}

/// Says in attributes what the module was made from.
static void addSource(ModuleOp module, StringRef bytes,
                      const onnx::ModelProto &model) {
  Builder builder(module.getContext());
  std::string digest = llvm::utohexstr(XXH3_64bits(bytes.data(), bytes.size()),
                                       /*LowerCase=*/true, /*Width=*/16);
  SmallVector<NamedAttribute> source = {
      builder.getNamedAttr("digest", builder.getStringAttr("xxh3:" + digest)),
      builder.getNamedAttr("ir_version",
                           builder.getI64IntegerAttr(model.ir_version())),
      builder.getNamedAttr("opset",
                           builder.getI64IntegerAttr(importedOpset(model, ""))),
      builder.getNamedAttr(
          "producer",
          builder.getStringAttr(
              StringRef(model.producer_name() + " " + model.producer_version())
                  .trim()))};
  module->setAttr("sdc.source", builder.getDictionaryAttr(source));
}

/// Says how large a decoder is.
static void addSizes(ModuleOp module, const OnnxRoles &roles,
                     const EntryShape &decode, const EntryShape &prefill) {
  const Port *key = roles.findInput(Role::PastKey);
  const PastDims &cache = decode.inputs[key - roles.inputs.data()];
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> sizes;
  auto add = [&](StringRef name, int64_t value) {
    sizes.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  add("batch", decode.batch);
  add("chunk", prefill.sequence);
  add("layers", roles.layers);
  add("kv_heads", cache[1].constant);
  add("head_size", cache[3].constant);
  for (auto graph : module.getOps<onnxir::GraphOp>())
    for (unsigned i = 0; i < graph.getNumResults(); ++i) {
      auto type = dyn_cast<RankedTensorType>(graph.getResultTypes()[i]);
      if (graph.getName() == "decode" && graph.getResultRole(i) == "logits" &&
          type && !type.isDynamicDim(type.getRank() - 1))
        add("vocab", type.getShape().back());
    }
  module->setAttr("sdc.model", builder.getDictionaryAttr(sizes));
}

FailureOr<OwningOpRef<ModuleOp>> sdc::importOnnx(StringRef path,
                                                 const ImportOptions &options,
                                                 MLIRContext &context) {
  context.loadDialect<decode::DecodeDialect, onnxir::OnnxDialect>();
  std::string file = resolveModelPath(path);
  ImportDiagnostics diagnostics(context, file);

  // The file, without its weights.
  std::unique_ptr<llvm::MemoryBuffer> buffer = openModel(file, diagnostics);
  if (!buffer)
    return failure();
  std::optional<onnx::ModelProto> parsed =
      parse(file, buffer->getBuffer(), diagnostics);
  if (!parsed)
    return failure();
  onnx::ModelProto model = std::move(*parsed);
  checkVersions(model, diagnostics);
  if (diagnostics.hasErrors())
    return failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(diagnostics.locate("module"));
  addSource(*module, buffer->getBuffer(), model);

  // Functions go first: their bodies may hold whatever is looked for later.
  normalizeDomains(model);
  if (model.functions_size() != 0) {
    if (llvm::Error error = inlineFunctions(model))
      diagnostics.error(std::move(error));
    model.clear_functions();
  }
  nameNodes(*model.mutable_graph());
  checkNodes(model, diagnostics);
  OnnxWeights weights(file, options.weightsDir, options.randomSeed, diagnostics,
                      context);
  weights.take(*model.mutable_graph());
  if (options.dataFiles)
    *options.dataFiles = weights.dataFiles();
  checkNumbers(model.graph(), diagnostics);
  if (diagnostics.hasErrors())
    return failure();

  // Only the library knows what else a valid model is. It looks for neither
  // weights nor functions any more, so that the rules of a newer IR hold.
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 10));
  if (llvm::Error error = checkModel(model)) {
    diagnostics.error(std::move(error));
    return failure();
  }
  if (importedOpset(model, "") < kLiftedOpset)
    if (llvm::Error error = liftModel(model)) {
      diagnostics.error(std::move(error));
      return failure();
    }

  llvm::StringSet<> weightNames;
  for (const OnnxWeight &weight : weights.getWeights())
    weightNames.insert(weight.name);
  OnnxRoles roles = findRoles(model.graph(), weightNames, diagnostics);
  if (diagnostics.hasErrors())
    return failure();
  std::vector<EntryShape> entries =
      makeEntries(model, roles, options.sizes, diagnostics);
  if (diagnostics.hasErrors())
    return failure();

  WeightSymbols symbols =
      addWeights(model.graph(), weights.getWeights(), *module, diagnostics);
  for (const EntryShape &entry : entries) {
    onnx::ModelProto bound = bindEntry(model, roles, entry);
    if (llvm::Error error = inferShapes(bound))
      diagnostics.error(std::move(error));
    else
      buildGraph(bound, roles, entry, symbols, *module, diagnostics);
  }
  if (diagnostics.hasErrors())
    return failure();
  if (roles.hasPast())
    addSizes(*module, roles, entries[0], entries[1]);
  if (failed(verify(*module)))
    return failure();
  return std::move(module);
}
