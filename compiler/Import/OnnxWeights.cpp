// The weights of a model: which bytes of which file they are.

#include "compiler/Import/OnnxWeights.h"

#include "compiler/Import/OnnxFile.h"
#include "compiler/Import/OnnxTypes.h"
#include "compiler/Import/OnnxWire.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <filesystem>

using namespace mlir;
using namespace sdc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr uint64_t kInlineLimit = onnxir::ConstantOp::kMaxBytes;

OnnxWeights::OnnxWeights(StringRef modelPath, StringRef weightsDir,
                         std::optional<uint64_t> randomSeed,
                         ImportDiagnostics &diagnostics, MLIRContext &context)
    : modelPath(modelPath),
      folder(weightsDir.empty() ? path::parent_path(modelPath) : weightsDir),
      randomSeed(randomSeed), diagnostics(diagnostics), context(context) {
  if (folder.empty())
    folder = ".";
  context.loadDialect<decode::DecodeDialect>();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// What is wrong with where a tensor says that its data is, or nothing.
std::string OnnxWeights::checkLocation(StringRef location) {
  if (location.empty())
    return "external data without a location";
  if (location.contains('\0') || path::is_absolute(location))
    return "external data '" + location.str() +
           "' is not a relative path; expected a file in the model's folder";
  for (StringRef part :
       llvm::make_range(path::begin(location), path::end(location)))
    if (part == "..")
      return "external data '" + location.str() +
             "' leaves the model's folder; expected a file in it";
  SmallString<256> file(folder), real, realFolder;
  path::append(file, location);
  if (fs::real_path(file, real) || fs::real_path(folder, realFolder))
    return ""; // absent
  bool isInside = real == realFolder || realFolder == "/" ||
                  (real.starts_with(realFolder) &&
                   path::is_separator(real[realFolder.size()]));
  if (!isInside)
    return "external data '" + location.str() +
           "' is a link that leaves the model's folder; expected a file in it";
  return "";
}

/// Names `file` relative to the folder of the model, which is what paths in the
/// IR resolve against.
static std::string relativeTo(StringRef modelPath, StringRef file) {
  SmallString<256> base(path::parent_path(modelPath)), target(file);
  if (base.empty())
    base = ".";
  if (fs::make_absolute(base) || fs::make_absolute(target))
    return file.str();
  path::remove_dots(base, /*remove_dot_dot=*/true);
  path::remove_dots(target, /*remove_dot_dot=*/true);
  std::filesystem::path relative = std::filesystem::path(target.str().str())
                                       .lexically_relative(base.str().str());
  return relative.empty() ? std::string(target) : relative.string();
}

OnnxWeights::DataFile &OnnxWeights::openFile(StringRef location,
                                             StringRef user) {
  SmallString<256> normal(location);
  path::remove_dots(normal);
  std::unique_ptr<DataFile> &entry = files[std::string(normal)];
  if (!entry) {
    entry = std::make_unique<DataFile>();
    entry->firstUser = user;
    SmallString<256> file(folder);
    path::append(file, normal);
    fs::file_status status;
    entry->path = std::string(file);
    if (fs::status(file, status)) {
      entry->absent = true;
    } else if (!fs::is_regular_file(status)) {
      entry->notFile = true;
    } else {
      entry->irPath = relativeTo(modelPath, file);
      entry->size = status.getSize();
      if (entry->size < 1024)
        if (auto buffer = llvm::MemoryBuffer::getFile(file))
          entry->lfsPointer = isLfsPointer((*buffer)->getBuffer());
    }
  }
  ++entry->users;
  return *entry;
}

OnnxWeights::DataFile &OnnxWeights::modelFile() {
  // No location of external data is empty, so that this is nobody's name.
  std::unique_ptr<DataFile> &entry = files[""];
  if (!entry) {
    entry = std::make_unique<DataFile>();
    entry->path = modelPath;
    entry->irPath = path::filename(modelPath);
    if (fs::file_size(modelPath, entry->size))
      entry->size = 0;
  }
  return *entry;
}

void OnnxWeights::reportFiles() {
  auto others = [](unsigned count) {
    return count < 2 ? std::string()
                     : " and " + std::to_string(count - 1) + " more";
  };
  for (auto &[location, file] : files) {
    if (file->notFile) {
      diagnostics.error("external data '" + file->path +
                        "' is not a file; expected it to hold '" +
                        file->firstUser + "'" + others(file->users));
    } else if (file->absent && !randomSeed) {
      diagnostics.error("external data file '" + file->path +
                            "' is absent; it holds '" + file->firstUser + "'" +
                            others(file->users),
                        "put it beside the model, or name its folder with "
                        "--weights-dir");
    } else if (file->lfsPointer) {
      diagnostics.error("external data file '" + file->path +
                            "' is a git-LFS pointer",
                        "fetch the file itself with 'git lfs pull'");
    } else if (file->tooFar) {
      diagnostics.error("external data file '" + file->path +
                            "' is truncated: expected at least " +
                            Twine(file->neededSize) + " bytes, for '" +
                            file->firstTooFar + "'" + others(file->tooFar) +
                            ", got " + Twine(file->size),
                        "fetch or export the file again");
    }
  }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Parses what the specification calls an integer "stored as string".
static bool parseDecimal(StringRef text, uint64_t &value) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit) &&
         !text.getAsInteger(10, value) && value <= uint64_t(INT64_MAX);
}

std::optional<OnnxWeights::Range>
OnnxWeights::findRange(const onnx::TensorProto &tensor, StringRef name,
                       uint64_t length) {
  StringRef location;
  uint64_t offset = 0, stated = length;
  bool inModel = false, valid = true;
  llvm::StringSet<> seen;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (!seen.insert(key).second) {
      diagnostics.errorAt(name, "external data gives its " + key + " twice");
      valid = false;
    }
    if (key == kInModelFile) {
      inModel = true;
    } else if (key == "location") {
      location = value;
    } else if ((key == "offset" && !parseDecimal(value, offset)) ||
               (key == "length" && !parseDecimal(value, stated))) {
      diagnostics.errorAt(name,
                          "external data: expected a decimal integer as " +
                              key + ", got '" + value + "'");
      valid = false;
    }
  }
  if (!inModel)
    if (std::string wrong = checkLocation(location); !wrong.empty()) {
      diagnostics.errorAt(name, wrong,
                          StringRef(wrong).contains("link")
                              ? "replace the link by the file"
                              : "");
      valid = false;
    }
  if (valid && stated != length) {
    diagnostics.errorAt(name, "expected " + Twine(length) +
                                  " bytes of values, got " + Twine(stated));
    valid = false;
  }
  if (!valid)
    return std::nullopt;
  DataFile &file = inModel ? modelFile() : openFile(location, name);
  uint64_t end = offset + length;
  if (file.notFile)
    return std::nullopt;
  if (!file.absent && end > file.size) {
    if (!file.tooFar++)
      file.firstTooFar = name;
    file.neededSize = std::max(file.neededSize, end);
    return std::nullopt;
  }
  return Range{&file, offset, length};
}

bool OnnxWeights::readInline(onnx::TensorProto &tensor, StringRef name,
                             const Range &range) {
  tensor.clear_external_data();
  tensor.clear_data_location();
  std::string *bytes = tensor.mutable_raw_data();
  if (range.length == 0)
    return true;
  auto slice = llvm::MemoryBuffer::getFileSlice(range.file->path, range.length,
                                                range.offset);
  if (!slice) {
    diagnostics.errorAt(name,
                        "external data file '" + range.file->path +
                            "' cannot be read: " + slice.getError().message());
    return false;
  }
  *bytes = (*slice)->getBuffer().str();
  return true;
}

/// A tensor whose file is absent becomes random, if that was asked for and if
/// it can be a weight at all.
OnnxWeights::Place OnnxWeights::placeAbsent(const onnx::TensorProto &tensor,
                                            StringRef name, int64_t elements) {
  if (!randomSeed)
    return Place::Wrong; // reported with its file
  RankedTensorType type = convertType(tensor, context);
  if (!isa<FloatType>(type.getElementType()) || elements < 2) {
    diagnostics.errorAt(name, "tensor of " + nameDataType(tensor.data_type()) +
                                  " with " + Twine(elements) +
                                  " elements is in an absent file; only "
                                  "weights can be random");
    return Place::Wrong;
  }
  weights.push_back(
      {name.str(), type, decode::RandomAttr::get(&context, *randomSeed)});
  return Place::Symbol;
}

OnnxWeights::Place OnnxWeights::place(onnx::TensorProto &tensor,
                                      StringRef name) {
  int64_t size = bytesPerElement(tensor.data_type());
  if (size == 0) {
    diagnostics.errorAt(name,
                        "tensor of type " + nameDataType(tensor.data_type()) +
                            " is not supported",
                        hintForDataType(tensor.data_type()));
    return Place::Wrong;
  }
  std::optional<int64_t> elements = countElements(tensor);
  if (!elements || *elements > INT64_MAX / size) {
    diagnostics.errorAt(name, "a dimension is negative or too large");
    return Place::Wrong;
  }
  uint64_t length = *elements * size;
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) {
    if (length <= kInlineLimit)
      return Place::Graph;
    diagnostics.errorAt(name,
                        "values of " + Twine(length) +
                            " bytes are not stored as bytes, but as text or "
                            "in a field of variable-length integers",
                        "save the model with raw_data or external data");
    return Place::Wrong;
  }
  std::optional<Range> range = findRange(tensor, name, length);
  if (!range)
    return Place::Wrong;
  if (range->file->absent)
    return placeAbsent(tensor, name, *elements);
  if (length <= kInlineLimit)
    return readInline(tensor, name, *range) ? Place::Graph : Place::Wrong;
  weights.push_back(
      {name.str(), convertType(tensor, context),
       decode::FileAttr::get(&context, range->file->irPath,
                             static_cast<int64_t>(range->offset),
                             static_cast<int64_t>(range->length))});
  return Place::Symbol;
}

/// Declares a tensor that left the graph as an input of it.
static void declare(const onnx::TensorProto &tensor, StringRef name,
                    onnx::GraphProto &graph) {
  onnx::ValueInfoProto *input = graph.add_input();
  input->set_name(name.str());
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(tensor.data_type());
  type->mutable_shape();
  for (int64_t dim : tensor.dims())
    type->mutable_shape()->add_dim()->set_dim_value(dim);
}

/// Keeps those elements of `field` for which `keep` is true, in order.
template <typename Field, typename Keep>
static void filter(Field &field, Keep keep) {
  int kept = 0;
  for (int i = 0; i < field.size(); ++i)
    if (keep(*field.Mutable(i)))
      field.SwapElements(kept++, i);
  field.DeleteSubrange(kept, field.size() - kept);
}

void OnnxWeights::take(onnx::GraphProto &graph) {
  // Files of IR 3 list every initializer as an input too.
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (!initializers.insert(tensor.name()).second)
      diagnostics.errorAt(tensor.name(), "two initializers have this name");
  filter(*graph.mutable_input(), [&](onnx::ValueInfoProto &input) {
    return !initializers.contains(input.name());
  });
  for (const auto &sparse : graph.sparse_initializer())
    diagnostics.errorAt(sparse.values().name(),
                        "sparse initializers are not supported",
                        "store the tensor densely");

  filter(*graph.mutable_initializer(), [&](onnx::TensorProto &tensor) {
    if (place(tensor, tensor.name()) == Place::Graph)
      return true;
    declare(tensor, tensor.name(), graph);
    return false;
  });
  filter(*graph.mutable_node(), [&](onnx::NodeProto &node) {
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.type() != onnx::AttributeProto::TENSOR)
        continue;
      bool isConstant = node.op_type() == "Constant" && node.output_size() == 1;
      StringRef name = isConstant ? node.output(0) : node.name();
      if (place(*attribute.mutable_t(), name) != Place::Symbol)
        continue;
      if (isConstant) {
        declare(attribute.t(), name, graph);
        return false;
      }
      diagnostics.errorAt(name, "attribute '" + attribute.name() +
                                    "' is larger than 64 KiB");
    }
    return true;
  });
  reportFiles();
}
