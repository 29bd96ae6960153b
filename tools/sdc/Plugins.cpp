// Loads plugins and registers passes.

#include "tools/sdc/Plugins.h"
#include "compiler/Passes.h"
#include "compiler/Pipeline/Pipeline.h"
#include "tools/sdc/Verbs.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace sdc;

bool sdc::loadPlugins(const std::vector<std::string> &plugins,
                      MLIRContext &context) {
  bool good = true;
  for (const std::string &plugin : plugins) {
    if (!(SDC_DYLIB)) {
      printError(plugin + ": this sdc is linked statically and takes no "
                          "plugins: a plugin needs the one libMLIR.so that "
                          "both share",
                 "build with -DSDC_LINK_DYLIB=ON, or use sdc-opt");
      return false;
    }
    llvm::Expected<PassPlugin> loaded = PassPlugin::load(plugin);
    if (!loaded) {
      printError(llvm::toString(loaded.takeError()));
      good = false;
      continue;
    }
    loaded->registerPassRegistryCallbacks();
    // A library may hold a dialect too.
    if (llvm::Expected<DialectPlugin> dialect = DialectPlugin::load(plugin)) {
      DialectRegistry registry;
      dialect->registerDialectRegistryCallbacks(registry);
      context.appendDialectRegistry(registry);
    } else {
      llvm::consumeError(dialect.takeError());
    }
  }
  return good;
}

void sdc::registerPassNames() {
  registerTransformsPasses();
  registerSdcPasses();
  registerPhasePipelines();
}
