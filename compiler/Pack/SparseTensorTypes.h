// What !nm.packed and sparse_tensor can both say of a weight: N of every M
// along K, as the encoding
//
//   map = (r, k) -> (r : dense, k floordiv M : dense, k mod M : structured[N, M])
//
// sparse_tensor knows no tile and no stored zeros beyond what N demands; nm no
// K that is no multiple of M in this form, since its last group would differ.

#ifndef SDC_COMPILER_PACK_SPARSETENSORTYPES_H
#define SDC_COMPILER_PACK_SPARSETENSORTYPES_H

#include "dialects/NM/NMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace sdc {

/// The tensor with that encoding; null if there is none (a dense pattern, a K
/// that is no multiple of M).
mlir::RankedTensorType toSparseTensor(nm::PackedType type);

/// The packed type of a tensor with that encoding, in the tile `tile`, or, if
/// that is empty, in the one that kernels/Select chooses; null if `type` is
/// another tensor.
nm::PackedType fromSparseTensor(mlir::RankedTensorType type,
                                llvm::StringRef tile);

/// Makes functions, calls and returns follow a change of types, and every op
/// illegal whose types are not those of `converter`.
void addTypeConversion(mlir::TypeConverter &converter,
                       mlir::RewritePatternSet &patterns,
                       mlir::ConversionTarget &target);

} // namespace sdc

#endif // SDC_COMPILER_PACK_SPARSETENSORTYPES_H
