// The spool, on pwrite.

#include "compiler/Weights/Spool.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

using namespace sdc;

static llvm::Error spoolError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 what + ": " + llvm::sys::StrError(errno));
}

llvm::Expected<std::unique_ptr<Spool>>
Spool::createUnnamed(llvm::StringRef folder) {
  std::string where = folder.empty() ? "." : folder.str();
  std::string made;
  int fd = ::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) { // A file system without O_TMPFILE.
    made = where + "/.sdc-spool-XXXXXX";
    fd = ::mkostemp(made.data(), O_CLOEXEC);
    if (fd < 0)
      return spoolError(where + ": can't make a spool file");
  }
  std::string name = "/proc/self/fd/" + std::to_string(fd);
  bool reachable = llvm::sys::fs::exists(name);
  if (!reachable && made.empty()) {
    ::close(fd);
    errno = ENOENT;
    return spoolError("/proc/self/fd");
  }
  std::unique_ptr<Spool> spool(new Spool(fd, reachable ? name : made));
  spool->place = where;
  if (reachable && !made.empty())
    ::unlink(made.c_str());
  else
    spool->toRemove = made;
  return spool;
}

llvm::Expected<std::unique_ptr<Spool>>
Spool::createNamed(llvm::StringRef path) {
  int fd =
      ::open(path.str().c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0)
    return spoolError(path);
  // Relative paths of weights start from the model's folder, not from here.
  llvm::SmallString<256> absolute = path;
  llvm::sys::fs::make_absolute(absolute);
  std::unique_ptr<Spool> spool(new Spool(fd, absolute.str().str()));
  spool->named = true;
  spool->place = path.str();
  return spool;
}

Spool::~Spool() {
  ::close(fd);
  if (!toRemove.empty())
    ::unlink(toRemove.c_str());
}

int64_t Spool::reserve(int64_t bytes) {
  int64_t offset = end;
  end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

llvm::Error Spool::write(int64_t offset, llvm::ArrayRef<uint8_t> bytes) const {
  while (!bytes.empty()) {
    ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0 && failed.exchange(true))
      return llvm::Error::success(); // said before
    if (done <= 0)
      return spoolError(place + ": can't write new weights");
    bytes = bytes.drop_front(static_cast<size_t>(done));
    offset += done;
  }
  return llvm::Error::success();
}

llvm::Error Spool::finish() const {
  if (::ftruncate(fd, end) != 0)
    return spoolError(place + ": can't write new weights");
  return llvm::Error::success();
}

void Spool::release(int64_t offset, int64_t bytes) const {
  if (named)
    return;
  ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}
