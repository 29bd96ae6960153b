// Where the parts of an executable lie in the file, by the grammar at the top
// of schema/executable.fbs, and its header.

#ifndef SDC_COMPILER_EMIT_FILELAYOUT_H
#define SDC_COMPILER_EMIT_FILELAYOUT_H

#include <array>
#include <cstdint>
#include <vector>

namespace sdc {

constexpr uint16_t kFormatMajor = 1, kFormatMinor = 0;
constexpr int64_t kHeaderBytes = 64;
constexpr int64_t kPageBytes = 4096;

/// Bytes and digest of each segment, in the order of the file.
struct SegmentPlace {
  int64_t offset = 0;
  int64_t size = 0;
  uint64_t digest = 0;
};

struct FileLayout {
  int64_t rootSize = 0;
  std::vector<SegmentPlace> segments;
  int64_t fileSize = 0;

  /// Segments one behind the other, each at the begin of a page, behind a root
  /// of `rootSize` bytes.
  static FileLayout of(int64_t rootSize, const std::vector<int64_t> &sizes);

  /// The header; `rootDigest` is XXH3-64 of the root.
  std::array<uint8_t, kHeaderBytes> header(uint64_t rootDigest) const;
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_FILELAYOUT_H
