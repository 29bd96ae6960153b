// An example of a plugin: a pass over our dialects and a dialect of its own, in
// one library that sdc-opt loads at run time.
//
//   sdc-opt --load-pass-plugin=SdcExamplePlugin.so model.mlir
//       --pass-pipeline='builtin.module(example-widen-patterns{to=16:32})'
//
// A plugin must be built against the MLIR that its host links.

#include "dialects/NM/NMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

namespace {

/// Gives every nm.linear on a plain tensor whose weights obey it a wider
/// pattern: 2:4 weights obey 16:32 too, and all linears then share a kernel.
struct WidenPatternsPass
    : PassWrapper<WidenPatternsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenPatternsPass)

  WidenPatternsPass() = default;
  WidenPatternsPass(const WidenPatternsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "example-widen-patterns"; }
  StringRef getDescription() const override {
    return "Give linears a wider pattern that their weights obey too";
  }

  void runOnOperation() override {
    std::string problem;
    std::optional<sdc::Pattern> wide = sdc::Pattern::parse(to, problem);
    if (!wide) {
      getOperation().emitError(problem);
      return signalPassFailure();
    }
    getOperation().walk([&](sdc::nm::LinearOp op) {
      if (!op.getPatternAttr())
        return;
      sdc::Pattern narrow = op.getPatternAttr().getValue();
      if (wide->m % narrow.m == 0 && wide->m / narrow.m * narrow.n <= wide->n)
        op.setPatternAttr(sdc::nm::PatternAttr::get(&getContext(), *wide));
    });
  }

  Option<std::string> to{*this, "to", llvm::cl::desc("The wider pattern"),
                         llvm::cl::init("16:32")};
};

/// A dialect of one attribute-like word: it has no ops of its own and lets any
/// be written.
struct ExampleDialect : Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExampleDialect)

  explicit ExampleDialect(MLIRContext *context)
      : Dialect("example", context, TypeID::get<ExampleDialect>()) {
    allowUnknownOperations();
  }
  static StringRef getDialectNamespace() { return "example"; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "SdcExamplePlugin", "1",
          [] { PassRegistration<WidenPatternsPass>(); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {
      MLIR_PLUGIN_API_VERSION, "SdcExamplePlugin", "1",
      [](DialectRegistry *registry) { registry->insert<ExampleDialect>(); }};
}
