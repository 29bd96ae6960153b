// A compile from the command line's point of view: import, the phases, emit,
// and what is around them (defaults, text, dependencies, provenance).

#ifndef SDC_TOOLS_SDC_COMPILE_H
#define SDC_TOOLS_SDC_COMPILE_H

#include "compiler/Emit/ExecutableWriter.h"
#include "compiler/Emit/PrunedOnnx.h"
#include "compiler/Pipeline/Pipeline.h"
#include "tools/sdc/CompileOptions.h"
#include "tools/sdc/Diagnostics.h"
#include "tools/sdc/ModelFolder.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace sdc {

class Compilation {
public:
  /// Problems are printed as they are met; functions then give false.
  explicit Compilation(const CompileOptions &options);
  ~Compilation();

  /// A recording build: dense, marks materialised, logits of all rows.
  void setRecording();
  /// A weight, by symbol, whose values come from elsewhere: "layers.0.q" from a
  /// row-major f32 file range. For `sdc verify`.
  void setWeightSource(const std::string &name, const std::string &file,
                       int64_t offset);

  /// Imports the model, or reads the text that --compile-from begins with.
  bool load();
  /// Runs the phases up to and including `last`, at most plan.
  bool run(Phase last);
  /// Writes the executable, or what --emit asks for, to `path`.
  bool emit(const std::string &path);
  /// Writes the module's text.
  bool writeText(const std::string &path);
  bool writeDepfile(const std::string &path, const std::string &target);

  mlir::ModuleOp module() { return *moduleRef; }
  /// The files that were read so far.
  const std::vector<std::string> &files() const { return inputs; }
  const ModelFolder &model() const { return folder; }
  int64_t context() const { return contextLength; }
  /// Bytes of the executable, once it is planned.
  uint64_t plannedBytes() const { return bytes; }
  const std::vector<PruneEntry> &pruned() const { return prunedEntries; }

private:
  bool choosePattern();
  bool chooseContext();
  std::string spoolFolder() const;
  bool openSpool();
  bool checkRoom(Phase last);
  bool loadText();
  bool describeCalibration(ProvenanceInfo &info);
  bool emitText(const std::string &path);
  bool emitOnnx(const std::string &path);
  PipelineOptions pipelineOptions();
  std::vector<std::string> provenanceFlags() const;
  void applyWeightSources();

  struct WeightSource {
    std::string name, file;
    int64_t offset;
  };

  CompileOptions options;
  ModelFolder folder;
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::unique_ptr<DiagnosticPrinter> printer;
  mlir::OwningOpRef<mlir::ModuleOp> moduleRef;
  std::shared_ptr<Spool> spool;
  std::vector<PruneEntry> prunedEntries;
  std::vector<WeightSource> weightSources;
  std::vector<std::string> inputs;
  std::vector<std::string> notes;
  /// Where weights were before they were pruned, for --emit onnx.
  std::vector<WeightOrigin> origins;
  std::vector<uint8_t> text;
  std::string pattern;
  Phase nextPhase = Phase::Raise;
  int64_t contextLength = 0;
  uint64_t bytes = 0;
  bool recording = false;
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_COMPILE_H
