// Finding the bytes of tensors.

#include "compiler/Emit/OnnxTensors.h"

#include "compiler/Import/OnnxTypes.h"
#include "compiler/Import/OnnxWire.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sdc;

namespace {

llvm::Error tensorError(const onnx::TensorProto &tensor,
                        const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "tensor '" + tensor.name() + "': " + what);
}

class RangeFinder {
public:
  explicit RangeFinder(llvm::StringRef path)
      : path(path), folder(llvm::sys::path::parent_path(path)) {}

  llvm::Error graph(onnx::GraphProto &graph, bool top,
                    std::vector<OnnxTensorRange> &out);

private:
  llvm::Error tensor(onnx::TensorProto &tensor, bool initializer,
                     std::vector<OnnxTensorRange> &out);

  std::string path;
  std::string folder;
};

} // namespace

llvm::Error RangeFinder::tensor(onnx::TensorProto &tensor, bool initializer,
                                std::vector<OnnxTensorRange> &out) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
    return llvm::Error::success();
  OnnxTensorRange range;
  range.tensor = &tensor;
  range.initializer = initializer;
  bool inModel = false;
  llvm::StringRef location;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    llvm::StringRef key = entry.key(), value = entry.value();
    bool bad = false;
    if (key == kInModelFile)
      inModel = true;
    else if (key == "location")
      location = value;
    else if (key == "offset")
      bad = value.getAsInteger(10, range.offset);
    else if (key == "length")
      bad = value.getAsInteger(10, range.length);
    if (bad)
      return tensorError(tensor, key + " '" + value + "' is no integer");
  }
  range.file = path;
  if (!inModel) {
    llvm::SmallString<256> file = llvm::StringRef(folder);
    llvm::sys::path::append(file, location);
    range.file = file.str().str();
  }
  if (range.length == 0) {
    // Without a length the tensor takes what its shape needs.
    range.length = bytesPerElement(tensor.data_type());
    for (int64_t size : tensor.dims())
      range.length *= size;
  }
  out.push_back(std::move(range));
  return llvm::Error::success();
}

llvm::Error RangeFinder::graph(onnx::GraphProto &graph, bool top,
                               std::vector<OnnxTensorRange> &out) {
  for (onnx::TensorProto &initializer : *graph.mutable_initializer())
    if (llvm::Error error = tensor(initializer, top, out))
      return error;
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        if (llvm::Error error = tensor(*attribute.mutable_t(), false, out))
          return error;
      if (attribute.has_g())
        if (llvm::Error error = this->graph(*attribute.mutable_g(), false, out))
          return error;
    }
  return llvm::Error::success();
}

llvm::Expected<OnnxTensors> OnnxTensors::read(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   path + ": " + buffer.getError().message());
  llvm::Expected<std::string> slim = slimModel((*buffer)->getBuffer(), 0);
  if (!slim)
    return slim.takeError();
  OnnxTensors result;
  result.model = std::make_unique<onnx::ModelProto>();
  if (!result.model->ParseFromString(*slim))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   path + ": not an ONNX model");
  RangeFinder finder(path);
  if (llvm::Error error =
          finder.graph(*result.model->mutable_graph(), true, result.ranges))
    return std::move(error);
  return result;
}
