// The ONNX library as the importer uses it: exceptions become errors.

#include "compiler/Import/OnnxModel.h"

#include "compiler/Import/OnnxMessages.h"
#include "compiler/Import/Schemas/ContribSchemas.h"
#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"
#include "onnx/shape_inference/implementation.h"
#include "onnx/version_converter/convert.h"

using namespace sdc;

/// Runs `body`; what it throws becomes an error that starts with `what`.
template <typename Body>
static llvm::Error guard(llvm::StringRef what, Body body) try {
  registerContribSchemas();
  return body();
} catch (const std::exception &error) {
  return splitMessage(what, error.what());
} catch (...) {
  return llvm::createStringError(what + "unknown exception");
}

static llvm::Error parseText(llvm::StringRef text, onnx::ModelProto &model) {
  std::string copy = text.str(); // the parser wants a terminator
  onnx::OnnxParser parser(copy.c_str());
  onnx::Common::Status status = parser.Parse(model);
  if (!status.IsOK())
    return llvm::createStringError(status.ErrorMessage());
  return llvm::Error::success();
}

llvm::Expected<onnx::ModelProto> sdc::parseModel(llvm::StringRef bytes,
                                                 bool isText) {
  onnx::ModelProto model;
  llvm::Error error = guard("not an ONNX model: ", [&]() -> llvm::Error {
    if (isText)
      return parseText(bytes, model);
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return llvm::createStringError("not an ONNX model: malformed protobuf");
    return llvm::Error::success();
  });
  if (error)
    return error;
  return model;
}

llvm::Error sdc::inlineFunctions(onnx::ModelProto &model) {
  return guard("functions can't be inlined: ", [&] {
    onnx::checker::check_function_call_cycles(model);
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
    return llvm::Error::success();
  });
}

llvm::Error sdc::checkModel(const onnx::ModelProto &model) {
  return guard("not a valid model: ", [&] {
    onnx::checker::check_model(model);
    return llvm::Error::success();
  });
}

llvm::Error sdc::liftModel(onnx::ModelProto &model) {
  std::string what = "can't be lifted from opset " +
                     std::to_string(importedOpset(model, "")) + " to " +
                     std::to_string(kLiftedOpset) + ": ";
  return guard(what, [&] {
    model = onnx::version_conversion::ConvertVersion(model, kLiftedOpset);
    return llvm::Error::success();
  });
}

llvm::Error sdc::inferShapes(onnx::ModelProto &model) {
  return guard("shapes can't be inferred: ", [&] {
    onnx::shape_inference::InferShapes(
        model, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions(/*check_type=*/true, /*strict_mode=*/1,
                                    /*data_prop=*/true));
    return llvm::Error::success();
  });
}

int sdc::schemaVersion(llvm::StringRef op, llvm::StringRef domain, int opset) {
  int version = 0;
  llvm::Error error = guard("", [&] {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(op.str(), opset, domain.str());
    if (schema)
      version = schema->SinceVersion();
    return llvm::Error::success();
  });
  llvm::consumeError(std::move(error));
  return version;
}

int sdc::importedOpset(const onnx::ModelProto &model, llvm::StringRef domain) {
  auto isStandard = [](llvm::StringRef name) {
    return name.empty() || name == "ai.onnx";
  };
  for (const onnx::OperatorSetIdProto &import : model.opset_import())
    if (import.domain() == domain ||
        (isStandard(import.domain()) && isStandard(domain)))
      return static_cast<int>(import.version());
  return 0;
}
