// sdc compile: a model goes through the rooms of the compiler.

#include "compiler/Import/OnnxImporter.h"
#include "tools/sdc/Diagnostics.h"
#include "tools/sdc/Verbs.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

int sdc::compile(const CompileOptions &options) {
  MLIRContext context;
  DiagnosticPrinter printer(context);
  ImportOptions import;
  import.sizes.batch = options.batch;
  import.sizes.prefillChunk = options.prefillChunk;
  import.weightsDir = options.weightsDir;
  import.randomSeed = options.randomSeed;
  FailureOr<OwningOpRef<ModuleOp>> module =
      importOnnx(options.model, import, context);
  if (failed(module))
    return 1;
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(options.output, &message);
  if (!output) {
    llvm::errs() << "sdc: error: " << message << "\n";
    return 1;
  }
  (*module)->print(output->os());
  output->os() << "\n";
  output->keep();
  return 0;
}
