// The header of a safetensors file, read with suspicion and written in order.

#include "compiler/Record/Safetensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unistd.h>

using namespace sdc;
using nlohmann::json;

namespace {

/// A longer header is refused, as by the format's own library.
constexpr uint64_t kMaxHeader = 100'000'000;

std::optional<uint64_t> elementSize(llvm::StringRef type) {
  return llvm::StringSwitch<std::optional<uint64_t>>(type)
      .Cases({"F64", "I64", "U64"}, 8)
      .Cases({"F32", "I32", "U32"}, 4)
      .Cases({"F16", "BF16", "I16", "U16"}, 2)
      .Cases({"I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2"}, 1)
      .Default(std::nullopt);
}

std::optional<uint64_t> asUnsigned(const json &value) {
  if (value.is_number_unsigned())
    return value.get<uint64_t>();
  return std::nullopt;
}

/// Reads one entry of the header; on failure says what is wrong with it.
std::optional<SafeTensor> parseTensor(const std::string &name,
                                      const json &entry, uint64_t dataSize,
                                      std::string &why) {
  SafeTensor tensor;
  tensor.name = name;
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets") ||
      !entry["dtype"].is_string() || !entry["shape"].is_array() ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
    why = "has no dtype, shape and data_offsets";
    return std::nullopt;
  }
  tensor.type = entry["dtype"].get<std::string>();
  std::optional<uint64_t> unit = elementSize(tensor.type);
  if (!unit) {
    why = "has the unknown type '" + tensor.type + "'";
    return std::nullopt;
  }
  uint64_t bytes = *unit;
  for (const json &dim : entry["shape"]) {
    std::optional<uint64_t> size = asUnsigned(dim);
    if (!size || (*size != 0 && bytes > (uint64_t(1) << 62) / *size)) {
      why = "has a dimension that is no size";
      return std::nullopt;
    }
    bytes *= *size;
    tensor.shape.push_back(static_cast<int64_t>(*size));
  }
  std::optional<uint64_t> begin = asUnsigned(entry["data_offsets"][0]);
  std::optional<uint64_t> end = asUnsigned(entry["data_offsets"][1]);
  if (!begin || !end || *begin > *end) {
    why = "has no valid data_offsets";
    return std::nullopt;
  }
  if (*end > dataSize) {
    why = llvm::formatv("ends at byte {0} of {1}; the file is truncated", *end,
                        dataSize);
    return std::nullopt;
  }
  if (*end - *begin != bytes) {
    why = llvm::formatv("has {0} bytes, expected {1} for its shape",
                        *end - *begin, bytes);
    return std::nullopt;
  }
  tensor.offset = *begin;
  tensor.size = bytes;
  return tensor;
}

template <typename T> constexpr llvm::StringLiteral typeName = "";
template <> constexpr llvm::StringLiteral typeName<float> = "F32";
template <> constexpr llvm::StringLiteral typeName<int32_t> = "I32";
template <> constexpr llvm::StringLiteral typeName<int64_t> = "I64";

} // namespace

int64_t SafeTensor::elements() const {
  int64_t product = 1;
  for (int64_t dim : shape)
    product *= dim;
  return product;
}

llvm::Error SafetensorsFile::problem(const llvm::Twine &message) const {
  return llvm::createStringError(filePath + ": " + message);
}

const SafeTensor *SafetensorsFile::find(llvm::StringRef name) const {
  auto it = table.find(name.str());
  return it == table.end() ? nullptr : &it->second;
}

void SafetensorsFile::dropPages() const { region->dontNeed(); }

llvm::Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path) {
  SafetensorsFile file;
  file.filePath = path.str();
  auto descriptor = llvm::sys::fs::openNativeFileForRead(path);
  if (!descriptor)
    return file.problem(llvm::toString(descriptor.takeError()));
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(*descriptor, status);
  uint64_t size = error ? 0 : status.getSize();
  bool regular =
      !error && status.type() == llvm::sys::fs::file_type::regular_file;
  if (regular && size >= 8)
    file.region = std::make_shared<llvm::sys::fs::mapped_file_region>(
        *descriptor, llvm::sys::fs::mapped_file_region::readonly, size, 0,
        error);
  if (std::error_code closed = llvm::sys::fs::closeFile(*descriptor);
      closed && !error)
    error = closed;
  if (error)
    return file.problem(error.message());
  if (!regular)
    return file.problem("is no regular file");
  if (size < 8)
    return file.problem("is no safetensors file: it has " + llvm::Twine(size) +
                        " bytes");

  const char *bytes = file.region->const_data();
  uint64_t header = 0;
  for (unsigned i = 0; i < 8; ++i)
    header |= uint64_t(static_cast<uint8_t>(bytes[i])) << (8 * i);
  if (header > size - 8 || header > kMaxHeader || header < 2 || bytes[8] != '{')
    return file.problem("is no safetensors file, or is truncated: its header "
                        "would have " +
                        llvm::Twine(header) + " of " + llvm::Twine(size) +
                        " bytes");
  json parsed = json::parse(bytes + 8, bytes + 8 + header, nullptr,
                            /*allow_exceptions=*/false);
  if (!parsed.is_object())
    return file.problem("the header is not valid JSON");
  file.data = bytes + 8 + header;
  uint64_t dataSize = size - 8 - header;

  std::vector<const SafeTensor *> order;
  for (auto &[name, entry] : parsed.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        return file.problem("the metadata are no object");
      for (auto &[key, value] : entry.items()) {
        if (!value.is_string())
          return file.problem("metadata '" + key + "' is no string");
        file.meta[key] = value.get<std::string>();
      }
      continue;
    }
    std::string why;
    auto tensor = parseTensor(name, entry, dataSize, why);
    if (!tensor)
      return file.problem("tensor '" + llvm::Twine(name) + "' " + why);
    order.push_back(&(file.table[name] = *tensor));
  }
  // Tensors follow each other without gap or overlap, and fill the file.
  llvm::sort(order, [](const SafeTensor *a, const SafeTensor *b) {
    return std::make_pair(a->offset, a->offset + a->size) <
           std::make_pair(b->offset, b->offset + b->size);
  });
  uint64_t end = 0;
  for (const SafeTensor *tensor : order) {
    if (tensor->offset != end)
      return file.problem("tensor '" + tensor->name + "' begins at byte " +
                          llvm::Twine(tensor->offset) + ", expected " +
                          llvm::Twine(end));
    end += tensor->size;
  }
  if (end != dataSize)
    return file.problem("has " + llvm::Twine(dataSize) +
                        " bytes of data, expected " + llvm::Twine(end));
  return file;
}

template <typename T>
llvm::Expected<SafetensorsFile::Elements<T>>
SafetensorsFile::elements(llvm::StringRef name, int64_t count) const {
  const SafeTensor *tensor = find(name);
  if (!tensor)
    return problem("has no tensor '" + name + "'");
  if (tensor->type != typeName<T>)
    return problem("tensor '" + name + "' has type " + tensor->type +
                   ", expected " + typeName<T>);
  if (count >= 0 && tensor->elements() != count)
    return problem("tensor '" + name + "' has " +
                   llvm::Twine(tensor->elements()) + " elements, expected " +
                   llvm::Twine(count));
  Elements<T> result;
  const char *bytes = data + tensor->offset;
  auto elements = static_cast<size_t>(tensor->elements());
  if (reinterpret_cast<uintptr_t>(bytes) % alignof(T) == 0) {
    result.view = {reinterpret_cast<const T *>(bytes), elements};
  } else {
    result.copy.resize(elements);
    std::memcpy(result.copy.data(), bytes, tensor->size);
    result.view = result.copy;
  }
  return result;
}

template llvm::Expected<SafetensorsFile::Elements<float>>
SafetensorsFile::elements(llvm::StringRef, int64_t) const;
template llvm::Expected<SafetensorsFile::Elements<int32_t>>
SafetensorsFile::elements(llvm::StringRef, int64_t) const;
template llvm::Expected<SafetensorsFile::Elements<int64_t>>
SafetensorsFile::elements(llvm::StringRef, int64_t) const;

llvm::Expected<SafetensorsWriter>
SafetensorsWriter::create(llvm::StringRef path,
                          const std::map<std::string, std::string> &metadata,
                          std::vector<SafeTensor> tensors) {
  SafetensorsWriter writer;
  writer.target = path.str();
  json header = json::object();
  header["__metadata__"] = metadata;
  for (SafeTensor &tensor : tensors) {
    uint64_t size = static_cast<uint64_t>(tensor.elements()) *
                    elementSize(tensor.type).value_or(0);
    header[tensor.name] = {
        {"dtype", tensor.type},
        {"shape", tensor.shape},
        {"data_offsets", {writer.expected, writer.expected + size}}};
    writer.expected += size;
  }
  // Bytes that are no UTF-8 would be an exception; they become U+FFFD.
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  // Data begins at a multiple of 64 bytes, whatever type comes first.
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');

  auto file = OutputFile::create(
      path, static_cast<int64_t>(8 + text.size() + writer.expected));
  if (!file)
    return file.takeError();
  writer.file = std::move(*file);
  writer.stream = std::make_unique<llvm::raw_fd_ostream>(
      writer.file->descriptor(), /*shouldClose=*/false);
  uint64_t size = text.size();
  char length[8];
  for (unsigned i = 0; i < 8; ++i)
    length[i] = static_cast<char>(size >> (8 * i));
  writer.stream->write(length, sizeof(length));
  *writer.stream << text;
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (!file)
    return;
  // A stream that is destroyed with an error that nobody saw ends the program.
  stream->clear_error();
  stream.reset();
}

void SafetensorsWriter::append(const void *bytes, uint64_t size) {
  stream->write(static_cast<const char *>(bytes), size);
  written += size;
}

llvm::Error SafetensorsWriter::finish() {
  stream->flush();
  std::error_code error = stream->error();
  if (!error && written == expected && ::fsync(file->descriptor()) != 0)
    error = std::error_code(errno, std::generic_category());
  stream->clear_error();
  stream.reset();
  std::unique_ptr<OutputFile> done = std::move(file);
  if (error)
    return llvm::createStringError(target + ": " + error.message());
  if (written != expected)
    return llvm::createStringError(
        llvm::formatv("{0}: {1} bytes of data were written, expected {2}",
                      target, written, expected));
  return done->commit();
}
