// Memory and errors of one call: a Scope carries the caller's allocator and
// the first failure; a Buffer grows in it. No C++ library is needed at link
// time, so neither new nor std::vector appears here.
#ifndef SDC_RUNTIME_TEXT_MEMORY_H
#define SDC_RUNTIME_TEXT_MEMORY_H

#include "sdc/text.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace sdc::text {

/// The caller's allocator.
struct Allocator {
  void *(*reallocate)(void *user, void *block, size_t size);
  void *user;

  void *resize(void *block, size_t size) const {
    return reallocate(user, block, size);
  }
  void release(void *block) const {
    if (block)
      reallocate(user, block, 0);
  }
};

/// One call into the library. The first failure stays.
struct Scope {
  Allocator memory;
  sdc_text_error *error = nullptr;
  sdc_text_status status = SDC_TEXT_OK;

  /// Records a failure; always false, so that callers can return it.
  bool fail(sdc_text_status code, const char *format, ...)
      __attribute__((format(printf, 3, 4)));
  bool outOfMemory() { return fail(SDC_TEXT_OUT_OF_MEMORY, "out of memory"); }
};

/// A growing array of trivial values. Every call that allocates says whether
/// it could, and has told the scope when not.
template <typename T> class Buffer {
public:
  explicit Buffer(Scope &scope) : scope(&scope) {}
  ~Buffer() { scope->memory.release(items); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  T *data() { return items; }
  const T *data() const { return items; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  T &back() { return items[count - 1]; }
  T *begin() { return items; }
  T *end() { return items + count; }

  void clear() { count = 0; }
  void truncate(size_t size) { count = size; }

  [[nodiscard]] bool reserve(size_t wanted) {
    if (wanted <= capacity)
      return true;
    size_t next = capacity < 16 ? 16 : capacity + capacity / 2;
    if (next < wanted)
      next = wanted;
    if (next > SIZE_MAX / sizeof(T))
      return scope->outOfMemory();
    void *block = scope->memory.resize(items, next * sizeof(T));
    if (!block)
      return scope->outOfMemory();
    items = static_cast<T *>(block);
    capacity = next;
    return true;
  }

  [[nodiscard]] bool push(const T &value) {
    T copy = value;
    if (count == capacity && !reserve(count + 1))
      return false;
    items[count++] = copy;
    return true;
  }

  /// `values` must not lie inside this buffer.
  [[nodiscard]] bool append(const T *values, size_t n) {
    if (n == 0)
      return true;
    if (n > capacity - count &&
        (n > SIZE_MAX / sizeof(T) - count || !reserve(count + n)))
      return n <= SIZE_MAX / sizeof(T) - count ? false : scope->outOfMemory();
    memcpy(items + count, values, n * sizeof(T));
    count += n;
    return true;
  }

  /// New places hold no particular value.
  [[nodiscard]] bool resize(size_t size) {
    if (!reserve(size))
      return false;
    count = size;
    return true;
  }

  void swap(Buffer &other) {
    T *block = items;
    items = other.items;
    other.items = block;
    size_t n = count;
    count = other.count;
    other.count = n;
    n = capacity;
    capacity = other.capacity;
    other.capacity = n;
  }

  /// The block goes to the caller, and the buffer is empty.
  T *take() {
    T *block = items;
    items = nullptr;
    count = capacity = 0;
    return block;
  }

  /// Another call's scope takes over.
  void rebind(Scope &next) { scope = &next; }

private:
  Scope *scope;
  T *items = nullptr;
  size_t count = 0;
  size_t capacity = 0;
};

/// Memory that is given back all at once.
class Arena {
public:
  explicit Arena(Scope &scope) : scope(scope) {}
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Aligned to 8. Null, and the scope knows, when there is no more memory or
  /// the limit is met.
  void *allocate(size_t size);
  template <typename T> T *allocateArray(size_t n) {
    if (n > limit / sizeof(T)) {
      scope.outOfMemory();
      return nullptr;
    }
    return static_cast<T *>(allocate(n * sizeof(T)));
  }

  /// What a template may use, so that a hostile one ends with an error.
  static constexpr size_t limit = size_t(1) << 30;

private:
  struct Chunk {
    Chunk *next;
    size_t used;
    size_t size;
  };

  Scope &scope;
  Chunk *chunks = nullptr;
  size_t total = 0;
};

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_MEMORY_H
