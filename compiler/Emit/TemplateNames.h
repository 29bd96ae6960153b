// The words of the template language that are more than grammar: filters,
// tests, methods and functions, with the parameters of each.
#ifndef SDC_COMPILER_EMIT_TEMPLATENAMES_H
#define SDC_COMPILER_EMIT_TEMPLATENAMES_H

#include "schema/text_generated.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace sdc {

template <typename Op> struct TemplateWord {
  llvm::StringLiteral name;
  Op op;
  /// Names of the parameters in their order, with spaces between; those that
  /// a call leaves out are absent. "*" takes any.
  llvm::StringLiteral parameters;
};

/// Null when the language does not have the word.
const TemplateWord<fb::Filter> *findFilter(llvm::StringRef name);
const TemplateWord<fb::Test> *findTest(llvm::StringRef name);
const TemplateWord<fb::Method> *findMethod(llvm::StringRef name);
const TemplateWord<fb::Function> *findFunction(llvm::StringRef name);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TEMPLATENAMES_H
