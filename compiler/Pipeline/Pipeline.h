// The walk: which passes run in which phase, and in which order. Import makes
// the module and emit writes the file; the phases between are passes.

#ifndef SDC_COMPILER_PIPELINE_PIPELINE_H
#define SDC_COMPILER_PIPELINE_PIPELINE_H

#include "compiler/Lower/LowerPipeline.h"
#include "compiler/Pack/PackWeights.h"
#include "compiler/Pipeline/Phase.h"
#include "compiler/Prune/PruneWeights.h"
#include "compiler/Raise/Raise.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

#include <string>
#include <utility>
#include <vector>

namespace sdc {

/// All that the phases need to know.
struct PipelineOptions {
  RaiseOptions raise;
  /// A recording build: weights stay as they are, marks stay, and each marked
  /// value is materialised.
  bool recording = false;
  PruneWeightsPassOptions prune;
  PruneHooks pruneHooks;
  PackWeightsPassOptions pack;
  PackHooks packHooks;
  LowerOptions lower;
  /// Passes to add at the end of a phase, in textual form.
  std::vector<std::pair<Phase, std::string>> added;
  /// Folder that gets the text of the module after every phase; may be empty.
  std::string dumpFolder;
  /// Folder that relative paths in the module start from.
  std::string modelFolder;
  bool timing = false;
};

/// Adds the passes of one phase. Import and emit have none.
void buildPhase(mlir::OpPassManager &manager, Phase phase,
                const PipelineOptions &options);

/// Runs the phases `from` to `to`, both included. `module` is what the phase
/// before `from` left. Problems are diagnostics.
mlir::LogicalResult runPhases(mlir::ModuleOp module, Phase from, Phase to,
                              const PipelineOptions &options);

/// Writes the text of a module to `path`. Relative paths in it start from
/// `modelFolder`; in the text they start from the folder of `path`, but for
/// stdout ("-"), where they stay as they are.
/// The file appears under its name only when it is whole.
llvm::Error writeModule(mlir::ModuleOp module, llvm::StringRef modelFolder,
                        llvm::StringRef path);

/// Registers `--sdc-raise`, `--sdc-record`, ... : each phase with its default
/// options as a pipeline of sdc-opt.
void registerPhasePipelines();

} // namespace sdc

#endif // SDC_COMPILER_PIPELINE_PIPELINE_H
