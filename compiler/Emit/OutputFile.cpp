// O_TMPFILE, then link and rename; see OutputFile.h.

#include "compiler/Emit/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
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

/// Takes the lock that says that a file has a writer. False if another has it,
/// or if the file system knows no locks.
static bool lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// Removes what writers of `path` left that were killed.
static void removeAbandoned(StringRef path) {
  std::string prefix = (llvm::sys::path::filename(path) + ".part-").str();
  std::error_code failed;
  for (llvm::sys::fs::directory_iterator it(folderOf(path), failed), end;
       !failed && it != end; it.increment(failed)) {
    if (!llvm::sys::path::filename(it->path()).starts_with(prefix))
      continue;
    int fd = ::open(it->path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
      continue;
    struct stat info;
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lock(fd))
      ::unlink(it->path().c_str());
    ::close(fd);
  }
}

/// Calls `make` with names beside `path` until one is not taken. Gives the name,
/// or nothing and errno.
template <typename Make>
static std::string makeName(StringRef path, const Make &make) {
  for (unsigned i = 0; i < 100; ++i) {
    std::string name =
        (path + ".part-" + Twine(::getpid()) + "-" + Twine(i)).str();
    if (make(name))
      return name;
    if (errno != EEXIST)
      break;
  }
  return "";
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(StringRef path,
                                                         int64_t size) {
  removeAbandoned(path);
  if (Error error = checkDiskSpace(path, size))
    return std::move(error);
  std::string folder = folderOf(path), temporary;
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
    temporary = makeName(path, [&](const std::string &name) {
      fd = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
      return fd >= 0;
    });
  if (fd < 0)
    return failWithErrno(path, "can't be written");
  std::unique_ptr<OutputFile> file(new OutputFile(fd, path.str()));
  file->temporary = std::move(temporary);
  lock(fd);
  // Takes the room at once where the file system can.
  if (size > 0 && ::fallocate(fd, 0, 0, size) != 0 && errno == ENOSPC)
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
    std::string own = "/proc/self/fd/" + std::to_string(fd);
    temporary = makeName(path, [&](const std::string &name) {
      return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(),
                      AT_SYMLINK_FOLLOW) == 0;
    });
  }
  if (temporary.empty() || ::rename(temporary.c_str(), path.c_str()) != 0)
    return failWithErrno(path, "can't be named");
  temporary.clear();
  return Error::success();
}

Error writeOutput(StringRef path, StringRef text) {
  Expected<std::unique_ptr<OutputFile>> file = OutputFile::create(path, 0);
  if (!file)
    return file.takeError();
  if (Error error = (*file)->write(0, arrayRefFromStringRef(text)))
    return error;
  return (*file)->commit();
}

} // namespace sdc
