// From specifications to the image of a level, or to text that people read.

#ifndef SDC_COMPILER_EMIT_KERNELIMAGE_H
#define SDC_COMPILER_EMIT_KERNELIMAGE_H

#include "compiler/Emit/Image.h"
#include "compiler/Emit/ObjectCode.h"
#include "kernels/Spec/KernelSpec.h"

namespace sdc {

/// Builds all kernels for a level and links them. `offsets` of the image are in
/// the order of `specs`. Each kernel is compiled on its own, `threads` at a
/// time, which the bytes do not show.
llvm::Expected<CodeImage> buildKernelImage(llvm::ArrayRef<KernelSpec> specs,
                                           CpuLevel level, unsigned threads);

/// All kernels of a level in one module, as an object or as text.
llvm::Expected<llvm::SmallVector<char, 0>>
emitKernels(llvm::ArrayRef<KernelSpec> specs, CpuLevel level, CodeForm form);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_KERNELIMAGE_H
