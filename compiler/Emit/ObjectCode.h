// From kernels in MLIR to machine code, in this process: the conversion to the
// llvm dialect, LLVM's optimizer and its code generator. The result depends on
// the module and the level alone, never on this machine.

#ifndef SDC_COMPILER_EMIT_OBJECTCODE_H
#define SDC_COMPILER_EMIT_OBJECTCODE_H

#include "kernels/Cpu/CpuLevel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sdc {

/// What the functions below need in a context beside the dialects of kernels.
void registerObjectCodeDialects(mlir::DialectRegistry &registry);

/// Converts scf, arith, vector, cf and func to the llvm dialect, in place.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

enum class CodeForm {
  /// An ELF relocatable object.
  Object,
  /// Assembly text.
  Assembly,
  /// LLVM IR text, after optimization.
  LLVM
};

/// Generates code for a module in the llvm dialect.
llvm::Expected<llvm::SmallVector<char, 0>>
emitCode(mlir::ModuleOp module, CpuLevel level, CodeForm form);

/// The same for a module as LLVM IR text.
llvm::Expected<llvm::SmallVector<char, 0>>
emitCodeFromText(llvm::StringRef text, CpuLevel level, CodeForm form);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_OBJECTCODE_H
