// The angles of a rotary embedding: what its cosines and sines say of its
// frequencies, whether they are computed in the graph or looked up in a table.

#ifndef SDC_COMPILER_RAISE_ROTATION_H
#define SDC_COMPILER_RAISE_ROTATION_H

#include "compiler/Raise/RaiseRewriter.h"

namespace sdc {

/// cos and sin of position x frequency, times scale.
struct Rotation {
  llvm::SmallVector<float> frequencies;
  double scale = 1;
};

/// Reads constants and weights by index.
class ConstantReader {
public:
  /// Files of the IR are relative to `folder`, or to that of the .mlir file if
  /// it is empty.
  ConstantReader(mlir::ModuleOp module, WeightSymbols &weights,
                 llvm::StringRef folder);

  /// All elements of a constant or weight, row-major; null if they can't be
  /// read, or are random.
  const std::vector<float> *read(mlir::Value root);

  /// Why something could not be read; empty if all could.
  llvm::StringRef getProblem() const { return problem; }

private:
  bool readWeight(decode::WeightOp weight, std::vector<float> &values);

  WeightSymbols &weights;
  std::string folder, problem;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<std::vector<float>>> known;
};

/// The rotation by which `cosine` and `sine`, expressions of the position and
/// of j < half, are those of position x frequencies[j]. Tables must hold that
/// within 1e-5, or the rounding of their type.
std::optional<Rotation> findRotation(RaiseRewriter &rewriter,
                                     ConstantReader &reader, Expr cosine,
                                     Expr sine, Expr position, Expr j,
                                     int64_t half);

/// x [B, S, heads, size] rotated.
mlir::Value createRotary(RaiseRewriter &rewriter, mlir::Location loc,
                         mlir::Value x, const Rotation &rotation,
                         bool interleaved);

} // namespace sdc

#endif // SDC_COMPILER_RAISE_ROTATION_H
