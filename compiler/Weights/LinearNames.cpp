// Names of linears.

#include "compiler/Weights/LinearNames.h"

#include "llvm/ADT/StringSwitch.h"

using namespace sdc;

decode::LoadOp sdc::loadOf(mlir::Value weight) {
  return weight.getDefiningOp<decode::LoadOp>();
}

std::string sdc::recordKeyOf(llvm::StringRef linear) {
  if (linear == "head")
    return "head_in";
  auto [layer, role] = linear.rsplit('.');
  llvm::StringRef number = layer;
  if (!number.consume_front("layers.") || number.empty() ||
      number.find_first_not_of("0123456789") != llvm::StringRef::npos)
    return "";
  llvm::StringRef input = llvm::StringSwitch<llvm::StringRef>(role)
                              .Cases({"q", "k", "v", "qkv"}, "attn_in")
                              .Case("o", "attn_out")
                              .Cases({"gate", "up", "gate_up"}, "mlp_in")
                              .Case("down", "mlp_mid")
                              .Default("");
  return input.empty() ? "" : (layer + "." + input).str();
}
