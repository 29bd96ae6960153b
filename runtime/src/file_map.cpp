// A file mapped for reading.

#include "runtime/src/file_map.h"

#include "runtime/src/status.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sdc::rt;

FileMap::~FileMap() {
  if (memory)
    munmap(memory, length);
  closeDescriptor();
}

void FileMap::closeDescriptor() {
  if (file >= 0)
    close(file);
  file = -1;
}

sdc_status FileMap::open(const char *path, sdc_error *error) {
  do
    file = ::open(path, O_RDONLY | O_CLOEXEC);
  while (file < 0 && errno == EINTR);
  if (file < 0)
    return fail(error, SDC_IO, "%s: %s", path, systemError(errno));
  struct stat status;
  if (fstat(file, &status) != 0)
    return fail(error, SDC_IO, "%s: %s", path, systemError(errno));
  if (!S_ISREG(status.st_mode))
    return fail(error, SDC_IO, "%s: %s", path,
                S_ISDIR(status.st_mode) ? systemError(EISDIR)
                                        : "not a regular file");
  length = status.st_size;
  if (length == 0)
    return SDC_OK;
  void *mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED)
    return fail(error, SDC_IO, "%s: cannot map it: %s", path,
                systemError(errno));
  memory = mapped;
  return SDC_OK;
}
