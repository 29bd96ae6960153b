// What a compile would find in an ONNX model.

#include "compiler/Import/OnnxImporter.h"
#include "compiler/Weights/LinearNames.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "tools/sdc/Compile.h"
#include "tools/sdc/Inspect.h"
#include "tools/sdc/PrintJson.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sdc;
using Json = nlohmann::ordered_json;

namespace {

/// Operators of one entry with their counts, and the roles of its values.
void describeGraph(ModuleOp module, Json &json) {
  for (auto graph : module.getOps<onnxir::GraphOp>()) {
    std::map<std::string, int64_t> operators;
    graph.walk([&](onnxir::NodeOp node) {
      llvm::StringRef domain = node.getDomain().value_or("");
      std::string name =
          (domain + (domain.empty() ? "" : "::") + node.getOpType()).str();
      ++operators[name];
    });
    json["operators"] = operators;
    auto add = [&](const char *side, StringAttr name, StringRef role) {
      json[side].push_back({{"name", name ? name.str() : ""},
                            {"role", role.empty() ? "none" : role.str()}});
    };
    StringRef key = onnxir::GraphOp::kName;
    for (unsigned i = 0; i < graph.getNumArguments(); ++i)
      add("inputs", graph.getArgAttrOfType<StringAttr>(i, key),
          graph.getArgRole(i));
    for (unsigned i = 0; i < graph.getNumResults(); ++i)
      add("outputs", graph.getResultAttrOfType<StringAttr>(i, key),
          graph.getResultRole(i));
    return; // The other entry has the same nodes.
  }
}

void describeLinears(ModuleOp module, Json &json) {
  json["linears"] = Json::array();
  std::map<std::string, bool> seen;
  module.walk([&](decode::LinearOp linear) {
    decode::LoadOp load = loadOf(linear.getWeight());
    if (!load || seen[load.getWeight().str()])
      return;
    std::string name = load.getWeight().str();
    seen[name] = true;
    RankedTensorType type = linear.getWeight().getType();
    bool pruned = StringRef(name).starts_with("layers.");
    json["linears"].push_back(
        {{"name", name},
         {"rows", type.getDimSize(0)},
         {"columns", type.getDimSize(1)},
         {"pruned", pruned},
         {"reason", pruned           ? ""
                    : name == "head" ? "the head stays dense by default"
                                     : "outside the layers"}});
  });
}

void print(const Json &json) {
  std::printf("%s\n\noperators:", json["file"].get<std::string>().c_str());
  for (const auto &[name, count] : json["operators"].items())
    std::printf(" %s x%lld", name.c_str(),
                static_cast<long long>(count.get<int64_t>()));
  std::printf("\n\n%-28s role\n", "input or output");
  for (const char *side : {"inputs", "outputs"})
    for (const Json &port : json[side])
      std::printf("%-28s %s\n", port["name"].get<std::string>().c_str(),
                  port["role"].get<std::string>().c_str());
  std::printf("\n%-24s %16s  with a sparse --pattern\n", "linear", "rows x K");
  for (const Json &linear : json["linears"]) {
    std::string shape = std::to_string(linear["rows"].get<int64_t>()) + " x " +
                        std::to_string(linear["columns"].get<int64_t>());
    std::string reason = linear["reason"].get<std::string>();
    std::printf("%-24s %16s  %s\n", linear["name"].get<std::string>().c_str(),
                shape.c_str(),
                reason.empty() ? "pruned" : ("dense: " + reason).c_str());
  }
}

} // namespace

int sdc::inspectModel(const std::string &path, const CommonOptions &common) {
  CompileOptions options;
  options.model = path;
  options.common = common;
  options.common.quiet = true;
  options.pattern = "dense";
  // Weights are not read, so absent ones do no harm.
  options.randomSeed = 0;
  Compilation compilation(options);
  if (!compilation.load())
    return 1;
  Json json = {{"file", compilation.model().file},
               {"model_context", compilation.model().context},
               {"inputs", Json::array()},
               {"outputs", Json::array()}};
  describeGraph(compilation.module(), json);
  if (!compilation.run(Phase::Raise))
    return 1;
  describeLinears(compilation.module(), json);
  if (common.json)
    printJson(json);
  else
    print(json);
  return 0;
}
