// The calibration file: what the inputs of linears looked like while the dense
// model wrote, and what it wrote.
//
// A safetensors file, so that Python reads and writes it too. Tensors, in this
// order:
//
//   rollouts.prompt_lengths  I32 [R]      tokens of each prompt
//   rollouts.total_lengths   I32 [R]      prompt and written tokens
//   rollouts.tokens          I32 [T]      all of them, one after the other
//   KEY.counts               I64 [3]      positions: decode, prompt, first
//   KEY.decode               F32 [K (K + 1) / 2]
//   KEY.prompt               F32 [K (K + 1) / 2]
//   KEY.first                F32 [K (K + 1) / 2]
//
// for each KEY ("layers.7.attn_in") in the order of the model. A matrix is the
// upper triangle of the sum of x x^T, packed row by row; it is left out when
// its count is 0. In Python:
//
//   h = numpy.zeros((K, K)); h[numpy.triu_indices(K)] = file["KEY.decode"]
//
// Metadata, all strings: "format" is "sdc-calibration", "version" "1",
// "linears" a JSON array of {name, rows, columns, input, norm, projections} (the
// architecture, and fingerprints as in Fingerprint.h), "sources" a JSON array
// with one object of settings for each recording that was added up.

#ifndef SDC_COMPILER_RECORD_CALIBRATION_H
#define SDC_COMPILER_RECORD_CALIBRATION_H

#include "compiler/Record/Fingerprint.h"
#include "compiler/Record/Hessian.h"
#include "compiler/Record/Safetensors.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace sdc {

/// A linear of the recorded model, by its name ("layers.7.q") and by the key of
/// its input.
struct RecordedLinear {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  std::string input;
  Fingerprint fingerprint;
};

/// A distinct input of linears.
struct CalibrationKey {
  std::string name;
  int64_t columns = 0;
  /// Positions by class.
  std::array<int64_t, kPositionClasses> counts = {};
};

/// How one recording was made: "seed", "temperature", "top_k", "top_p",
/// "prompts" and "tokenizer" (digests) and so on.
using RecordSettings = std::map<std::string, std::string>;

/// Everything but the matrices.
struct CalibrationInfo {
  std::vector<RecordedLinear> linears;
  std::vector<CalibrationKey> keys;
  std::vector<RecordSettings> sources;
  std::vector<int32_t> promptLengths;
  std::vector<int32_t> totalLengths;
  std::vector<int32_t> tokens;

  const CalibrationKey *findKey(llvm::StringRef name) const;
};

/// The inputs of `linears`, each once, in order of first use; no counts.
std::vector<CalibrationKey> keysOf(llvm::ArrayRef<RecordedLinear> linears);

/// How much a position of each class weighs in pruning.
struct PositionWeights {
  std::array<double, kPositionClasses> weights = {1, 0, 0};

  /// "decode" (1,0,0), "prompt" (0,1,1), "all" (1,1,1), or three numbers for
  /// decode, prompt and first, as in "1,3,0.5".
  static llvm::Expected<PositionWeights> parse(llvm::StringRef text);
};

/// A file opened for reading. Matrices are read key by key from the mapping.
class Calibration {
public:
  /// Checks everything but the values of matrices.
  static llvm::Expected<Calibration> open(llvm::StringRef path);

  const std::string &path() const { return file.path(); }
  const CalibrationInfo &info() const { return content; }

  /// The triangle of one class; all zeros if its count is 0. Refuses values
  /// that are not finite and negative diagonals, naming the place.
  llvm::Error triangle(llvm::StringRef key, PositionClass positions,
                       std::vector<float> &out) const;

  /// The weighed sum as a full symmetric matrix, for pruning: `out` has
  /// columns x columns floats. An error if there is no such key, if its
  /// columns differ, or if no position of a class with a weight was recorded.
  llvm::Error weigh(llvm::StringRef key, int64_t columns,
                    const PositionWeights &weights, float *out) const;

  /// Reads and checks every value of every matrix; all problems at once.
  llvm::Error verify() const;

private:
  SafetensorsFile file;
  CalibrationInfo content;
};

/// Writes a file; triangles are handed over key by key, in the order of
/// info.keys, each with the triangles of the classes whose count is not 0, in
/// the order of PositionClass.
class CalibrationWriter {
public:
  static llvm::Expected<CalibrationWriter> create(llvm::StringRef path,
                                                  const CalibrationInfo &info);

  void append(llvm::ArrayRef<float> triangle) {
    writer.append(triangle.data(), triangle.size() * sizeof(float));
  }
  /// The counts of a key, before its triangles.
  void beginKey(const CalibrationKey &key) {
    writer.append(key.counts.data(), sizeof(key.counts));
  }
  llvm::Error finish() { return writer.finish(); }

private:
  explicit CalibrationWriter(SafetensorsWriter writer)
      : writer(std::move(writer)) {}

  SafetensorsWriter writer;
};

/// Writes the sums of a recording, one Hessian for each of info.keys, whose
/// counts are taken from them. A checkpoint is this at the end of a wave: the
/// file is replaced by rename, so that there is a whole one at any time.
llvm::Error writeCalibration(llvm::StringRef path, CalibrationInfo info,
                             llvm::ArrayRef<const Hessian *> sums);

} // namespace sdc

#endif // SDC_COMPILER_RECORD_CALIBRATION_H
