// Mapping ranges of files.

#include "compiler/Weights/MappedRange.h"

#include "llvm/Support/Errno.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace sdc;

static llvm::Error fileError(llvm::StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 path + ": " + what);
}

llvm::Expected<MappedRange> MappedRange::open(llvm::StringRef path,
                                              int64_t offset, int64_t length) {
  MappedRange result;
  if (length == 0)
    return result;
  int fd = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fileError(path, llvm::sys::StrError(errno));
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fileError(path, "not a file");
  }
  if (offset < 0 || length < 0 || offset > info.st_size ||
      length > info.st_size - offset) {
    ::close(fd);
    return fileError(path, "expected " + llvm::Twine(length) +
                               " bytes from byte " + llvm::Twine(offset) +
                               ", the file has " + llvm::Twine(info.st_size));
  }
  int64_t skip = offset % ::getpagesize();
  result.size = static_cast<size_t>(length + skip);
  void *base =
      ::mmap(nullptr, result.size, PROT_READ, MAP_SHARED, fd, offset - skip);
  int error = errno;
  ::close(fd);
  if (base == MAP_FAILED) {
    result.size = 0;
    return fileError(path, "can't be mapped: " + llvm::sys::StrError(error));
  }
  result.base = base;
  result.range = {static_cast<const uint8_t *>(base) + skip,
                  static_cast<size_t>(length)};
  return result;
}

MappedRange::~MappedRange() {
  if (base)
    ::munmap(base, size);
}

void MappedRange::drop(int64_t first, int64_t last) const {
  if (!base)
    return;
  auto page = static_cast<uintptr_t>(::getpagesize());
  auto begin = reinterpret_cast<uintptr_t>(range.data()) + first;
  auto end = reinterpret_cast<uintptr_t>(range.data()) + last;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

void MappedRange::swap(MappedRange &other) noexcept {
  std::swap(range, other.range);
  std::swap(base, other.base);
  std::swap(size, other.size);
}
