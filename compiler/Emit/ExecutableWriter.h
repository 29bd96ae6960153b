// Writes a planned module as an executable: code for every level, the root,
// and the segments, whose bytes stream from where the module names them.
//
// What it refuses: weights that are not bytes yet (pack makes them so), and to
// leave anything under the final name that is not the whole file.

#ifndef SDC_COMPILER_EMIT_EXECUTABLEWRITER_H
#define SDC_COMPILER_EMIT_EXECUTABLEWRITER_H

#include "kernels/Cpu/CpuLevel.h"
#include "kernels/Spec/KernelSpec.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// How the file came to be; see the schema's table of that name.
struct ProvenanceInfo {
  std::string tool;
  std::vector<std::string> flags;
  std::string modelDigest, calibrationDigest;
  /// Decode, prompt, first; empty without a calibration.
  std::vector<int64_t> positions;
  std::vector<std::string> notes;
};

struct EmitOptions {
  /// Where the file goes. What has the name is replaced at the end.
  std::string path;
  /// Where relative paths of weights start; empty: as weightFolderOf says.
  std::string folder;
  /// Levels of code, from the least to the most capable one.
  std::vector<CpuLevel> levels = {CpuLevel::Avx2, CpuLevel::Avx512Vbmi2};
  /// The FlatBuffer of schema/text.fbs; empty for none.
  llvm::ArrayRef<uint8_t> text;
  /// Write a relocatable object that holds the executable and its code, and
  /// beside it the header that declares it; see StaticObject.h.
  bool object = false;
  /// Without one the file has no provenance, unless the module has.
  std::optional<ProvenanceInfo> provenance;
  unsigned threads = 1;
  /// Told of bytes of weights written so far and of all.
  std::function<void(int64_t, int64_t)> progress;
};

struct EmitReport {
  /// Of the executable, or of the object around it.
  int64_t fileSize = 0;
  int64_t rootSize = 0;
  int64_t weightBytes = 0;
  int64_t codeBytes = 0;
  int64_t textBytes = 0;
  /// XXH3-64 of the root.
  uint64_t digest = 0;
};

/// Writes the executable. The module gains what the file has beyond it: images,
/// their segments, provenance. All problems of the module are in the error.
llvm::Expected<EmitReport> emitExecutable(mlir::ModuleOp module,
                                          const EmitOptions &options);

/// The report that emitExecutable would give, without a digest. Reads no weight
/// and writes nothing, but compiles the code, whose size is not known before.
/// The module gains the same ops.
llvm::Expected<EmitReport> planExecutable(mlir::ModuleOp module,
                                          const EmitOptions &options);

/// The kernels of a module, in their order.
llvm::Expected<std::vector<KernelSpec>> kernelSpecs(mlir::ModuleOp module);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_EXECUTABLEWRITER_H
