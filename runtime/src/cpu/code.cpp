// Machine code of an image in memory that may be executed.

#include "runtime/src/cpu/code.h"

#include "runtime/src/status.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace sdc::rt;
using namespace sdc::rt::cpu;

Code::~Code() {
  if (memory)
    munmap(memory, length);
}

sdc_status Code::map(int file, uint64_t offset, uint64_t size,
                     sdc_error *error) {
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file,
                      static_cast<off_t>(offset));
  if (mapped == MAP_FAILED)
    return fail(error, SDC_CODE_FORBIDDEN,
                "the system refuses to map code from the file: %s (is its file "
                "system mounted noexec?); open it from memory, or compile with "
                "--emit object and link it",
                systemError(errno));
  memory = mapped;
  length = size;
  return SDC_OK;
}

sdc_status Code::copy(const void *bytes, uint64_t size, sdc_error *error) {
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return fail(error, SDC_OUT_OF_MEMORY, "no memory for the code: %s",
                systemError(errno));
  memory = mapped;
  length = size;
  memcpy(memory, bytes, size);
  if (mprotect(memory, length, PROT_READ | PROT_EXEC) != 0)
    return fail(error, SDC_CODE_FORBIDDEN,
                "the system refuses to make memory executable: %s; open the "
                "file by its path, or compile with --emit object and link it",
                systemError(errno));
  return SDC_OK;
}
