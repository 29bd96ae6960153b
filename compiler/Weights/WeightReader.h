// Reads the weights that decode.weight ops name, block of rows by block of
// rows, whatever they lie in: a range of a file, a random stream, an attribute;
// row-major or transposed; f32, f16, bf16 or f64.
//
// Memory is what the caller gives, plus mapped pages of files: those of a
// row-major source are dropped as soon as they were read, those of a
// transposed one when the reader goes. A transposed source is read in tiles; a
// caller should ask for as many rows at once as it can hold.

#ifndef SDC_COMPILER_WEIGHTS_WEIGHTREADER_H
#define SDC_COMPILER_WEIGHTS_WEIGHTREADER_H

#include "compiler/Weights/MappedRange.h"
#include "compiler/Weights/RandomWeights.h"
#include "dialects/Decode/DecodeDialect.h"
#include "kernels/Format/ElementType.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// The path by which to open `path`: a relative one is taken from `folder`.
std::string resolveWeightPath(llvm::StringRef path, llvm::StringRef folder);

/// The folder that relative paths of a module start from: `given`, or, if that
/// is empty, the folder of the .mlir file that the module was read from.
std::string weightFolderOf(mlir::ModuleOp module, llvm::StringRef given);

class WeightReader {
public:
  /// A reader of nothing.
  WeightReader() = default;

  /// Errors name the file or the type at fault, not the weight.
  static llvm::Expected<WeightReader> open(decode::WeightOp weight,
                                           llvm::StringRef folder);

  /// The weight as a matrix: a vector is one row, a tensor of higher rank has
  /// its last axis as columns.
  int64_t rows() const { return numRows; }
  int64_t columns() const { return numColumns; }

  /// Writes rows first .. first + count, `stride` floats apart, rounded to the
  /// type of the weight. Safe from several threads.
  void readRows(int64_t first, int64_t count, float *out, int64_t stride) const;

  /// XXH3-64 of all rows as f32.
  uint64_t digest() const;

private:
  enum class Stored : uint8_t { F32, F16, BF16, F64 };

  void loadStored(int64_t element, int64_t count, float *out) const;
  void readTransposed(int64_t first, int64_t count, float *out,
                      int64_t stride) const;

  int64_t numRows = 0, numColumns = 0;
  /// Element of the stored tensor that (0, 0) is, and whether rows are its
  /// columns; storedColumns is the length of its rows.
  int64_t origin = 0, storedColumns = 0;
  bool transposed = false;

  /// Exactly one of these holds the elements.
  MappedRange mapped;
  std::vector<uint8_t> owned;
  std::optional<RandomWeights> random;
  float randomScale = 1, randomShift = 0;

  Stored stored = Stored::F32;
  ElementType rounding = ElementType::F32;
  bool rounds = false; // what is stored is not of that type already
};

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_WEIGHTREADER_H
