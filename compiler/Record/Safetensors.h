// Reading and writing safetensors files.
//
//   file   = u64 size, JSON{size}, data         little-endian
//   JSON   = { "__metadata__": {string: string}, name: tensor, ... }
//   tensor = { "dtype": "F32", "shape": [..], "data_offsets": [begin, end] }
//
// Offsets count from the begin of data. The reader trusts nothing: lengths,
// offsets, shapes and types are checked when a file is opened, and every
// message begins with its name. The writer streams, so that no tensor but the
// one being written is in memory, writes beside its target and renames, and
// writes the same bytes for the same content.

#ifndef SDC_COMPILER_RECORD_SAFETENSORS_H
#define SDC_COMPILER_RECORD_SAFETENSORS_H

#include "compiler/Emit/OutputFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

/// One tensor of a file.
struct SafeTensor {
  std::string name;
  /// "F32", "I32", "I64", ...
  std::string type;
  std::vector<int64_t> shape;
  /// Bytes, and where they begin in data.
  uint64_t offset = 0;
  uint64_t size = 0;

  /// Product of the shape.
  int64_t elements() const;
};

/// A file mapped for reading; moved, never copied.
class SafetensorsFile {
public:
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  const std::string &path() const { return filePath; }
  const std::map<std::string, std::string> &metadata() const { return meta; }
  /// Null if there is no such tensor.
  const SafeTensor *find(llvm::StringRef name) const;
  const std::map<std::string, SafeTensor, std::less<>> &tensors() const {
    return table;
  }

  /// The elements of a tensor that must have this type: T is float, int32_t or
  /// int64_t. Copies only if the file does not align them.
  template <typename T> class Elements {
  public:
    llvm::ArrayRef<T> get() const { return view; }
    operator llvm::ArrayRef<T>() const { return view; }

  private:
    friend class SafetensorsFile;
    llvm::ArrayRef<T> view;
    std::vector<T> copy;
  };
  /// An error names the tensor if it is absent, of another type, or has not
  /// `count` elements (-1: any number).
  template <typename T>
  llvm::Expected<Elements<T>> elements(llvm::StringRef name,
                                       int64_t count) const;

  /// Gives the mapped pages back; they are read again when touched.
  void dropPages() const;

  /// An error about this file: "FILE: message".
  llvm::Error problem(const llvm::Twine &message) const;

private:
  std::string filePath;
  std::shared_ptr<llvm::sys::fs::mapped_file_region> region;
  const char *data = nullptr;
  std::map<std::string, std::string> meta;
  std::map<std::string, SafeTensor, std::less<>> table;
};

/// Writes a file whose tensors are known beforehand, one after the other.
class SafetensorsWriter {
public:
  /// Begins the file: offsets of `tensors` are ignored and follow from their
  /// order.
  static llvm::Expected<SafetensorsWriter>
  create(llvm::StringRef path,
         const std::map<std::string, std::string> &metadata,
         std::vector<SafeTensor> tensors);

  SafetensorsWriter(SafetensorsWriter &&) = default;
  SafetensorsWriter &operator=(SafetensorsWriter &&) = default;
  /// Removes the unfinished file.
  ~SafetensorsWriter();

  /// The next bytes of data, in the order of the tensors.
  void append(const void *bytes, uint64_t size);

  /// Flushes to disk and renames to the final name. An error if a write has
  /// failed (then there is no file) or if bytes are missing.
  llvm::Error finish();

private:
  SafetensorsWriter() = default;

  std::string target;
  std::unique_ptr<OutputFile> file;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
  uint64_t expected = 0;
  uint64_t written = 0;
};

} // namespace sdc

#endif // SDC_COMPILER_RECORD_SAFETENSORS_H
