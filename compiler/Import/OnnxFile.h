// Finds the file of a model and recognises what is not one, by its first
// bytes: other formats get an error that says how to go on.

#ifndef SDC_COMPILER_IMPORT_ONNXFILE_H
#define SDC_COMPILER_IMPORT_ONNXFILE_H

#include "compiler/Import/ImportDiagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace sdc {

/// The file that `path` stands for: itself, or model.onnx in it when it is a
/// folder.
std::string resolveModelPath(llvm::StringRef path);

/// Maps the model file `path`. Reports an error and returns null when it can
/// not be read or is plainly not an ONNX model.
std::unique_ptr<llvm::MemoryBuffer> openModel(llvm::StringRef path,
                                              ImportDiagnostics &diagnostics);

/// Whether the bytes are a pointer that git-LFS left in place of a file.
bool isLfsPointer(llvm::StringRef bytes);

/// Whether `path` holds ONNX's text form.
bool isOnnxText(llvm::StringRef path);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXFILE_H
