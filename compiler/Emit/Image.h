// A code image: machine code that runs wherever it is mapped. Objects are laid
// out one behind the other and their references to each other resolved, which
// leaves no imports, no relocations, no initialisers and no writable data;
// anything that would is an error that names the symbol.

#ifndef SDC_COMPILER_EMIT_IMAGE_H
#define SDC_COMPILER_EMIT_IMAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

struct CodeImage {
  /// Code, then read-only data: all of it is mapped read and execute, at an
  /// address that is a multiple of 64.
  std::vector<uint8_t> bytes;
  /// The first byte of each kernel asked for, in that order.
  std::vector<uint64_t> offsets;
};

/// Links ELF relocatable objects of x86-64. The same objects in the same order
/// give the same bytes. All problems found are reported in one error.
llvm::Expected<CodeImage> linkImage(llvm::ArrayRef<llvm::StringRef> objects,
                                    llvm::ArrayRef<std::string> kernels);

/// Symbols that the objects refer to and none of them defines, sorted.
llvm::Expected<std::vector<std::string>>
undefinedSymbols(llvm::ArrayRef<llvm::StringRef> objects);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_IMAGE_H
