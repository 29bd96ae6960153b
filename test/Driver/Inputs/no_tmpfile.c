// A file system that keeps no files without a name: preloaded, it refuses
// O_TMPFILE as such a one does.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int forward(const char *name, const char *path, int flags,
                   unsigned mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  int (*next)(const char *, int, ...) =
      (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
  return next(path, flags, mode);
}

#define FORWARD(NAME)                                                          \
  int NAME(const char *path, int flags, ...) {                                 \
    va_list arguments;                                                         \
    va_start(arguments, flags);                                                \
    unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;         \
    va_end(arguments);                                                         \
    return forward(#NAME, path, flags, mode);                                  \
  }
FORWARD(open)
FORWARD(open64)
