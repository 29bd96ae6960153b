// Reading weights by blocks of rows.

#include "compiler/Weights/WeightReader.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace sdc;

std::string sdc::resolveWeightPath(StringRef path, StringRef folder) {
  if (folder.empty() || llvm::sys::path::is_absolute(path))
    return path.str();
  SmallString<256> result = folder;
  llvm::sys::path::append(result, path);
  return result.str().str();
}

std::string sdc::weightFolderOf(ModuleOp module, StringRef given) {
  if (!given.empty())
    return given.str();
  if (auto loc = dyn_cast<FileLineColLoc>(module.getLoc()))
    return llvm::sys::path::parent_path(loc.getFilename().getValue()).str();
  return "";
}

static llvm::Error readerError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

static std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Expected<WeightReader> WeightReader::open(decode::WeightOp weight,
                                                StringRef folder) {
  WeightReader reader;
  RankedTensorType type = weight.getTensorType();
  decode::ViewAttr view = weight.getViewAttr();
  RankedTensorType storedType = view ? view.getStored() : type;

  if (type.getElementType().isF32() || type.getElementType().isF64())
    reader.rounding = ElementType::F32;
  else if (type.getElementType().isF16())
    reader.rounding = ElementType::F16;
  else if (type.getElementType().isBF16())
    reader.rounding = ElementType::BF16;
  else
    return readerError("expected a weight of f32, f16, bf16 or f64, got " +
                       printed(type.getElementType()));
  Type element = storedType.getElementType();
  if (element.isF32())
    reader.stored = Stored::F32;
  else if (element.isF16())
    reader.stored = Stored::F16;
  else if (element.isBF16())
    reader.stored = Stored::BF16;
  else if (element.isF64())
    reader.stored = Stored::F64;
  else
    return readerError("expected stored values of f32, f16, bf16 or f64, got " +
                       printed(element));

  reader.rounds = reader.rounding != ElementType::F32 &&
                  (element != type.getElementType() ||
                   isa<decode::RandomAttr>(weight.getSource()));

  reader.numColumns = type.getRank() == 0 ? 1 : type.getShape().back();
  reader.numRows =
      reader.numColumns == 0 ? 0 : type.getNumElements() / reader.numColumns;
  reader.storedColumns =
      storedType.getRank() == 0 ? 1 : storedType.getShape().back();
  if (view) {
    reader.transposed = view.getTransposed() && type.getRank() == 2;
    bool byRows = type.getRank() == 2 && !reader.transposed;
    reader.origin = view.getFirst() * (byRows ? reader.storedColumns : 1);
  }

  if (auto file = dyn_cast<decode::FileAttr>(weight.getSource())) {
    auto mapped = MappedRange::open(resolveWeightPath(file.getPath(), folder),
                                    file.getOffset(), file.getLength());
    if (!mapped)
      return mapped.takeError();
    reader.mapped = std::move(*mapped);
  } else if (auto random = dyn_cast<decode::RandomAttr>(weight.getSource())) {
    reader.random.emplace(random.getSeed(), weight.getSymName());
    bool vector = type.getRank() < 2;
    reader.randomScale =
        vector ? 1.0f / 16
               : 1.0f / std::sqrt(static_cast<float>(reader.numColumns));
    reader.randomShift = vector ? 1 : 0;
  } else if (auto elements =
                 dyn_cast<DenseIntOrFPElementsAttr>(weight.getSource())) {
    ArrayRef<char> raw = elements.getRawData();
    int64_t copies = elements.isSplat() ? elements.getNumElements() : 1;
    for (int64_t i = 0; i < copies; ++i)
      reader.owned.insert(reader.owned.end(), raw.begin(), raw.end());
  } else {
    return readerError("expected #decode.file, #decode.random or dense "
                       "elements as the source");
  }
  return reader;
}

void WeightReader::loadStored(int64_t element, int64_t count,
                              float *out) const {
  if (random)
    return random->fill(element, count, randomScale, randomShift, out);
  const uint8_t *bytes = owned.empty() ? mapped.bytes().data() : owned.data();
  switch (stored) {
  case Stored::F32:
    std::memcpy(out, bytes + 4 * element, 4 * static_cast<size_t>(count));
    return;
  case Stored::F16:
    return loadValues(ElementType::F16, bytes + 2 * element, count, out);
  case Stored::BF16:
    return loadValues(ElementType::BF16, bytes + 2 * element, count, out);
  case Stored::F64:
    for (int64_t i = 0; i < count; ++i) {
      double value;
      std::memcpy(&value, bytes + 8 * (element + i), sizeof value);
      out[i] = static_cast<float>(value);
    }
    return;
  }
}

void WeightReader::readTransposed(int64_t first, int64_t count, float *out,
                                  int64_t stride) const {
  // Tiles of 16 rows of the source by 256 of its columns: 16 KiB of floats
  // that are written as columns of `out`.
  constexpr int64_t kTileColumns = 256, kTileRows = 16;
  float tile[kTileRows][kTileColumns];
  for (int64_t r = 0; r < count; r += kTileColumns) {
    int64_t width = std::min(kTileColumns, count - r);
    for (int64_t k = 0; k < numColumns; k += kTileRows) {
      int64_t height = std::min(kTileRows, numColumns - k);
      for (int64_t i = 0; i < height; ++i)
        loadStored(origin + (k + i) * storedColumns + first + r, width,
                   tile[i]);
      for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < height; ++i)
          out[(r + j) * stride + k + i] = tile[i][j];
    }
  }
}

void WeightReader::readRows(int64_t first, int64_t count, float *out,
                            int64_t stride) const {
  if (transposed) {
    readTransposed(first, count, out, stride);
  } else {
    for (int64_t r = 0; r < count; ++r)
      loadStored(origin + (first + r) * numColumns, numColumns,
                 out + r * stride);
    int64_t width = stored == Stored::F64 ? 8 : stored == Stored::F32 ? 4 : 2;
    mapped.drop(width * (origin + first * numColumns),
                width * (origin + (first + count) * numColumns));
  }
  if (!rounds)
    return;
  for (int64_t r = 0; r < count; ++r)
    roundValues(rounding, out + r * stride, numColumns, out + r * stride);
}

uint64_t WeightReader::digest() const {
  // 4 MiB at a time: the digest is that of one stream.
  int64_t step = std::max<int64_t>(1, (int64_t(1) << 20) /
                                          std::max<int64_t>(1, numColumns));
  std::vector<float> block(static_cast<size_t>(step * numColumns));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int64_t r = 0; r < numRows; r += step) {
    int64_t count = std::min(step, numRows - r);
    readRows(r, count, block.data(), numColumns);
    XXH3_64bits_update(&state, block.data(),
                       sizeof(float) * static_cast<size_t>(count * numColumns));
  }
  return XXH3_64bits_digest(&state);
}
