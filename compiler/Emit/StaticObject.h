// A relocatable object that holds an executable: its bytes, the images as
// ordinary code, and a table through which the runtime finds both. It is an ELF
// file of x86-64 around the bytes of the .sdx, which stream into it:
//
//   object = head bytes tail
//   head   = ELF header, zeros up to a page
//   tail   = sections: code of each level, table and its relocations, symbols,
//            names; then the section headers
//
// The bytes are a section of their own of the large code model, so that they
// may have any size and no instruction refers to them; the table is read-only
// after relocation, and its pointers are the only relocations.

#ifndef SDC_COMPILER_EMIT_STATICOBJECT_H
#define SDC_COMPILER_EMIT_STATICOBJECT_H

#include "compiler/Emit/Image.h"

namespace sdc {

/// What a level has in the object.
struct StaticImage {
  llvm::StringRef level;
  const CodeImage *image;
};

struct StaticObject {
  std::vector<uint8_t> head, tail;
};

/// The object around an executable of `size` bytes, a multiple of 8. `kernels`
/// are the names of kernels in the order of the images' offsets. The table is
/// the symbol `symbol`, an sdc_static_model.
StaticObject wrapExecutable(int64_t size, llvm::ArrayRef<StaticImage> images,
                            llvm::ArrayRef<std::string> kernels,
                            llvm::StringRef symbol);

/// The symbol for an object of this file name: its stem with `_sdx` behind it,
/// and `_` for what no C name may hold.
std::string staticSymbol(llvm::StringRef path);

/// The C header that declares `symbol`.
std::string staticHeader(llvm::StringRef path, llvm::StringRef symbol);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_STATICOBJECT_H
