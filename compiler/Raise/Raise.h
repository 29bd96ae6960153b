// The room that gives a graph its meaning: the pipeline from generic ONNX
// nodes to decode operations.

#ifndef SDC_COMPILER_RAISE_RAISE_H
#define SDC_COMPILER_RAISE_RAISE_H

#include <cstdint>
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace sdc {

struct RaiseOptions {
  /// Positions of a cache.
  int64_t context = 4096;
  /// Logits of every row of a prefill, not of the last alone.
  bool allLogits = false;
  /// The folder to which paths in the IR are relative.
  std::string folder;
};

/// Adds the passes of this room, a verifying one at the end.
void buildRaisePipeline(mlir::OpPassManager &manager,
                        const RaiseOptions &options);

/// Registers the pipeline as `raise`, with its options.
void registerRaisePipeline();

} // namespace sdc

#endif // SDC_COMPILER_RAISE_RAISE_H
