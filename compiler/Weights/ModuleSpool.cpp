// Named spools that spare what they are made from.

#include "compiler/Weights/ModuleSpool.h"

#include "compiler/Weights/WeightReader.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace sdc;

std::shared_ptr<Spool> sdc::createModuleSpool(ModuleOp module, StringRef path,
                                              StringRef folder) {
  if (path.empty()) {
    emitError(module.getLoc(),
              "new weights need a place, expected the option spool=FILE");
    return nullptr;
  }
  for (auto weight : module.getOps<decode::WeightOp>()) {
    auto file = dyn_cast<decode::FileAttr>(weight.getSource());
    if (file && llvm::sys::fs::equivalent(
                    resolveWeightPath(file.getPath(), folder), path)) {
      weight.emitOpError("its bytes are in the file '")
          << path << "', which spool= would overwrite";
      return nullptr;
    }
  }
  llvm::Expected<std::unique_ptr<Spool>> made = Spool::createNamed(path);
  if (made)
    return std::move(*made);
  emitError(module.getLoc(), toString(made.takeError()));
  return nullptr;
}
