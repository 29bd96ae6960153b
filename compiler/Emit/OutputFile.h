// A file that is there as a whole or not at all. It has no name while it is
// written, so that nothing is left of it if the process ends before commit.

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
  /// Makes a file of `size` zeros in the folder of `path`. Fails if there is no
  /// such folder or no room.
  static llvm::Expected<std::unique_ptr<OutputFile>>
  create(llvm::StringRef path, int64_t size);

  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Writes inside [0, size).
  llvm::Error write(int64_t offset, llvm::ArrayRef<uint8_t> bytes);

  /// Gives the file its name, in place of what had it.
  llvm::Error commit();

private:
  OutputFile(int fd, std::string path, std::string temporary)
      : fd(fd), path(std::move(path)), temporary(std::move(temporary)) {}

  int fd;
  std::string path;
  /// The name that the file has until commit, where the file system can't keep
  /// files without one; else empty.
  std::string temporary;
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_OUTPUTFILE_H
