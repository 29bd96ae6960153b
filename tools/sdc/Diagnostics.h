// Prints diagnostics as the driver's messages:
//   model.onnx:node: error: what, expected, got
//   hint: what to do

#ifndef SDC_TOOLS_SDC_DIAGNOSTICS_H
#define SDC_TOOLS_SDC_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace sdc {

/// Prints every diagnostic of `context` on stderr while it lives.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext &context);
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_DIAGNOSTICS_H
