// Reads and writes tensors in files.

#include "tools/sdc/TensorFiles.h"
#include "compiler/Emit/OutputFile.h"
#include "kernels/Format/ElementType.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/Verbs.h"

#include "onnx/onnx_pb.h"
#include <cstring>
#include <optional>

using namespace sdc;

int64_t TensorData::count() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

double TensorData::at(int64_t index) const {
  return loadElement(element, bytes.data() + static_cast<size_t>(index) *
                                                 sdc_element_size(element));
}

std::string TensorData::describe() const {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + sdc_element_name(element);
}

template <typename T> static T loadAs(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

double sdc::loadElement(sdc_element element, const uint8_t *bytes) {
  switch (element) {
  case SDC_F32:
    return loadAs<float>(bytes);
  case SDC_F64:
    return loadAs<double>(bytes);
  case SDC_F16:
    return fromF16(loadAs<uint16_t>(bytes));
  case SDC_BF16:
    return fromBF16(loadAs<uint16_t>(bytes));
  case SDC_I8:
    return loadAs<int8_t>(bytes);
  case SDC_U8:
    return *bytes;
  case SDC_I16:
    return loadAs<int16_t>(bytes);
  case SDC_I32:
    return loadAs<int32_t>(bytes);
  case SDC_I64:
    return static_cast<double>(loadAs<int64_t>(bytes));
  case SDC_BOOL:
    return *bytes != 0;
  }
  return 0;
}

template <typename T> static void storeAs(double value, uint8_t *bytes) {
  T narrow = static_cast<T>(value);
  std::memcpy(bytes, &narrow, sizeof(T));
}

void sdc::storeElement(sdc_element element, double value, uint8_t *bytes) {
  switch (element) {
  case SDC_F32:
    return storeAs<float>(value, bytes);
  case SDC_F64:
    return storeAs<double>(value, bytes);
  case SDC_F16: {
    uint16_t bits = toF16(static_cast<float>(value));
    std::memcpy(bytes, &bits, 2);
    return;
  }
  case SDC_BF16: {
    uint16_t bits = toBF16(static_cast<float>(value));
    std::memcpy(bytes, &bits, 2);
    return;
  }
  case SDC_I8:
    return storeAs<int8_t>(value, bytes);
  case SDC_U8:
    return storeAs<uint8_t>(value, bytes);
  case SDC_I16:
    return storeAs<int16_t>(value, bytes);
  case SDC_I32:
    return storeAs<int32_t>(value, bytes);
  case SDC_I64:
    return storeAs<int64_t>(value, bytes);
  case SDC_BOOL:
    *bytes = value != 0;
  }
}

static bool fail(const std::string &path, const std::string &what) {
  printError(path + ": " + what);
  return false;
}

static std::optional<sdc_element> elementOf(int32_t onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return SDC_F32;
  case onnx::TensorProto::DOUBLE:
    return SDC_F64;
  case onnx::TensorProto::FLOAT16:
    return SDC_F16;
  case onnx::TensorProto::BFLOAT16:
    return SDC_BF16;
  case onnx::TensorProto::INT8:
    return SDC_I8;
  case onnx::TensorProto::UINT8:
    return SDC_U8;
  case onnx::TensorProto::INT16:
    return SDC_I16;
  case onnx::TensorProto::INT32:
    return SDC_I32;
  case onnx::TensorProto::INT64:
    return SDC_I64;
  case onnx::TensorProto::BOOL:
    return SDC_BOOL;
  }
  return std::nullopt;
}

/// Element `i` of the typed field that holds this element type.
static double typedElement(const onnx::TensorProto &proto, sdc_element element,
                           int i) {
  switch (element) {
  case SDC_F32:
    return proto.float_data(i);
  case SDC_F64:
    return proto.double_data(i);
  case SDC_I64:
    return static_cast<double>(proto.int64_data(i));
  case SDC_F16:
    return fromF16(static_cast<uint16_t>(proto.int32_data(i)));
  case SDC_BF16:
    return fromBF16(static_cast<uint16_t>(proto.int32_data(i)));
  default:
    return proto.int32_data(i);
  }
}

static bool readProto(const std::string &path, const std::string &bytes,
                      TensorData &tensor) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes))
    return fail(path, "not an ONNX tensor");
  std::optional<sdc_element> element = elementOf(proto.data_type());
  if (!element)
    return fail(path, "element type " + std::to_string(proto.data_type()) +
                          " is not supported");
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    return fail(path, "external data in a test tensor is not supported");
  tensor.name = proto.name();
  tensor.element = *element;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  size_t size = sdc_element_size(*element);
  int64_t count = tensor.count();
  if (count < 0 || count > (int64_t(1) << 40))
    return fail(path, "bad shape " + tensor.describe());
  if (proto.has_raw_data()) {
    tensor.bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
  } else {
    int held = *element == SDC_F32   ? proto.float_data_size()
               : *element == SDC_F64 ? proto.double_data_size()
               : *element == SDC_I64 ? proto.int64_data_size()
                                     : proto.int32_data_size();
    if (held != count)
      return fail(path, tensor.describe() + " holds " + std::to_string(held) +
                            " elements");
    tensor.bytes.resize(static_cast<size_t>(count) * size);
    for (int i = 0; i < held; ++i)
      storeElement(*element, typedElement(proto, *element, i),
                   tensor.bytes.data() + static_cast<size_t>(i) * size);
  }
  if (tensor.bytes.size() != static_cast<size_t>(count) * size)
    return fail(path, tensor.describe() + " holds " +
                          std::to_string(tensor.bytes.size()) + " bytes");
  return true;
}

/// The descriptions that NumPy writes, little-endian or of one byte.
static const std::pair<const char *, sdc_element> kDescriptions[] = {
    {"<f4", SDC_F32}, {"<f8", SDC_F64}, {"<f2", SDC_F16},
    {"|i1", SDC_I8},  {"|u1", SDC_U8},  {"<i2", SDC_I16},
    {"<i4", SDC_I32}, {"<i8", SDC_I64}, {"|b1", SDC_BOOL}};

/// The text behind `'key': ` in a NumPy header; empty if it is not there.
static std::string headerValue(const std::string &header,
                               const std::string &key) {
  size_t place = header.find("'" + key + "':");
  if (place == std::string::npos)
    return "";
  place = header.find_first_not_of(' ', place + key.size() + 3);
  return place == std::string::npos ? "" : header.substr(place);
}

static bool readNpy(const std::string &path, const std::string &bytes,
                    TensorData &tensor) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    return fail(path, "not a NumPy array");
  bool wide = bytes[6] >= 2;
  const auto *raw = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t length = wide ? loadAs<uint32_t>(raw + 8) : loadAs<uint16_t>(raw + 8);
  size_t begin = wide ? 12 : 10;
  if (bytes.size() < begin + length)
    return fail(path, "truncated");
  std::string header = bytes.substr(begin, length);
  if (headerValue(header, "fortran_order").rfind("False", 0) != 0)
    return fail(path, "column-major arrays are not supported");
  std::string description = headerValue(header, "descr");
  bool known = false;
  for (auto &[text, element] : kDescriptions)
    if (description.compare(1, 3, text) == 0) {
      tensor.element = element;
      known = true;
    }
  if (!known)
    return fail(path, "element type " +
                          description.substr(0, description.find(',')) +
                          " is not supported");
  std::string shape = headerValue(header, "shape");
  size_t end = shape.find(')');
  if (shape.empty() || shape[0] != '(' || end == std::string::npos)
    return fail(path, "bad header");
  tensor.shape.clear();
  for (size_t place = 1; place < end;) {
    char *after = nullptr;
    long long size = std::strtoll(shape.c_str() + place, &after, 10);
    if (after == shape.c_str() + place)
      break;
    if (size < 0)
      return fail(path, "negative size in the shape");
    tensor.shape.push_back(size);
    place = shape.find_first_of(",)", place) + 1;
  }
  tensor.bytes.assign(raw + begin + length, raw + bytes.size());
  if (tensor.bytes.size() !=
      static_cast<size_t>(tensor.count()) * sdc_element_size(tensor.element))
    return fail(path, tensor.describe() + " holds " +
                          std::to_string(tensor.bytes.size()) + " bytes");
  return true;
}

bool sdc::readTensor(const std::string &path, TensorData &tensor) {
  std::string bytes;
  if (!readFile(path, bytes))
    return false;
  std::string ending = path.substr(path.find_last_of('.') + 1);
  if (ending == "pb")
    return readProto(path, bytes, tensor);
  if (ending == "npy")
    return readNpy(path, bytes, tensor);
  return fail(path, "expected a name that ends in .pb or .npy");
}

bool sdc::writeNpy(const std::string &path, const TensorData &tensor) {
  TensorData wide;
  const TensorData *source = &tensor;
  if (tensor.element == SDC_BF16) {
    wide.element = SDC_F32;
    wide.shape = tensor.shape;
    wide.bytes.resize(static_cast<size_t>(tensor.count()) * 4);
    for (int64_t i = 0; i < tensor.count(); ++i)
      storeElement(SDC_F32, tensor.at(i), wide.bytes.data() + i * 4);
    source = &wide;
  }
  const char *description = "";
  for (auto &[text, element] : kDescriptions)
    if (element == source->element)
      description = text;
  std::string shape;
  for (int64_t size : source->shape)
    shape += std::to_string(size) + ", ";
  std::string header = std::string("{'descr': '") + description +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data begins at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  auto length = static_cast<uint16_t>(header.size());
  file.append(reinterpret_cast<const char *>(&length), 2);
  file += header;
  file.append(reinterpret_cast<const char *>(source->bytes.data()),
              source->bytes.size());
  if (llvm::Error error = writeOutput(path, file)) {
    printError(llvm::toString(std::move(error)));
    return false;
  }
  return true;
}
