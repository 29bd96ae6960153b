// ONNX element types, shapes and stored tensors as MLIR types and attributes.

#include "compiler/Import/OnnxTypes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sdc;
using onnx::TensorProto;

Type sdc::convertElementType(int dataType, MLIRContext &context) {
  Builder builder(&context);
  switch (dataType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::FLOAT16:
    return builder.getF16Type();
  case TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case TensorProto::BOOL:
    return builder.getI1Type();
  case TensorProto::INT8:
    return builder.getIntegerType(8);
  case TensorProto::INT16:
    return builder.getIntegerType(16);
  case TensorProto::INT32:
    return builder.getIntegerType(32);
  case TensorProto::INT64:
    return builder.getIntegerType(64);
  case TensorProto::UINT8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case TensorProto::UINT16:
    return builder.getIntegerType(16, /*isSigned=*/false);
  case TensorProto::UINT32:
    return builder.getIntegerType(32, /*isSigned=*/false);
  case TensorProto::UINT64:
    return builder.getIntegerType(64, /*isSigned=*/false);
  default:
    return {};
  }
}

std::string sdc::nameDataType(int dataType) {
  if (!onnx::TensorProto_DataType_IsValid(dataType))
    return "data type " + std::to_string(dataType);
  const std::string &name = onnx::TensorProto_DataType_Name(
      static_cast<onnx::TensorProto_DataType>(dataType));
  return StringRef(name).lower();
}

StringRef sdc::hintForDataType(int dataType) {
  switch (dataType) {
  case TensorProto::INT4:
  case TensorProto::UINT4:
  case TensorProto::INT2:
  case TensorProto::UINT2:
    return "the model is quantized already; compile its float16, bfloat16 or "
           "float sibling";
  case TensorProto::FLOAT8E4M3FN:
  case TensorProto::FLOAT8E4M3FNUZ:
  case TensorProto::FLOAT8E5M2:
  case TensorProto::FLOAT8E5M2FNUZ:
  case TensorProto::FLOAT8E8M0:
  case TensorProto::FLOAT4E2M1:
  case TensorProto::FLOAT6E2M3:
  case TensorProto::FLOAT6E3M2:
    return "export the model in float16, bfloat16 or float";
  default:
    return "";
  }
}

TensorType sdc::convertType(const onnx::TypeProto &type, MLIRContext &context) {
  if (!type.has_tensor_type())
    return {};
  Type element = convertElementType(type.tensor_type().elem_type(), context);
  if (!element)
    return {};
  if (!type.tensor_type().has_shape())
    return UnrankedTensorType::get(element);
  SmallVector<int64_t> shape;
  for (const auto &dim : type.tensor_type().shape().dim())
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                        ? dim.dim_value()
                        : ShapedType::kDynamic);
  return RankedTensorType::get(shape, element);
}

std::optional<int64_t> sdc::countElements(const TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  return count;
}

int64_t sdc::bytesPerElement(int dataType) {
  switch (dataType) {
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return 1;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  default:
    return 0;
  }
}

RankedTensorType sdc::convertType(const TensorProto &tensor,
                                  MLIRContext &context) {
  return RankedTensorType::get(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()),
      convertElementType(tensor.data_type(), context));
}

/// Appends the low `size` bytes of every value, least significant first.
template <typename Values>
static void appendBytes(const Values &values, int64_t size, std::string &out) {
  out.reserve(out.size() + values.size() * size);
  for (auto value : values) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    for (int64_t i = 0; i < size; ++i)
      out.push_back(static_cast<char>(bits >> (8 * i)));
  }
}

/// The values of a tensor as raw_data would hold them, whatever field they are
/// in. Which field may hold which type is said in onnx.proto.
static std::string collectBytes(const TensorProto &tensor) {
  if (tensor.has_raw_data())
    return tensor.raw_data();
  std::string bytes;
  int64_t size = bytesPerElement(tensor.data_type());
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    appendBytes(tensor.float_data(), size, bytes);
    break;
  case TensorProto::DOUBLE:
    appendBytes(tensor.double_data(), size, bytes);
    break;
  case TensorProto::INT64:
    appendBytes(tensor.int64_data(), size, bytes);
    break;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    appendBytes(tensor.uint64_data(), size, bytes);
    break;
  default:
    appendBytes(tensor.int32_data(), size, bytes);
    break;
  }
  return bytes;
}

llvm::Expected<DenseElementsAttr> sdc::convertTensor(const TensorProto &tensor,
                                                     MLIRContext &context) {
  int64_t size = bytesPerElement(tensor.data_type());
  if (size == 0)
    return llvm::createStringError(
        "data type " + nameDataType(tensor.data_type()) + " is not supported");
  std::optional<int64_t> count = countElements(tensor);
  if (!count)
    return llvm::createStringError("a dimension is negative or too large");
  std::string bytes = collectBytes(tensor);
  if (static_cast<int64_t>(bytes.size()) / size != *count ||
      bytes.size() % size != 0)
    return llvm::createStringError(
        "expected values of " + std::to_string(*count) + " x " +
        std::to_string(size) + " bytes, got " + std::to_string(bytes.size()));
  RankedTensorType type = convertType(tensor, context);
  if (tensor.data_type() == TensorProto::BOOL) {
    SmallVector<bool> values;
    for (char byte : bytes)
      values.push_back(byte != 0);
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(bytes.data(), bytes.size()));
}

llvm::Expected<Attribute>
sdc::convertAttribute(const onnx::AttributeProto &attribute,
                      MLIRContext &context) {
  Builder builder(&context);
  switch (attribute.type()) {
  case onnx::AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case onnx::AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case onnx::AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case onnx::AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(
        ArrayRef<float>(attribute.floats().data(), attribute.floats_size()));
  case onnx::AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        ArrayRef<int64_t>(attribute.ints().data(), attribute.ints_size()));
  case onnx::AttributeProto::STRINGS: {
    SmallVector<Attribute> strings;
    for (const std::string &string : attribute.strings())
      strings.push_back(builder.getStringAttr(string));
    return builder.getArrayAttr(strings);
  }
  case onnx::AttributeProto::TENSOR: {
    llvm::Expected<DenseElementsAttr> tensor =
        convertTensor(attribute.t(), context);
    if (!tensor)
      return tensor.takeError();
    return *tensor;
  }
  default:
    return llvm::createStringError(
        "attributes of kind " +
        onnx::AttributeProto_AttributeType_Name(attribute.type()) +
        " are not supported");
  }
}
