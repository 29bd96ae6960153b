// JSON as files of tokenizers write it.
#ifndef SDC_COMPILER_EMIT_JSONTEXT_H
#define SDC_COMPILER_EMIT_JSONTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace sdc {

/// llvm::json::parse, but for characters beyond U+1FFFF that are written as
/// two escapes: LLVM 22 joins the halves with `|` where `+` is due.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_JSONTEXT_H
