// The linears of a module as a calibration file describes them: for writing
// one, and for checking that one belongs to a model.

#ifndef SDC_COMPILER_RECORD_MODELLINEARS_H
#define SDC_COMPILER_RECORD_MODELLINEARS_H

#include "compiler/Record/Calibration.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace sdc {

/// The linears of a module with its marks, in program order of its first entry
/// and each weight once. Reads every weight for its fingerprint, a few at a
/// time. Errors name the linear.
llvm::Expected<std::vector<RecordedLinear>>
describeLinears(mlir::ModuleOp module, llvm::StringRef folder,
                unsigned threads);

} // namespace sdc

#endif // SDC_COMPILER_RECORD_MODELLINEARS_H
