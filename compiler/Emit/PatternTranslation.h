// Translates the regular expressions of a tokenizer.json, which are written
// for Oniguruma, into patterns that mean the same to any version of PCRE2.
#ifndef SDC_COMPILER_EMIT_PATTERNTRANSLATION_H
#define SDC_COMPILER_EMIT_PATTERNTRANSLATION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sdc {

/// Every property, shorthand and set operation becomes explicit ranges: the
/// two libraries follow different versions of Unicode. What has no certain
/// translation (back references, named groups, POSIX classes, \X, \R, \K, ...)
/// is an error that names it and its byte.
llvm::Expected<std::string> translatePattern(llvm::StringRef pattern);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_PATTERNTRANSLATION_H
