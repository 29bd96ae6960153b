// O_TMPFILE, then link and rename; see OutputFile.h.

#include "compiler/Emit/OutputFile.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace llvm;

namespace sdc {

static Error fail(const Twine &path, const Twine &message) {
  return createStringError(path + ": " + message);
}

static Error failWithErrno(const Twine &path, const Twine &what) {
  int code = errno;
  return fail(path, what + ": " + llvm::sys::StrError(code));
}

static std::string folderOf(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

Error checkDiskSpace(StringRef path, int64_t bytes) {
  struct statvfs info;
  std::string folder = folderOf(path);
  if (::statvfs(folder.c_str(), &info) != 0)
    return failWithErrno(path, "the folder '" + folder + "'");
  uint64_t available = uint64_t{info.f_bavail} * info.f_frsize;
  // What has the name now goes when the new file gets it, but not before.
  if (available < static_cast<uint64_t>(bytes))
    return fail(path, "needs " + Twine(bytes) + " bytes, " + Twine(available) +
                          " are free on its file system");
  return Error::success();
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(StringRef path,
                                                         int64_t size) {
  if (Error error = checkDiskSpace(path, size))
    return std::move(error);
  std::string folder = folderOf(path), temporary;
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    temporary = (path + ".part-" + Twine(::getpid())).str();
    fd = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  }
  if (fd < 0)
    return failWithErrno(path, "can't be written");
  std::unique_ptr<OutputFile> file(
      new OutputFile(fd, path.str(), std::move(temporary)));
  // Takes the room at once where the file system can.
  if (::fallocate(fd, 0, 0, size) != 0 && errno == ENOSPC)
    return fail(path, "no room for " + Twine(size) + " bytes");
  if (::ftruncate(fd, size) != 0)
    return failWithErrno(path, "can't have " + Twine(size) + " bytes");
  return file;
}

OutputFile::~OutputFile() {
  ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Error OutputFile::write(int64_t offset, ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return failWithErrno(path, "can't be written");
    bytes = bytes.drop_front(written);
    offset += written;
  }
  return Error::success();
}

Error OutputFile::commit() {
  if (temporary.empty()) {
    std::string name = path + ".part-" + std::to_string(::getpid());
    std::string own = "/proc/self/fd/" + std::to_string(fd);
    ::unlink(name.c_str());
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) != 0)
      return failWithErrno(path, "can't be named");
    temporary = name;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return failWithErrno(path, "can't be named");
  temporary.clear();
  return Error::success();
}

} // namespace sdc
