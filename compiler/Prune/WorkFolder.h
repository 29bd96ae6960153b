// A folder of pruned weights that outlives a compile, so that a killed or
// re-targeted one goes on with what is done.
//
// Each weight is a file, named by a digest of all that its bytes depend on:
// the dense weight, the matrix, method, damping, pattern, type. Files are
// written beside their name and renamed, so that one that is there is whole.
//
//   file   = magic "SDCPRUN1"  u64 bytes of the report  u64 XXH3-64 of values
//            report (JSON)  zeros up to 4096  values
//
// all little-endian, values row-major in the type that the name was made of.

#ifndef SDC_COMPILER_PRUNE_WORKFOLDER_H
#define SDC_COMPILER_PRUNE_WORKFOLDER_H

#include "compiler/Prune/Prune.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sdc {

/// What the bytes of a pruned weight depend on.
struct PruneKey {
  uint64_t weightDigest = 0, matrixDigest = 0;
  int64_t rows = 0, columns = 0;
  PruneMethod method = PruneMethod::Magnitude;
  double damping = 0;
  Pattern pattern;
  ElementType type = ElementType::BF16;

  /// The digest, in hexadecimal digits.
  std::string str() const;
  int64_t valueBytes() const { return rows * columns * elementBytes(type); }
};

class WorkFolder {
public:
  /// Values begin here.
  static constexpr int64_t kValuesOffset = 4096;

  /// Makes the folder if it is not there.
  static llvm::Expected<WorkFolder> open(llvm::StringRef path);

  std::string pathOf(const PruneKey &key) const;

  /// The report of a weight that is there, whole and of the right size.
  std::optional<PruneReport> find(const PruneKey &key) const;

  /// Writes a weight; `fill(first, bytes)` gives the values from byte `first`
  /// on, piece by piece.
  llvm::Error
  store(const PruneKey &key, const PruneReport &report,
        llvm::function_ref<void(int64_t first,
                                llvm::MutableArrayRef<uint8_t> bytes)>
            fill) const;

private:
  explicit WorkFolder(std::string path) : path(std::move(path)) {}

  std::string path;
};

} // namespace sdc

#endif // SDC_COMPILER_PRUNE_WORKFOLDER_H
