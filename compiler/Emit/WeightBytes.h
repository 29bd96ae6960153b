// The bytes of an exec.weight, piece by piece, from where it names them.

#ifndef SDC_COMPILER_EMIT_WEIGHTBYTES_H
#define SDC_COMPILER_EMIT_WEIGHTBYTES_H

#include "dialects/Exec/ExecDialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace sdc {

/// Empty if the bytes of `weight` can be copied as they are, else what hinders:
/// it is a view, a random stream, or of another length.
std::string weightBytesProblem(exec::WeightOp weight);

/// Hands the bytes to `take` in pieces of at most 4 MiB, in order. Mapped
/// pages are given back piece by piece.
llvm::Error
streamWeight(exec::WeightOp weight, llvm::StringRef folder,
             llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t>)> take);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_WEIGHTBYTES_H
