// Ranges of bytes that must not overlap, and names that must differ.

#ifndef SDC_RUNTIME_SRC_RANGES_H
#define SDC_RUNTIME_SRC_RANGES_H

#include "runtime/src/allocator.h"

#include <algorithm>
#include <cstring>

namespace sdc::rt {

/// An array whose memory comes from an Allocator and goes with it.
template <typename T> class Array {
public:
  Array(const Allocator &allocator, uint64_t capacity)
      : allocator(allocator), bytes(capacity * sizeof(T)),
        items(capacity ? static_cast<T *>(allocator.allocate(bytes, kAlign))
                       : nullptr) {}
  ~Array() { allocator.release(items, bytes, kAlign); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  /// False if there was no memory for it.
  bool valid() const { return items || bytes == 0; }
  void add(const T &item) { items[count++] = item; }
  uint32_t size() const { return count; }
  T *begin() { return items; }
  T *end() { return items + count; }
  T &operator[](uint32_t index) { return items[index]; }

private:
  static constexpr uint64_t kAlign = 64;
  const Allocator &allocator;
  uint64_t bytes;
  T *items;
  uint32_t count = 0;
};

/// Bytes [begin, end) of item number `index`.
struct Range {
  uint64_t begin;
  uint64_t end;
  uint32_t index;

  friend bool operator<(const Range &a, const Range &b) {
    if (a.begin != b.begin)
      return a.begin < b.begin;
    return a.end != b.end ? a.end < b.end : a.index < b.index;
  }
};

/// Two items, the lower number first.
struct Pair {
  bool found;
  uint32_t first;
  uint32_t second;
};

inline Pair makePair(uint32_t a, uint32_t b) {
  return {true, std::min(a, b), std::max(a, b)};
}

/// Sorts `ranges` and finds two that overlap. Ranges that are equal overlap
/// unless `allowEqual`; empty ones do not.
inline Pair findOverlap(Array<Range> &ranges, bool allowEqual) {
  std::sort(ranges.begin(), ranges.end());
  const Range *last = nullptr;
  for (const Range &range : ranges) {
    if (range.begin == range.end)
      continue;
    if (last && range.begin < last->end) {
      bool equal = range.begin == last->begin && range.end == last->end;
      if (!allowEqual || !equal)
        return makePair(last->index, range.index);
    }
    last = &range;
  }
  return {};
}

/// Item number `index` is called `name`.
struct Name {
  const char *name;
  uint32_t index;
};

/// Sorts `names` and finds two that are equal.
inline Pair findDuplicate(Array<Name> &names) {
  std::sort(names.begin(), names.end(), [](const Name &a, const Name &b) {
    int order = strcmp(a.name, b.name);
    return order != 0 ? order < 0 : a.index < b.index;
  });
  for (uint32_t i = 1; i < names.size(); ++i)
    if (strcmp(names[i - 1].name, names[i].name) == 0)
      return makePair(names[i - 1].index, names[i].index);
  return {};
}

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_RANGES_H
