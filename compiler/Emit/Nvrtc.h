// NVIDIA's run-time compiler, opened when it is needed: CUDA C++ to cubins, on
// a machine that needs no GPU.

#ifndef SDC_COMPILER_EMIT_NVRTC_H
#define SDC_COMPILER_EMIT_NVRTC_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sdc {

class Nvrtc {
public:
  /// Opens the library: in `folder` (`--cuda-path`) and nowhere else if that is
  /// given; else in CUDA_PATH, in /usr/local/cuda, in the package
  /// nvidia-cuda-nvrtc of the python3 on PATH, and where the loader looks. The
  /// error says what to install.
  static llvm::Expected<Nvrtc> open(llvm::StringRef folder);

  /// The architectures that it compiles for, as 80, 90, ...
  llvm::Expected<std::vector<int>> architectures() const;

  /// `arch` as in "sm_90a". The headers of kernels/Cuda/device can be included.
  /// The error is the compiler's log.
  llvm::Expected<llvm::SmallVector<char, 0>>
  compile(const std::string &source, llvm::StringRef arch, bool ptx) const;

  /// Where it was found.
  const std::string &path() const { return file; }

private:
  Nvrtc(void *library, std::string file);

  std::string file;
  using Program = void *;
  int (*createProgram)(Program *, const char *, const char *, int,
                       const char *const *, const char *const *);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int, const char *const *);
  int (*getLogSize)(Program, size_t *);
  int (*getLog)(Program, char *);
  int (*getCubinSize)(Program, size_t *);
  int (*getCubin)(Program, char *);
  int (*getPtxSize)(Program, size_t *);
  int (*getPtx)(Program, char *);
  int (*getNumArchs)(int *);
  int (*getArchs)(int *);
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_NVRTC_H
