// Names of the methods.

#include "compiler/Prune/Prune.h"

using namespace sdc;

llvm::StringRef sdc::pruneMethodName(PruneMethod method) {
  switch (method) {
  case PruneMethod::SparseGpt:
    return "sparsegpt";
  case PruneMethod::Wanda:
    return "wanda";
  case PruneMethod::Magnitude:
    return "magnitude";
  case PruneMethod::KeepSparsity:
    return "keep-sparsity";
  }
  return "";
}

std::optional<PruneMethod> sdc::parsePruneMethod(llvm::StringRef name) {
  for (PruneMethod method : {PruneMethod::SparseGpt, PruneMethod::Wanda,
                             PruneMethod::Magnitude, PruneMethod::KeepSparsity})
    if (name == pruneMethodName(method))
      return method;
  return std::nullopt;
}
