// A range of a file, mapped and not read: what is looked at comes into memory,
// as pages of the file that the kernel may drop at any time.

#ifndef SDC_COMPILER_WEIGHTS_MAPPEDRANGE_H
#define SDC_COMPILER_WEIGHTS_MAPPEDRANGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace sdc {

class MappedRange {
public:
  /// Maps `length` bytes from byte `offset` of the file `path`. An error names
  /// the file: it can't be opened, or it ends before the range does.
  static llvm::Expected<MappedRange> open(llvm::StringRef path, int64_t offset,
                                          int64_t length);

  MappedRange() = default;
  MappedRange(MappedRange &&other) noexcept { swap(other); }
  MappedRange &operator=(MappedRange &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedRange();

  llvm::ArrayRef<uint8_t> bytes() const { return range; }

  /// Gives back the pages that lie wholly inside bytes [first, last). Reading
  /// them again is allowed and reads the file again.
  void drop(int64_t first, int64_t last) const;

private:
  void swap(MappedRange &other) noexcept;

  llvm::ArrayRef<uint8_t> range;
  void *base = nullptr;
  size_t size = 0;
};

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_MAPPEDRANGE_H
