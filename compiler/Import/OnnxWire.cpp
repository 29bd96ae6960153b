// Copies a serialized model without its bulk.
//
// A message is a sequence of fields: a varint `number << 3 | wire type`, then
// a varint (0), 8 bytes (1), a length and as many bytes (2), or 4 bytes (5).

#include "compiler/Import/OnnxWire.h"

#include "llvm/ADT/StringExtras.h"
#include <optional>

using namespace sdc;
using llvm::StringRef;

namespace {

enum class Message { Model, Graph, Node, Attribute, Function, Tensor };
enum class Action { Copy, Drop, Enter };

struct Rule {
  Action action;
  Message child = Message::Model;
};

struct Field {
  uint32_t number;
  uint32_t wireType;
  StringRef whole;   // with its tag
  StringRef payload; // of a field of wire type 2
};

constexpr unsigned kMaxDepth = 64;

/// What happens to the fields of each message; numbers are those of onnx.proto.
Rule ruleFor(Message message, uint32_t field) {
  switch (message) {
  case Message::Model:
    if (field == 7) // graph
      return {Action::Enter, Message::Graph};
    if (field == 25) // functions
      return {Action::Enter, Message::Function};
    // doc_string, metadata_props, training_info
    return {field == 6 || field == 14 || field == 20 ? Action::Drop
                                                     : Action::Copy};
  case Message::Graph:
    if (field == 1) // node
      return {Action::Enter, Message::Node};
    if (field == 5) // initializer
      return {Action::Enter, Message::Tensor};
    // doc_string, value_info, quantization_annotation, metadata_props
    return {field == 10 || field == 13 || field == 14 || field == 16
                ? Action::Drop
                : Action::Copy};
  case Message::Node:
    if (field == 5) // attribute
      return {Action::Enter, Message::Attribute};
    // doc_string, metadata_props
    return {field == 6 || field == 9 ? Action::Drop : Action::Copy};
  case Message::Attribute:
    if (field == 5 || field == 10) // t, tensors
      return {Action::Enter, Message::Tensor};
    if (field == 6 || field == 11) // g, graphs
      return {Action::Enter, Message::Graph};
    return {field == 13 ? Action::Drop : Action::Copy}; // doc_string
  case Message::Function:
    if (field == 7) // node
      return {Action::Enter, Message::Node};
    if (field == 11) // attribute_proto
      return {Action::Enter, Message::Attribute};
    // doc_string, value_info, metadata_props
    return {field == 8 || field == 12 || field == 14 ? Action::Drop
                                                     : Action::Copy};
  case Message::Tensor:
    return {Action::Copy};
  }
  return {Action::Copy};
}

class Slimmer {
public:
  Slimmer(StringRef file, uint64_t limit) : file(file), limit(limit) {}

  /// Appends the slim form of `bytes` to `out`; false if they are malformed.
  bool copy(Message message, StringRef bytes, std::string &out, unsigned depth);

private:
  static bool readVarint(StringRef &bytes, uint64_t &value);
  static bool readField(StringRef &bytes, Field &field);
  static void writeVarint(uint64_t value, std::string &out);
  static void writeBytes(uint32_t number, StringRef payload, std::string &out);
  bool copyTensor(StringRef bytes, std::string &out);
  std::optional<StringRef> findPiece(StringRef bytes);

  StringRef file;
  uint64_t limit;
};

} // namespace

bool Slimmer::readVarint(StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    uint8_t byte = bytes.front();
    bytes = bytes.drop_front();
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

bool Slimmer::readField(StringRef &bytes, Field &field) {
  StringRef start = bytes;
  uint64_t tag;
  if (!readVarint(bytes, tag) || tag >> 3 == 0 || tag >> 32 != 0)
    return false;
  field.number = tag >> 3;
  field.wireType = tag & 7;
  uint64_t length;
  switch (field.wireType) {
  case 0:
    if (!readVarint(bytes, length))
      return false;
    length = 0;
    break;
  case 1:
    length = 8;
    break;
  case 2:
    if (!readVarint(bytes, length))
      return false;
    break;
  case 5:
    length = 4;
    break;
  default: // groups (3 and 4) are not used by ONNX
    return false;
  }
  if (length > bytes.size())
    return false;
  field.payload = bytes.take_front(length);
  bytes = bytes.drop_front(length);
  field.whole = start.drop_back(bytes.size());
  return true;
}

void Slimmer::writeVarint(uint64_t value, std::string &out) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(char(value | 0x80));
  out.push_back(char(value));
}

void Slimmer::writeBytes(uint32_t number, StringRef payload, std::string &out) {
  writeVarint(number << 3 | 2, out);
  writeVarint(payload.size(), out);
  out.append(payload.begin(), payload.end());
}

bool Slimmer::copy(Message message, StringRef bytes, std::string &out,
                   unsigned depth) {
  if (depth > kMaxDepth)
    return false;
  if (message == Message::Tensor)
    return copyTensor(bytes, out);
  Field field;
  while (!bytes.empty()) {
    if (!readField(bytes, field))
      return false;
    Rule rule = ruleFor(message, field.number);
    if (rule.action == Action::Drop)
      continue;
    if (rule.action == Action::Copy || field.wireType != 2) {
      out.append(field.whole.begin(), field.whole.end());
      continue;
    }
    std::string child;
    if (!copy(rule.child, field.payload, child, depth + 1))
      return false;
    writeBytes(field.number, child, out);
  }
  return true;
}

/// The values of a tensor, if they are one piece that can be used as it lies.
std::optional<StringRef> Slimmer::findPiece(StringRef bytes) {
  enum : uint32_t {
    DataType = 2,
    FloatData = 4,
    Int32Data = 5,
    StringData = 6,
    Int64Data = 7,
    RawData = 9,
    DoubleData = 10,
    Uint64Data = 11,
    ExternalData = 13,
  };
  enum : uint64_t { Float = 1, Double = 11 };
  uint64_t dataType = 0;
  uint32_t holder = 0;
  StringRef piece;
  Field field;
  while (!bytes.empty()) {
    if (!readField(bytes, field))
      return std::nullopt;
    switch (field.number) {
    case DataType: {
      StringRef value = field.whole.drop_front(1);
      if (field.wireType != 0 || !readVarint(value, dataType))
        return std::nullopt;
      break;
    }
    case RawData:
    case FloatData:
    case DoubleData:
      if (holder || field.wireType != 2) // more than one piece, or not packed
        return std::nullopt;
      holder = field.number;
      piece = field.payload;
      break;
    case Int32Data:
    case StringData:
    case Int64Data:
    case Uint64Data:
    case ExternalData:
      return std::nullopt;
    default:
      break;
    }
  }
  if ((holder == FloatData && dataType != Float) ||
      (holder == DoubleData && dataType != Double) || piece.size() <= limit)
    return std::nullopt;
  return piece;
}

bool Slimmer::copyTensor(StringRef bytes, std::string &out) {
  std::optional<StringRef> piece = findPiece(bytes);
  Field field;
  while (!bytes.empty()) {
    if (!readField(bytes, field))
      return false;
    bool drop =
        field.number == 12 || field.number == 16 || // documentation
        (piece && field.wireType == 2 && field.payload.data() == piece->data());
    if (!drop)
      out.append(field.whole.begin(), field.whole.end());
  }
  if (!piece)
    return true;
  auto writeEntry = [&](StringRef key, StringRef value) {
    std::string entry;
    writeBytes(1, key, entry);
    writeBytes(2, value, entry);
    writeBytes(13, entry, out);
  };
  writeEntry(kInModelFile, "1");
  writeEntry("offset", llvm::utostr(piece->data() - file.data()));
  writeEntry("length", llvm::utostr(piece->size()));
  writeVarint(14 << 3, out); // data_location = EXTERNAL
  writeVarint(1, out);
  return true;
}

llvm::Expected<std::string> sdc::slimModel(StringRef bytes, uint64_t limit) {
  std::string out;
  if (!Slimmer(bytes, limit).copy(Message::Model, bytes, out, 0))
    return llvm::createStringError("malformed or truncated protobuf");
  return out;
}
