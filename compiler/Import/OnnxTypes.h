// ONNX element types, shapes and stored tensors as MLIR types and attributes.

#ifndef SDC_COMPILER_IMPORT_ONNXTYPES_H
#define SDC_COMPILER_IMPORT_ONNXTYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace sdc {

/// The element type of an ONNX data type; null if it is not supported.
/// Signed integers and bool are signless, unsigned integers are unsigned.
mlir::Type convertElementType(int dataType, mlir::MLIRContext &context);

/// "float16", or "data type 77".
std::string nameDataType(int dataType);

/// What to do about an unsupported data type, or nothing.
llvm::StringRef hintForDataType(int dataType);

/// The tensor type of a value: symbolic dimensions are `?`, a missing shape
/// gives an unranked tensor. Null if it is not a tensor of a supported type.
mlir::TensorType convertType(const onnx::TypeProto &type,
                             mlir::MLIRContext &context);

/// The number of elements of a stored tensor; nothing if a dimension is
/// negative or the product does not fit.
std::optional<int64_t> countElements(const onnx::TensorProto &tensor);

/// The bytes that one element takes in a file; 0 if the type is not supported.
int64_t bytesPerElement(int dataType);

/// The type of a stored tensor of a supported data type.
mlir::RankedTensorType convertType(const onnx::TensorProto &tensor,
                                   mlir::MLIRContext &context);

/// The values of a tensor that is stored inside the model, bit for bit.
llvm::Expected<mlir::DenseElementsAttr>
convertTensor(const onnx::TensorProto &tensor, mlir::MLIRContext &context);

/// An attribute of a node. Null if its kind is not supported.
llvm::Expected<mlir::Attribute>
convertAttribute(const onnx::AttributeProto &attribute,
                 mlir::MLIRContext &context);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXTYPES_H
