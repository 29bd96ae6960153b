// Memory of handles: the caller's allocator, or pages of the system, which are
// zero and take room only once they are touched.

#include "runtime/src/allocator.h"

#include "runtime/src/arithmetic.h"

#include <cstring>
#include <sys/mman.h>

using namespace sdc::rt;

static void *mapPages(void *, size_t bytes, size_t) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  return memory;
}

static void unmapPages(void *, void *memory, size_t bytes, size_t) {
  munmap(memory, bytes);
}

Allocator Allocator::from(const sdc_allocator *options) {
  if (options && options->allocate)
    return {*options};
  return {{sizeof(sdc_allocator), nullptr, mapPages, unmapPages, true}};
}

void *Allocator::allocate(uint64_t bytes, uint64_t alignment) const {
  Size rounded = Size(bytes).alignedTo(alignment);
  if (!rounded.isAtMost(SIZE_MAX) || rounded.value == 0)
    return nullptr;
  void *memory = functions.allocate(functions.user, rounded.value, alignment);
  if (memory && !functions.zeroed)
    memset(memory, 0, rounded.value);
  return memory;
}

void Allocator::release(void *memory, uint64_t bytes,
                        uint64_t alignment) const {
  if (memory)
    functions.release(functions.user, memory,
                      Size(bytes).alignedTo(alignment).value, alignment);
}
