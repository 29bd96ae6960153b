// From specifications to CUDA C++: a kernel is a few readable lines that
// instantiate a template of kernels/Cuda/device, and how it is launched.

#ifndef SDC_COMPILER_EMIT_CUDASOURCE_H
#define SDC_COMPILER_EMIT_CUDASOURCE_H

#include "kernels/Cuda/CudaArch.h"
#include "kernels/Spec/KernelSpec.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace sdc {

struct CudaKernel {
  /// The spec's name with '_' for '.'.
  std::string symbol;
  /// The device header that it instantiates.
  std::string header;
  std::string text;
  int64_t gridX = 1, gridY = 1, gridZ = 1;
  int64_t block = 1;
  int64_t sharedBytes = 0;
};

/// The kernel of `spec` for an architecture. The error says what no kernel
/// computes on CUDA.
llvm::Expected<CudaKernel> cudaKernel(const KernelSpec &spec, CudaArch arch);

/// Fills a weight of a Generated segment: packed, or plain without a tile.
/// `element` is its type.
CudaKernel cudaGenerator(int64_t rows, int64_t columns, Pattern pattern,
                         ElementType element, std::optional<Tile> tile);

/// Ends a greedy decode step on the device; see Image.greedy of the schema.
CudaKernel cudaGreedy();

} // namespace sdc

#endif // SDC_COMPILER_EMIT_CUDASOURCE_H
