// The pass emit-executable: ExecutableWriter for sdc-opt.

#include "compiler/Emit/ExecutableWriter.h"
#include "compiler/Passes.h"
#include "dialects/Exec/ExecDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_EMITEXECUTABLEPASS
#include "compiler/Passes.h.inc"

namespace {

struct EmitExecutablePass : impl::EmitExecutablePassBase<EmitExecutablePass> {
  using EmitExecutablePassBase::EmitExecutablePassBase;

  void runOnOperation() override {
    if (failed(emit()))
      signalPassFailure();
  }

  LogicalResult emit() {
    ModuleOp module = getOperation();
    EmitOptions emit;
    emit.path = output;
    emit.folder = folder;
    emit.threads = threads;
    if (!levels.empty())
      emit.levels.clear();
    for (const std::string &name : levels) {
      std::optional<CpuLevel> level = parseCpuLevel(name);
      if (!level)
        return module.emitError("no CPU level '")
               << name << "', expected avx2 or avx512vbmi2";
      emit.levels.push_back(*level);
    }
    if (emit.path.empty() && !dryRun)
      return module.emitError("expected the option output=FILE");

    std::unique_ptr<llvm::MemoryBuffer> bytes;
    if (!text.empty()) {
      auto file = llvm::MemoryBuffer::getFile(text, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
      if (!file)
        return module.emitError(text) << ": " << file.getError().message();
      bytes = std::move(*file);
      emit.text = llvm::arrayRefFromStringRef(bytes->getBuffer());
    }

    llvm::Expected<EmitReport> report =
        dryRun ? planExecutable(module, emit) : emitExecutable(module, emit);
    if (!report)
      return module.emitError(toString(report.takeError()));
    remark::passed(module.getLoc(),
                   remark::RemarkOpts::name("executable").category("emit"))
        << remark::metric("bytes", report->fileSize)
        << remark::metric("root", report->rootSize)
        << remark::metric("weights", report->weightBytes)
        << remark::metric("code", report->codeBytes);
    return success();
  }
};

} // namespace
} // namespace sdc
