// Sums of sizes, and the 64 bytes of the header.

#include "compiler/Emit/FileLayout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sdc {

FileLayout FileLayout::of(int64_t rootSize, const std::vector<int64_t> &sizes) {
  auto pageUp = [](int64_t value) {
    return (value + kPageBytes - 1) / kPageBytes * kPageBytes;
  };
  FileLayout layout;
  layout.rootSize = rootSize;
  int64_t end = pageUp(kHeaderBytes + rootSize);
  for (int64_t size : sizes) {
    layout.segments.push_back({end, size, 0});
    end = pageUp(end + size);
  }
  layout.fileSize = end;
  return layout;
}

std::array<uint8_t, kHeaderBytes>
FileLayout::header(uint64_t rootDigest) const {
  std::array<uint8_t, kHeaderBytes> bytes = {'S', 'D', 'C', 'E',
                                             'X', 'E', 'C', '\0'};
  auto put = [&](int at, int width, uint64_t value) {
    for (int i = 0; i < width; ++i)
      bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
  };
  put(8, 2, kFormatMajor);
  put(10, 2, kFormatMinor);
  put(16, 8, rootSize);
  put(24, 8, fileSize);
  put(32, 8, rootDigest);
  put(56, 8, XXH3_64bits(bytes.data(), 56));
  return bytes;
}

} // namespace sdc
