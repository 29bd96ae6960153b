// A file that is there as a whole or not at all. It has no name while it is
// written, so that nothing is left of it if the process ends before commit.
//
// Where a file must have a name (on file systems that keep none without, and
// for the moment of commit) it is `path`.part-PID-N, and its writer holds a lock
// on it. Such a file that nobody holds was left by a writer that was killed; the
// next one for the same path removes it.

#ifndef SDC_COMPILER_EMIT_OUTPUTFILE_H
#define SDC_COMPILER_EMIT_OUTPUTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sdc {

/// Fails if the file system that would hold `path` has less than `bytes` free;
/// the message has both numbers.
llvm::Error checkDiskSpace(llvm::StringRef path, int64_t bytes);

class OutputFile {
public:
  /// Makes a file of `size` zeros in the folder of `path`; it grows when more is
  /// written. Fails if there is no such folder or no room.
  static llvm::Expected<std::unique_ptr<OutputFile>>
  create(llvm::StringRef path, int64_t size);

  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  llvm::Error write(int64_t offset, llvm::ArrayRef<uint8_t> bytes);

  /// For a stream, which does not close it.
  int descriptor() const { return fd; }

  /// Gives the file its name, in place of what had it.
  llvm::Error commit();

private:
  OutputFile(int fd, std::string path) : fd(fd), path(std::move(path)) {}

  int fd;
  std::string path;
  /// The name that the file has until commit, if it has one.
  std::string temporary;
};

/// Writes a whole file at once: `text` under `path`, or nothing.
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef text);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_OUTPUTFILE_H
