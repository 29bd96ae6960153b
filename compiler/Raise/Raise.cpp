// The pipeline of the room, pass by pass.

#include "compiler/Raise/Raise.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace sdc;

void sdc::buildRaisePipeline(OpPassManager &manager,
                             const RaiseOptions &options) {
  // Raised operations read the positions and slots of their rows.
  manager.addPass(createOpenEntriesPass());
  // Shapes over P make all types but those over P static.
  manager.addPass(createFoldShapesPass());
  // One float type for activations: patterns need not look through casts.
  manager.addPass(createPromoteFloatsPass());
  // Linears end the walks of the patterns that follow, so they come first.
  manager.addPass(createRaiseEmbedPass({options.context}));
  manager.addPass(createRaiseLinearPass());
  manager.addPass(createRaiseRmsNormPass());
  manager.addPass(createRaiseLayerNormPass());
  manager.addPass(createRaiseGatePass());
  // All that is added up is raised by now, but for rotations.
  manager.addPass(createRaiseResidualPass());
  // Attention reads rotated heads.
  manager.addPass(createRaiseRotaryPass({options.folder}));
  manager.addPass(createRaiseAttentionPass({options.context, options.folder}));
  // The heads of an attention are the rows of a linear, whatever lies between.
  manager.addPass(createRaiseMovesPass());
  manager.addPass(createRaiseEntriesPass({options.allLogits}));
  // The rest is for one text whatever the exporter: each value once, one
  // order, names by position, no locations.
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createOrderEntriesPass());
  manager.addPass(createNameWeightsPass());
  manager.addPass(createVerifyRaisedPass());
  manager.addPass(createStripDebugInfoPass());
}

namespace {
struct RaisePipelineOptions : public PassPipelineOptions<RaisePipelineOptions> {
  Option<int64_t> context{*this, "context",
                          llvm::cl::desc("Positions of a cache"),
                          llvm::cl::init(4096)};
  Option<bool> allLogits{*this, "all-logits",
                         llvm::cl::desc("Logits of every row of a prefill"),
                         llvm::cl::init(false)};
  Option<std::string> folder{
      *this, "folder",
      llvm::cl::desc("The folder to which paths in the IR are relative")};
};
} // namespace

void sdc::registerRaisePipeline() {
  PassPipelineRegistration<RaisePipelineOptions>(
      "raise", "Generic ONNX nodes to decode operations",
      [](OpPassManager &manager, const RaisePipelineOptions &options) {
        buildRaisePipeline(
            manager, {options.context, options.allLogits, options.folder});
      });
}
