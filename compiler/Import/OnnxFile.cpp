// Finds the file of a model and recognises what is not one.

#include "compiler/Import/OnnxFile.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <climits>

using namespace sdc;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

std::string sdc::resolveModelPath(StringRef path) {
  llvm::SmallString<256> file(path);
  if (fs::is_directory(path))
    llvm::sys::path::append(file, "model.onnx");
  return std::string(file);
}

bool sdc::isLfsPointer(StringRef bytes) {
  return bytes.starts_with("version https://git-lfs");
}

bool sdc::isOnnxText(StringRef path) { return path.ends_with(".onnxtxt"); }

/// A safetensors file opens with the length of a JSON header.
static bool isSafetensors(StringRef bytes) {
  if (bytes.size() < 10 || bytes[8] != '{')
    return false;
  return llvm::support::endian::read64le(bytes.data()) <= bytes.size() - 8;
}

/// What the first bytes say if they are those of another format.
static StringRef nameOtherFormat(StringRef bytes) {
  if (bytes.starts_with("GGUF"))
    return "a GGUF file";
  if (bytes.starts_with("PK\x03\x04"))
    return "a zip archive, as PyTorch writes checkpoints";
  if (bytes.starts_with("\x80\x02") && bytes.take_front(4096).contains("torch"))
    return "a pickled PyTorch checkpoint";
  if (bytes.starts_with("SDX1") || bytes.substr(4).starts_with("SDX1"))
    return "an executable of sdc";
  if (isSafetensors(bytes))
    return "a safetensors file";
  return "";
}

std::unique_ptr<llvm::MemoryBuffer>
sdc::openModel(StringRef path, ImportDiagnostics &diagnostics) {
  llvm::SmallString<256> folder(path);
  llvm::sys::path::remove_filename(folder);
  if (!fs::exists(path)) {
    bool inFolder = llvm::sys::path::filename(path) == "model.onnx" &&
                    !folder.empty() && fs::is_directory(folder);
    if (inFolder)
      diagnostics.error("the folder has no model.onnx",
                        "name the .onnx file, or export the model with "
                        "optimum, torch.onnx.export or onnxruntime-genai");
    else
      diagnostics.error("no such file");
    return nullptr;
  }
  if (fs::is_directory(path)) {
    diagnostics.error("expected a file, got a folder");
    return nullptr;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    diagnostics.error("cannot be read: " + buffer.getError().message());
    return nullptr;
  }
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty()) {
    diagnostics.error("expected an ONNX model, got an empty file");
    return nullptr;
  }
  if (isLfsPointer(bytes)) {
    diagnostics.error("expected an ONNX model, got a git-LFS pointer",
                      "fetch the file itself with 'git lfs pull'");
    return nullptr;
  }
  if (StringRef format = nameOtherFormat(bytes); !format.empty()) {
    diagnostics.error("expected an ONNX model, got " + format,
                      "export the model to ONNX, with optimum, "
                      "torch.onnx.export or onnxruntime-genai");
    return nullptr;
  }
  if (bytes.size() > INT_MAX) {
    diagnostics.error("expected at most 2147483647 bytes, the limit of "
                      "protobuf, got " +
                          llvm::Twine(bytes.size()),
                      "store the weights as external data");
    return nullptr;
  }
  return std::move(*buffer);
}
