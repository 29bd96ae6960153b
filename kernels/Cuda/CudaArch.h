// The architectures that device code is generated for.

#ifndef SDC_KERNELS_CUDA_CUDAARCH_H
#define SDC_KERNELS_CUDA_CUDAARCH_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sdc {

/// From the least to the most capable one.
enum class CudaArch : uint8_t { Sm80, Sm86, Sm89, Sm90a, Sm100a };
constexpr CudaArch kCudaArchs[] = {CudaArch::Sm80, CudaArch::Sm86,
                                   CudaArch::Sm89, CudaArch::Sm90a,
                                   CudaArch::Sm100a};

/// "sm_80" and so on; and back.
std::string_view cudaArchName(CudaArch arch);
std::optional<CudaArch> parseCudaArch(std::string_view name);

/// What launch geometry must know of a device of this architecture.
struct CudaLimits {
  /// Of the largest device; a grid may be larger or smaller than a device.
  int64_t multiprocessors;
  /// Shared memory of a multiprocessor, and what one CTA may take of it. Each
  /// CTA costs kReservedShared more than it asks for.
  int64_t sharedBytes, ctaSharedBytes;
  /// Programmatic dependent launch and bulk copies.
  bool bulkCopies;
};
constexpr int64_t kReservedShared = 1024;
const CudaLimits &cudaLimits(CudaArch arch);

} // namespace sdc

#endif // SDC_KERNELS_CUDA_CUDAARCH_H
