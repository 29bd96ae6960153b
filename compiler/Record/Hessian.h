// Sums of x x^T over the positions of a recording: what pruning later knows of
// a linear's input.
//
// Positions are of three classes that are summed apart, so that pruning can
// weigh them without another recording: decode positions, prompt positions, and
// the first position of a sequence, which carries the attention sink.
//
// Rows are collected in f32 and added 256 at a time: products and chains of 256
// terms in f32, sums in f64. The relative error stays below 1e-6 of
// sqrt(H[i,i] H[j,j]) over millions of positions, also when every position is
// the same (where a sum in f32 drifts by 1e-4).

#ifndef SDC_COMPILER_RECORD_HESSIAN_H
#define SDC_COMPILER_RECORD_HESSIAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sdc {

/// What a row of a tap is. None: an inactive slot or padding, not summed.
enum class PositionClass : uint8_t { Decode, Prompt, First, None };

constexpr unsigned kPositionClasses = 3;

/// "decode", "prompt", "first".
llvm::StringRef positionClassName(PositionClass positions);

/// Floats of the upper triangle of a `columns` x `columns` matrix, packed row
/// by row: row i holds columns i, i + 1, ...
constexpr int64_t triangleSize(int64_t columns) {
  return columns * (columns + 1) / 2;
}

/// The sums of one key. Memory: 8 bytes for each element of a triangle and
/// class, and 256 rows of f32, of the classes that occur.
class Hessian {
public:
  explicit Hessian(int64_t columns) : size(columns) {}

  int64_t columns() const { return size; }
  int64_t count(PositionClass positions) const {
    return sums[static_cast<size_t>(positions)].count;
  }

  /// Adds classes.size() rows that begin `stride` floats apart. Refuses a value
  /// that is not finite, naming row and column; nothing is added then.
  llvm::Error add(const float *rows, int64_t stride,
                  llvm::ArrayRef<PositionClass> classes, unsigned threads);

  /// Ends a wave: adds what is collected and rounds the sums to f32, the
  /// precision of the file. A recording that goes on from the file then has the
  /// bits of one that was never interrupted.
  void finishWave(unsigned threads);

  /// The triangle of a class in f32, valid after finishWave(). `out` has
  /// triangleSize(columns()) floats.
  void triangle(PositionClass positions, float *out) const;

  /// Starts from a triangle of a file.
  void load(PositionClass positions, llvm::ArrayRef<float> triangle,
            int64_t count);

private:
  /// Rows of one panel of the triangle; the panel's columns begin with its
  /// first row, so only the diagonal blocks are stored as squares.
  static constexpr int64_t kPanel = 256;
  static constexpr int64_t kRows = 256;

  struct Sum {
    int64_t count = 0;
    /// Rows in `pending`.
    int64_t collected = 0;
    std::vector<float> pending;
    std::vector<std::vector<double>> panels;
  };

  void allocate(Sum &sum) const;
  void flush(Sum &sum, unsigned threads) const;

  int64_t size;
  std::array<Sum, kPositionClasses> sums;
};

} // namespace sdc

#endif // SDC_COMPILER_RECORD_HESSIAN_H
