// Compiles the chat template of a model to the tree that the runtime walks.
//
// The subset of Jinja (as Hugging Face sets it up):
//   blocks       for (with if, else, unpacking), if/elif/else, set (names,
//                namespace attributes, blocks), macro, raw, generation,
//                break, continue; white-space control; comments
//   expressions  strings, integers, floats, true, false, none, lists, tuples,
//                mappings; attributes, items, slices; + - * / // % ** ~;
//                comparisons, in, not in; and, or, not; a if b else c; calls
//                of macros; filters, tests, methods and functions of
//                TemplateNames.cpp; loop.* with cycle and changed
// Anything else (include, import, extends, block, with, call, filter, do,
// recursive loops, other filters, ...) is an error that names it and its line.
#ifndef SDC_COMPILER_EMIT_CHATTEMPLATE_H
#define SDC_COMPILER_EMIT_CHATTEMPLATE_H

#include "schema/text_generated.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace sdc {

/// `name` goes before messages, as in "chat_template.jinja:3: error: ...".
llvm::Expected<std::unique_ptr<fb::ChatTemplateT>>
compileChatTemplate(llvm::StringRef source, llvm::StringRef name);

} // namespace sdc

#endif // SDC_COMPILER_EMIT_CHATTEMPLATE_H
