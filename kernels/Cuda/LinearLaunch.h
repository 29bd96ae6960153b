// Grid, threads and shared memory of a linear kernel (device/linear.cuh), and
// the parameters of its template, from shape, pattern, type and architecture.

#ifndef SDC_KERNELS_CUDA_LINEARLAUNCH_H
#define SDC_KERNELS_CUDA_LINEARLAUNCH_H

#include "kernels/Cuda/CudaArch.h"
#include "kernels/Spec/KernelSpec.h"

#include <string>

namespace sdc {

struct LinearLaunch {
  /// Template parameters kWarps and kStages, and what __launch_bounds__ is told
  /// of CTAs on a multiprocessor.
  unsigned warps = 8, stages = 1, ctas = 1;
  /// grid is x: multiprocessors, y: rows of output.
  unsigned gridX = 1, gridY = 1;
  int64_t sharedBytes = 0;
  /// Why these.
  std::string why;

  unsigned threads() const { return warps * 32; }
};

/// Tile of a weight on CUDA: fragments where tensor cores multiply it.
Tile cudaTile(Pattern pattern, ElementType type);

/// Parts of `spec` must share pattern, type and tile: see linearProblem.
LinearLaunch linearLaunch(const LinearSpec &spec, CudaArch arch);

/// Empty if one kernel can compute all parts, else what differs.
std::string linearProblem(const LinearSpec &spec);

/// Bytes of dynamic shared memory; linear.cuh computes the same, and generated
/// kernels assert it.
int64_t linearSharedBytes(const LinearSpec &spec, unsigned warps,
                          unsigned stages);

} // namespace sdc

#endif // SDC_KERNELS_CUDA_LINEARLAUNCH_H
