// The image of an architecture: all kernels of a file in one cubin.

#ifndef SDC_COMPILER_EMIT_CUDAIMAGE_H
#define SDC_COMPILER_EMIT_CUDAIMAGE_H

#include "compiler/Emit/CudaSource.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace sdc {

struct CudaImage {
  llvm::SmallVector<char, 0> cubin;
  /// In the order of the specs.
  std::vector<CudaKernel> kernels;
  /// Ends a greedy step on the device.
  std::optional<CudaKernel> greedy;
};

/// The CUDA C++ of all kernels for an architecture. `labels` say what each
/// computes, for the comment above it; there may be none. `generators` come
/// behind, each once. `kernels` may be null.
llvm::Expected<std::string> cudaSource(llvm::ArrayRef<KernelSpec> specs,
                                       llvm::ArrayRef<std::string> labels,
                                       llvm::ArrayRef<CudaKernel> generators,
                                       CudaArch arch,
                                       std::vector<CudaKernel> *kernels);

/// Compiles for all of `archs`, `threads` at a time. A source that NVRTC
/// refuses is kept in a file that the error names.
llvm::Expected<std::vector<CudaImage>> buildCudaImages(
    llvm::ArrayRef<KernelSpec> specs, llvm::ArrayRef<std::string> labels,
    llvm::ArrayRef<CudaKernel> generators, llvm::ArrayRef<CudaArch> archs,
    llvm::StringRef cudaPath, unsigned threads);

/// PTX of all kernels for an architecture.
llvm::Expected<llvm::SmallVector<char, 0>>
emitPtx(llvm::ArrayRef<KernelSpec> specs, llvm::ArrayRef<std::string> labels,
        CudaArch arch, llvm::StringRef cudaPath);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_CUDAIMAGE_H
