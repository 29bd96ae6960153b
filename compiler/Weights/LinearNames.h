// The names of linears, and the keys of their inputs in a calibration file. A
// linear is named after the symbol of its weight.

#ifndef SDC_COMPILER_WEIGHTS_LINEARNAMES_H
#define SDC_COMPILER_WEIGHTS_LINEARNAMES_H

#include "dialects/Decode/DecodeDialect.h"

#include <string>

namespace sdc {

/// The load that `weight`, an operand of a linear, comes from; null if it does
/// not.
decode::LoadOp loadOf(mlir::Value weight);

/// `layers.7.attn_in` for the input of `layers.7.q`, `head_in` for `head`'s;
/// empty for a linear outside the layers, whose key counts.
std::string recordKeyOf(llvm::StringRef linear);

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_LINEARNAMES_H
