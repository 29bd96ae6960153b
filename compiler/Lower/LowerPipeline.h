// The room lower as one pipeline: fusion, then kernels.

#ifndef SDC_COMPILER_LOWER_LOWERPIPELINE_H
#define SDC_COMPILER_LOWER_LOWERPIPELINE_H

#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace sdc {

struct LowerOptions {
  /// Off for -O0: every op is a launch of its own.
  bool fuse = true;
  /// Of keys and values: auto, f32, f16 or bf16.
  std::string cacheType = "auto";
};

/// What `--kv-dtype auto` means beside `--dtype`: the type of matrices that was
/// asked for, if one was.
inline std::string cacheTypeFor(const std::string &kvType,
                                const std::string &type) {
  return kvType == "auto" ? type : kvType;
}

void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerOptions &options);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_LOWERPIPELINE_H
