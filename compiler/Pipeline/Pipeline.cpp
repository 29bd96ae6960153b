// Which passes run in which phase, and why there.

#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Passes.h"
#include "compiler/Plan/PlanPipeline.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace sdc;

void sdc::buildPhase(OpPassManager &manager, Phase phase,
                     const PipelineOptions &options) {
  switch (phase) {
  case Phase::Import:
  case Phase::Emit:
    return;

  case Phase::Raise:
    // Meaning: generic nodes become a decoder, positions become run-time
    // values, and nothing depends on the past length any more.
    return buildRaisePipeline(manager, options.raise);

  case Phase::Record:
    // In every build, for the mark is the key to a linear's matrix.
    manager.addPass(createMarkRecordsPass());
    manager.addPass(createVerifyRecordedPass());
    return;

  case Phase::Prune:
    // A recording build is dense, and its marks become taps in lower.
    if (options.recording)
      return;
    // New values, and with them the end of the marks.
    manager.addPass(createPruneWeightsPass(options.prune, options.pruneHooks));
    manager.addPass(createVerifyPrunedPass());
    return;

  case Phase::Pack:
    // The bytes as kernels read them; from here on no weight changes.
    manager.addPass(createPackWeightsPass(options.pack, options.packHooks));
    manager.addPass(createVerifyPackedPass());
    return;

  case Phase::Lower:
    // Fusion, then kernels by name.
    return buildLowerPipeline(manager, options.lower);

  case Phase::Plan:
    // Last, as every buffer and every launch must be known.
    return buildPlanPipeline(manager);
  }
}

/// Adds what the command line wants at the end of `phase`.
static LogicalResult addPasses(PassManager &manager, Phase phase,
                               const PipelineOptions &options) {
  for (const auto &[where, pipeline] : options.added)
    if (where == phase) {
      std::string problem;
      llvm::raw_string_ostream os(problem);
      if (failed(parsePassPipeline(pipeline, manager, os)))
        return emitError(UnknownLoc::get(manager.getContext()))
               << "passes added to " << phaseName(phase) << ": " << problem;
    }
  return success();
}

static LogicalResult dump(ModuleOp module, Phase phase,
                          const PipelineOptions &options) {
  if (options.dumpFolder.empty())
    return success();
  SmallString<128> path(options.dumpFolder);
  std::string name;
  llvm::raw_string_ostream(name)
      << llvm::format("%02u-", static_cast<unsigned>(phase) + 1)
      << phaseName(phase) << ".mlir";
  llvm::sys::path::append(path, name);
  if (llvm::Error error = writeModule(module, options.modelFolder, path))
    return emitError(UnknownLoc::get(module.getContext()))
           << llvm::toString(std::move(error));
  return success();
}

LogicalResult sdc::runPhases(ModuleOp module, Phase from, Phase to,
                             const PipelineOptions &options) {
  if (!options.dumpFolder.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpFolder))
      return emitError(UnknownLoc::get(module.getContext()))
             << options.dumpFolder << ": " << error.message();
  for (auto p = static_cast<unsigned>(from); p <= static_cast<unsigned>(to);
       ++p) {
    auto phase = static_cast<Phase>(p);
    PassManager manager(module.getContext(), ModuleOp::getOperationName());
    buildPhase(manager, phase, options);
    if (failed(addPasses(manager, phase, options)))
      return failure();
    if (options.timing)
      manager.enableTiming();
    if (failed(manager.run(module)) || failed(dump(module, phase, options)))
      return failure();
  }
  return success();
}

void sdc::registerPhasePipelines() {
  for (unsigned p = 0; p < kNumPhases; ++p) {
    auto phase = static_cast<Phase>(p);
    // Raise has a pipeline with options of its own.
    if (phase == Phase::Import || phase == Phase::Raise || phase == Phase::Emit)
      continue;
    PassPipelineRegistration<>(
        ("sdc-" + phaseName(phase)).str(),
        ("The passes of the phase " + phaseName(phase)).str(),
        [phase](OpPassManager &manager) {
          PipelineOptions options;
          buildPhase(manager, phase, options);
        });
  }
  registerRaisePipeline();
}
