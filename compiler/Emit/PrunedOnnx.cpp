// Writing the original graph with pruned weights.

#include "compiler/Emit/PrunedOnnx.h"

#include "compiler/Emit/OnnxTensors.h"
#include "compiler/Emit/OutputFile.h"
#include "compiler/Weights/WeightReader.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace mlir;
using namespace sdc;

std::vector<WeightOrigin> sdc::captureOrigins(ModuleOp module) {
  std::vector<WeightOrigin> origins;
  for (auto weight : module.getOps<decode::WeightOp>())
    origins.push_back({weight.getSymName().str(), weight.getSource(),
                       weight.getViewAttr(), weight.getTensorType()});
  return origins;
}

namespace {

llvm::Error onnxError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

/// Elements of at most this many bytes stay inside the model file.
constexpr int64_t kInlineBytes = 1024;
/// Weights of at most this many bytes may have become constants of the module.
constexpr int64_t kConstantBytes = int64_t(1) << 17;
/// As pages and as onnxruntime like it.
constexpr int64_t kAlignment = 4096;

/// Where a weight [rows, K] lies in a tensor: stored[first + r, k], or, when
/// transposed, stored[k, first + r].
struct Place {
  size_t tensor = 0;
  int64_t first = 0;
  bool transposed = false;
  int64_t storedColumns = 0;
};

/// New values for a part of a tensor.
struct Patch {
  const WeightOrigin *origin;
  decode::WeightOp weight;
  Place place;
};

/// The element types of ONNX that weights have, with their widths.
std::optional<int64_t> widthOf(int type) {
  switch (type) {
  case onnx::TensorProto::FLOAT:
    return 4;
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return 2;
  case onnx::TensorProto::DOUBLE:
    return 8;
  default:
    return std::nullopt;
  }
}

ElementType elementTypeOf(int type) {
  return type == onnx::TensorProto::FLOAT     ? ElementType::F32
         : type == onnx::TensorProto::FLOAT16 ? ElementType::F16
                                              : ElementType::BF16;
}

void load(int type, const uint8_t *bytes, int64_t count, float *out) {
  if (type != onnx::TensorProto::DOUBLE)
    return loadValues(elementTypeOf(type), bytes, count, out);
  for (int64_t i = 0; i < count; ++i) {
    double wide;
    std::memcpy(&wide, bytes + 8 * i, 8);
    out[i] = static_cast<float>(wide);
  }
}

void store(int type, const float *values, int64_t count, uint8_t *out) {
  if (type == onnx::TensorProto::DOUBLE) {
    for (int64_t i = 0; i < count; ++i) {
      double wide = values[i];
      std::memcpy(out + 8 * i, &wide, 8);
    }
    return;
  }
  storeValues(elementTypeOf(type), values, count, out);
}

/// The rows of the stored matrix that an origin reads.
std::pair<int64_t, int64_t> rowsOf(const WeightOrigin &origin) {
  int64_t first = origin.view ? origin.view.getFirst() : 0;
  int64_t rows = origin.type.getRank() ? origin.type.getDimSize(0) : 1;
  return {first, first + rows};
}

bool overlap(const WeightOrigin &a, const WeightOrigin &b) {
  auto [a0, a1] = rowsOf(a);
  auto [b0, b1] = rowsOf(b);
  return a0 < b1 && b0 < a1;
}

class Writer {
public:
  Writer(OnnxTensors tensors, ArrayRef<WeightOrigin> origins, ModuleOp pruned,
         StringRef folder)
      : tensors(std::move(tensors)), origins(origins), pruned(pruned),
        folder(folder), patches(this->tensors.ranges.size()) {}

  llvm::Error assign();
  llvm::Error write(StringRef output);

private:
  /// Where the patched bytes of a tensor go.
  using Put = llvm::function_ref<llvm::Error(int64_t, ArrayRef<uint8_t>)>;

  llvm::Expected<Place> find(const WeightOrigin &origin);
  llvm::Error findValues(const WeightOrigin &origin,
                         SmallVectorImpl<Place> &found);
  llvm::Error checkShared(const WeightOrigin &origin);
  llvm::Error patch(const OnnxTensorRange &range, const Patch &patch, Put put);
  llvm::Error writeTensor(size_t index, llvm::raw_pwrite_stream &data,
                          StringRef location);

  OnnxTensors tensors;
  ArrayRef<WeightOrigin> origins;
  ModuleOp pruned;
  std::string folder;
  std::vector<std::vector<Patch>> patches;
};

} // namespace

/// The tensor that a weight was read from: by its place in the file, or, where
/// the weight was small enough to be a constant, by its values, since constants
/// are folded.
llvm::Expected<Place> Writer::find(const WeightOrigin &origin) {
  SmallVector<Place> found;
  if (auto file = dyn_cast<decode::FileAttr>(origin.source)) {
    std::string path = resolveWeightPath(file.getPath(), folder);
    Place place;
    place.first = origin.view ? origin.view.getFirst() : 0;
    place.transposed = origin.view && origin.view.getTransposed();
    place.storedColumns = origin.view
                              ? origin.view.getStored().getShape().back()
                              : origin.type.getShape().back();
    for (auto [i, range] : llvm::enumerate(tensors.ranges)) {
      if (range.offset != file.getOffset() ||
          range.length != file.getLength() ||
          !llvm::sys::fs::equivalent(range.file, path))
        continue;
      place.tensor = i;
      found.push_back(place);
    }
  } else if (llvm::Error error = findValues(origin, found)) {
    return std::move(error);
  }
  if (found.size() == 1)
    return found.front();
  return onnxError(origin.name +
                   (found.empty()
                        ? ": the graph has no tensor of its own for the weight"
                        : ": several tensors of the graph have its values"));
}

/// All places where the values of a constant weight are.
llvm::Error Writer::findValues(const WeightOrigin &origin,
                               SmallVectorImpl<Place> &found) {
  // The origin as an op, to be read like any other weight.
  OpBuilder builder(pruned.getContext());
  OwningOpRef<decode::WeightOp> op = decode::WeightOp::create(
      builder, pruned.getLoc(), builder.getStringAttr(origin.name),
      TypeAttr::get(origin.type), origin.source, origin.view);
  llvm::Expected<WeightReader> reader = WeightReader::open(*op, folder);
  if (!reader)
    return onnxError(origin.name + ": " + toString(reader.takeError()));
  int64_t rows = reader->rows(), columns = reader->columns();
  std::vector<float> wanted(static_cast<size_t>(rows * columns));
  reader->readRows(0, rows, wanted.data(), columns);

  for (auto [i, range] : llvm::enumerate(tensors.ranges)) {
    const onnx::TensorProto &tensor = *range.tensor;
    std::optional<int64_t> width = widthOf(tensor.data_type());
    if (!width || tensor.dims_size() != 2 ||
        range.length != tensor.dims(0) * tensor.dims(1) * *width ||
        range.length < rows * columns * *width || range.length > kConstantBytes)
      continue;
    llvm::Expected<MappedRange> mapped =
        MappedRange::open(range.file, range.offset, range.length);
    if (!mapped)
      return mapped.takeError();
    std::vector<float> stored(
        static_cast<size_t>(tensor.dims(0) * tensor.dims(1)));
    load(tensor.data_type(), mapped->bytes().data(),
         static_cast<int64_t>(stored.size()), stored.data());
    for (bool transposed : {false, true}) {
      if (tensor.dims(transposed ? 0 : 1) != columns)
        continue;
      Place place{i, 0, transposed, tensor.dims(1)};
      auto at = [&](int64_t r, int64_t k) {
        int64_t row = place.first + r;
        return stored[static_cast<size_t>(transposed
                                              ? k * place.storedColumns + row
                                              : row * place.storedColumns + k)];
      };
      auto matches = [&] {
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t k = 0; k < columns; ++k)
            if (at(r, k) != wanted[static_cast<size_t>(r * columns + k)])
              return false;
        return true;
      };
      int64_t last = tensor.dims(transposed ? 1 : 0) - rows;
      for (; place.first <= last; ++place.first)
        if (matches()) {
          found.push_back(place);
          break;
        }
    }
  }
  return llvm::Error::success();
}

/// Fails if the pruned module still reads what `origin` was before.
llvm::Error Writer::checkShared(const WeightOrigin &origin) {
  for (auto weight : pruned.getOps<decode::WeightOp>()) {
    if (weight.getSource() != origin.source ||
        weight.getSymName() == origin.name)
      continue;
    WeightOrigin other{weight.getSymName().str(), weight.getSource(),
                       weight.getViewAttr(), weight.getTensorType()};
    if (overlap(origin, other))
      return onnxError(origin.name + ": its tensor is that of " + other.name +
                       " too, which was not pruned; leave it dense to write "
                       "this model as ONNX");
  }
  return llvm::Error::success();
}

llvm::Error Writer::assign() {
  SymbolTable symbols(pruned);
  llvm::Error error = llvm::Error::success();
  for (const WeightOrigin &origin : origins) {
    auto weight = symbols.lookup<decode::WeightOp>(origin.name);
    // Linears that were left as they are keep their source.
    if (!weight || weight.getSource() == origin.source)
      continue;
    llvm::Error shared = checkShared(origin);
    if (shared) {
      error = llvm::joinErrors(std::move(error), std::move(shared));
      continue;
    }
    llvm::Expected<Place> place = find(origin);
    if (place)
      patches[place->tensor].push_back({&origin, weight, *place});
    else
      error = llvm::joinErrors(std::move(error), place.takeError());
  }
  return error;
}

llvm::Error Writer::patch(const OnnxTensorRange &range, const Patch &patch,
                          Put put) {
  const std::string &name = patch.origin->name;
  int type = range.tensor->data_type();
  std::optional<int64_t> width = widthOf(type);
  if (!width)
    return onnxError(name + ": its tensor is of a type that can't take floats");
  llvm::Expected<WeightReader> reader =
      WeightReader::open(patch.weight, folder);
  if (!reader)
    return onnxError(name + ": " + toString(reader.takeError()));
  int64_t rows = reader->rows(), columns = reader->columns();
  auto [tensor, first, transposed, storedColumns] = patch.place;

  int64_t step = std::max<int64_t>(1, (int64_t(1) << 22) / columns);
  std::vector<float> block, turned;
  std::vector<uint8_t> bytes;
  for (int64_t r = 0; r < rows; r += step) {
    int64_t count = std::min(step, rows - r);
    block.resize(static_cast<size_t>(count * columns));
    reader->readRows(r, count, block.data(), columns);
    bytes.resize(static_cast<size_t>(count * columns * *width));
    if (!transposed) {
      store(type, block.data(), count * columns, bytes.data());
      if (llvm::Error error = put((first + r) * columns * *width, bytes))
        return error;
      continue;
    }
    turned.resize(block.size());
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < columns; ++k)
        turned[static_cast<size_t>(k * count + i)] =
            block[static_cast<size_t>(i * columns + k)];
    store(type, turned.data(), count * columns, bytes.data());
    for (int64_t k = 0; k < columns; ++k)
      if (llvm::Error error =
              put((k * storedColumns + first + r) * *width,
                  ArrayRef(bytes).slice(static_cast<size_t>(k * count * *width),
                                        static_cast<size_t>(count * *width))))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error Writer::writeTensor(size_t index, llvm::raw_pwrite_stream &data,
                                StringRef location) {
  const OnnxTensorRange &range = tensors.ranges[index];
  llvm::Expected<MappedRange> mapped =
      MappedRange::open(range.file, range.offset, range.length);
  if (!mapped)
    return mapped.takeError();
  onnx::TensorProto &tensor = *range.tensor;
  tensor.clear_external_data();
  ArrayRef<uint8_t> bytes = mapped->bytes();

  if (!range.initializer || range.length <= kInlineBytes) {
    tensor.clear_data_location();
    std::string &raw = *tensor.mutable_raw_data();
    raw.assign(bytes.begin(), bytes.end());
    for (const Patch &one : patches[index])
      if (llvm::Error error =
              patch(range, one, [&](int64_t at, ArrayRef<uint8_t> some) {
                std::memcpy(raw.data() + at, some.data(), some.size());
                return llvm::Error::success();
              }))
        return error;
    return llvm::Error::success();
  }

  uint64_t end = data.tell();
  data.write_zeros(
      static_cast<unsigned>((kAlignment - end % kAlignment) % kAlignment));
  uint64_t offset = data.tell();
  constexpr size_t kPiece = size_t(1) << 24;
  for (size_t first = 0; first < bytes.size(); first += kPiece) {
    ArrayRef<uint8_t> piece =
        bytes.slice(first, std::min(kPiece, bytes.size() - first));
    data.write(reinterpret_cast<const char *>(piece.data()), piece.size());
    mapped->drop(static_cast<int64_t>(first),
                 static_cast<int64_t>(first + piece.size()));
  }
  for (const Patch &one : patches[index])
    if (llvm::Error error =
            patch(range, one, [&](int64_t at, ArrayRef<uint8_t> some) {
              data.pwrite(reinterpret_cast<const char *>(some.data()),
                          some.size(), offset + static_cast<uint64_t>(at));
              return llvm::Error::success();
            }))
      return error;

  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto entry = [&](const char *key, const std::string &value) {
    onnx::StringStringEntryProto *made = tensor.add_external_data();
    made->set_key(key);
    made->set_value(value);
  };
  entry("location", location.str());
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(range.length));
  return llvm::Error::success();
}

llvm::Error Writer::write(StringRef output) {
  std::string dataPath = (output + ".data").str();
  llvm::Expected<std::unique_ptr<OutputFile>> dataFile =
      OutputFile::create(dataPath, 0);
  if (!dataFile)
    return dataFile.takeError();
  llvm::Expected<std::unique_ptr<OutputFile>> modelFile =
      OutputFile::create(output, 0);
  if (!modelFile)
    return modelFile.takeError();

  llvm::raw_fd_ostream data((*dataFile)->descriptor(), /*shouldClose=*/false);
  StringRef location = llvm::sys::path::filename(dataPath);
  for (size_t i = 0; i < tensors.ranges.size(); ++i)
    if (llvm::Error error = writeTensor(i, data, location)) {
      data.clear_error();
      return error;
    }
  data.flush();
  llvm::raw_fd_ostream model((*modelFile)->descriptor(), /*shouldClose=*/false);
  std::string text;
  bool serialized = tensors.model->SerializeToString(&text);
  model << text;
  model.flush();
  for (llvm::raw_fd_ostream *stream : {&data, &model})
    if (std::error_code error = stream->error()) {
      data.clear_error();
      model.clear_error();
      return onnxError(output + ": " + error.message());
    }
  if (!serialized)
    return onnxError(output + ": the model can't be serialized");
  // The data first: whoever sees the model finds it.
  if (llvm::Error error = (*dataFile)->commit())
    return error;
  return (*modelFile)->commit();
}

llvm::Error sdc::writePrunedOnnx(StringRef model,
                                 ArrayRef<WeightOrigin> origins,
                                 ModuleOp pruned, StringRef folder,
                                 StringRef output) {
  llvm::Expected<OnnxTensors> tensors = OnnxTensors::read(model);
  if (!tensors)
    return tensors.takeError();
  Writer writer(std::move(*tensors), origins, pruned, folder);
  if (llvm::Error error = writer.assign())
    return error;
  return writer.write(output);
}
