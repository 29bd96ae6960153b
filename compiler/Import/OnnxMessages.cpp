// The messages of the ONNX library as errors at nodes.

#include "compiler/Import/OnnxMessages.h"

#include "compiler/Import/ImportDiagnostics.h"
#include "llvm/ADT/SmallVector.h"

using namespace sdc;
using llvm::StringRef;

/// Removes tags such as "[ShapeInferenceError] " from the front.
static StringRef dropTags(StringRef text) {
  text = text.ltrim();
  while (text.starts_with("[")) {
    auto [tag, rest] = text.split(']');
    if (!tag.ends_with("Error"))
      break;
    text = rest.ltrim();
  }
  return text;
}

/// Whether `line` is "(op_type:Add, node name: a): what is wrong".
static bool parseInferenceLine(StringRef line, StringRef &node,
                               StringRef &text) {
  if (!line.consume_front("(op_type:"))
    return false;
  auto [where, rest] = line.split("): ");
  node = where.split(", node name: ").second;
  text = dropTags(rest);
  return !node.empty() && !text.empty();
}

llvm::Error sdc::splitMessage(StringRef what, StringRef message) {
  auto errorAt = [&](StringRef node, StringRef text) {
    return llvm::make_error<NodeError>(node.str(), (what + text.rtrim()).str());
  };
  auto [text, context] = message.split("==> Context: ");
  if (StringRef name = context.split("Name: ").second; !name.empty())
    return errorAt(name.split(" OpType: ").first, dropTags(text));

  StringRef lines = dropTags(text);
  lines.consume_front("Inference error(s): ");
  llvm::SmallVector<StringRef> parts;
  lines.split(parts, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::Error errors = llvm::Error::success();
  for (StringRef part : parts) {
    StringRef node, wrong;
    if (!parseInferenceLine(part, node, wrong)) {
      llvm::consumeError(std::move(errors));
      return llvm::createStringError(what + lines.rtrim());
    }
    errors = llvm::joinErrors(std::move(errors), errorAt(node, wrong));
  }
  if (parts.empty())
    return llvm::createStringError(what + "unknown error");
  return errors;
}
