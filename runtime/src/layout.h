// Places of arrays in one block of memory: laid out once to measure, once more
// with the same calls to fill.

#ifndef SDC_RUNTIME_SRC_LAYOUT_H
#define SDC_RUNTIME_SRC_LAYOUT_H

#include "runtime/src/arithmetic.h"

namespace sdc::rt {

class Layout {
public:
  /// Measures if `block` is null.
  explicit Layout(void *block = nullptr)
      : block(static_cast<uint8_t *>(block)) {}

  /// Place for `count` items; null while measuring.
  template <typename T> T *take(Size count) {
    return reinterpret_cast<T *>(takeBytes(count * Size(sizeof(T))));
  }
  uint8_t *takeBytes(Size bytes) {
    // A line of the cache each, so that threads do not share one by chance.
    Size begin = end.alignedTo(64);
    end = begin + bytes;
    return block ? block + begin.value : nullptr;
  }
  Size size() const { return end.alignedTo(64); }

private:
  uint8_t *block;
  Size end;
};

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_LAYOUT_H
