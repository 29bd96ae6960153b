// What one linear launch computes: norms and row choice in front of the
// products, activation, gate and residual behind them. Fusion lengthens a chain
// step by step; lowering turns it into a kernel.

#ifndef SDC_COMPILER_LOWER_LINEARCHAIN_H
#define SDC_COMPILER_LOWER_LINEARCHAIN_H

#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"

namespace sdc {

///   x -> [norm, last_row in any order] -> linears -> [gate | activate] ->
///   [add]
///
/// There are several linears without anything behind them, or two with a gate,
/// or one.
struct LinearChain {
  /// The op or group that is the launch.
  mlir::Operation *launch = nullptr;
  /// What the first of the ops reads.
  mlir::Value x;
  /// `decode.rms_norm` or `decode.layer_norm`; null without one.
  mlir::Operation *norm = nullptr;
  decode::LastRowOp lastRow;
  llvm::SmallVector<nm::LinearOp> linears;
  decode::GateOp gate;
  decode::ActivateOp activate;
  /// `arith.addf`, with the value that is not the chain's; null without one.
  mlir::Operation *add = nullptr;
  mlir::Value residual;

  /// The last value of each linear's branch, inside the launch.
  llvm::SmallVector<mlir::Value> outputs;

  /// Whether something follows the linears already.
  bool hasTail() const { return gate || activate || add; }
};

/// The chain of a lone `nm.linear` or of a group; fails for other ops.
mlir::FailureOr<LinearChain> matchLinearChain(mlir::Operation *launch);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_LINEARCHAIN_H
