// Scope and Arena: failures with a message, and memory in chunks.
#include "runtime/text/memory.h"

#include <stdarg.h>
#include <stdio.h>

using namespace sdc::text;

bool Scope::fail(sdc_text_status code, const char *format, ...) {
  if (status != SDC_TEXT_OK)
    return false;
  status = code;
  if (!error)
    return false;
  va_list args;
  va_start(args, format);
  vsnprintf(error->message, sizeof(error->message), format, args);
  va_end(args);
  return false;
}

Arena::~Arena() {
  while (chunks) {
    Chunk *next = chunks->next;
    scope.memory.release(chunks);
    chunks = next;
  }
}

void *Arena::allocate(size_t size) {
  if (size > limit - 8) {
    scope.outOfMemory();
    return nullptr;
  }
  size = (size + 7) & ~size_t(7);
  if (!chunks || chunks->size - chunks->used < size) {
    size_t room = size > 16384 ? size : 16384;
    if (room > limit - total) {
      scope.fail(SDC_TEXT_TEMPLATE_ERROR,
                 "the template uses more than %zu bytes", limit);
      return nullptr;
    }
    auto *chunk = static_cast<Chunk *>(
        scope.memory.resize(nullptr, sizeof(Chunk) + room));
    if (!chunk) {
      scope.outOfMemory();
      return nullptr;
    }
    *chunk = {chunks, 0, room};
    chunks = chunk;
    total += room;
  }
  void *place = reinterpret_cast<char *>(chunks + 1) + chunks->used;
  chunks->used += size;
  return place;
}
