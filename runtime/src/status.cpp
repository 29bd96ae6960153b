// Statuses, their names and their messages.

#include "runtime/src/status.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

using namespace sdc::rt;

sdc_status sdc::rt::fail(sdc_error *error, sdc_status code, const char *format,
                         ...) {
  if (!error)
    return code;
  error->code = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return code;
}

// strerror allocates, answers in the user's language and is not thread-safe.
const char *sdc::rt::systemError(int number) {
  switch (number) {
  case ENOENT:
    return "no such file or directory";
  case EACCES:
    return "permission denied";
  case EPERM:
    return "operation not permitted";
  case EISDIR:
    return "is a directory";
  case ENOTDIR:
    return "a part of the path is not a directory";
  case ENOSPC:
    return "no space left on the device";
  case EDQUOT:
    return "disk quota exceeded";
  case EROFS:
    return "read-only file system";
  case EMFILE:
  case ENFILE:
    return "too many open files";
  case ENOMEM:
    return "out of memory";
  case EAGAIN:
    return "a limit of the system is reached";
  case EIO:
    return "input/output error";
  case ENAMETOOLONG:
    return "the name is too long";
  case ELOOP:
    return "too many symbolic links";
  case ENODEV:
    return "the file cannot be mapped";
  default:
    return "system error";
  }
}

const char *sdc_status_name(sdc_status status) {
#define CASE(name)                                                             \
  case SDC_##name:                                                             \
    return #name;
  switch (status) {
    CASE(OK)
    CASE(NOT_EXECUTABLE)
    CASE(WRONG_MAJOR)
    CASE(TRUNCATED)
    CASE(CORRUPT)
    CASE(MALFORMED)
    CASE(WRONG_MODEL)
    CASE(BAD_ARGUMENT)
    CASE(MISALIGNED)
    CASE(BAD_TOKEN)
    CASE(CONTEXT_FULL)
    CASE(NO_LOGITS)
    CASE(NOT_COMPILED)
    CASE(BAD_TENSOR)
    CASE(TOO_SMALL)
    CASE(OUT_OF_MEMORY)
    CASE(IO)
    CASE(NO_IMAGE)
    CASE(NO_DEVICE)
    CASE(CODE_FORBIDDEN)
    CASE(NO_THREADS)
    CASE(DEVICE_FAILED)
    CASE(CANCELLED)
  }
#undef CASE
  return "unknown";
}
