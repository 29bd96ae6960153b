// Ranges of files and small attributes as bytes; see WeightBytes.h.

#include "compiler/Emit/WeightBytes.h"
#include "compiler/Weights/MappedRange.h"
#include "compiler/Weights/WeightReader.h"
#include "dialects/Decode/DecodeDialect.h"

using namespace mlir;
using namespace llvm;

namespace sdc {

constexpr int64_t kPieceBytes = 4 << 20;

/// The bytes of an attribute, which holds one element where all are equal.
static std::vector<uint8_t> elementBytesOf(DenseElementsAttr elements) {
  ArrayRef<char> raw = elements.getRawData();
  auto count = elements.isSplat() ? elements.getNumElements() : 1;
  std::vector<uint8_t> bytes;
  bytes.reserve(raw.size() * count);
  for (int64_t i = 0; i < count; ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

std::string weightBytesProblem(exec::WeightOp weight) {
  int64_t size = weight.getSize(), has = -1;
  if (auto file = dyn_cast<decode::FileAttr>(weight.getSource())) {
    has = file.getLength();
  } else if (auto elements = dyn_cast<DenseElementsAttr>(weight.getSource())) {
    if (elements.getElementType().isInteger(1))
      return "bits have no bytes of their own";
    has = elements.getNumElements() *
          (elements.getElementType().getIntOrFloatBitWidth() / 8);
  }
  if (weight.getView() || has < 0)
    return "has no bytes that can be copied; pack-weights gives it some";
  if (has != size)
    return "takes " + std::to_string(size) + " bytes, its source has " +
           std::to_string(has);
  return "";
}

Error streamWeight(exec::WeightOp weight, StringRef folder,
                   llvm::function_ref<Error(ArrayRef<uint8_t>)> take) {
  if (auto elements = dyn_cast<DenseElementsAttr>(weight.getSource()))
    return take(elementBytesOf(elements));
  auto file = cast<decode::FileAttr>(weight.getSource());
  Expected<MappedRange> mapped =
      MappedRange::open(resolveWeightPath(file.getPath(), folder),
                        file.getOffset(), file.getLength());
  if (!mapped)
    return mapped.takeError();
  ArrayRef<uint8_t> bytes = mapped->bytes();
  for (int64_t first = 0, size = file.getLength(); first < size;
       first += kPieceBytes) {
    int64_t length = std::min(kPieceBytes, size - first);
    if (Error error = take(bytes.slice(first, length)))
      return error;
    mapped->drop(first, first + length);
  }
  return Error::success();
}

} // namespace sdc
