// Patterns over PCRE2, translated to machine code where the system allows it.
#include "runtime/text/pattern.h"

using namespace sdc::text;

static void *allocateFrom(size_t size, void *memory) {
  return static_cast<const Allocator *>(memory)->resize(nullptr, size);
}

static void releaseTo(void *block, void *memory) {
  static_cast<const Allocator *>(memory)->release(block);
}

bool Pattern::compile(Scope &scope, const Allocator &memory, Span text,
                      bool isRegex) {
  if (!isRegex) {
    plain = text;
    return true;
  }
  context = pcre2_general_context_create(allocateFrom, releaseTo,
                                         const_cast<Allocator *>(&memory));
  if (!context)
    return scope.outOfMemory();
  pcre2_compile_context *options = pcre2_compile_context_create(context);
  if (!options)
    return scope.outOfMemory();
  // As Oniguruma has it: only a line feed ends a line, and ^ and $ hold there.
  pcre2_set_newline(options, PCRE2_NEWLINE_LF);
  int error;
  PCRE2_SIZE offset;
  code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data), text.size,
                       PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                       &error, &offset, options);
  pcre2_compile_context_free(options);
  if (!code) {
    char reason[128] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR *>(reason),
                            sizeof(reason));
    return scope.fail(SDC_TEXT_BAD_FILE, "pattern at byte %zu: %s",
                      static_cast<size_t>(offset), reason);
  }
  // Where memory cannot be made executable, pcre2_match interprets.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return true;
}

void Pattern::release() {
  pcre2_code_free(code);
  pcre2_general_context_free(context);
  code = nullptr;
  context = nullptr;
}

static bool pushBetween(Buffer<Match> &out, size_t &last, size_t begin,
                        size_t end) {
  if (last != begin && !out.push({last, begin, false}))
    return false;
  last = end;
  return out.push({begin, end, true});
}

bool Pattern::cut(Scope &scope, Span text, Buffer<Match> &out) const {
  if (code)
    return cutByRegex(scope, text, out);
  size_t last = 0;
  if (plain.size != 0)
    for (size_t at = find(text, plain, 0); at != SIZE_MAX;
         at = find(text, plain, at + plain.size))
      if (!pushBetween(out, last, at, at + plain.size))
        return false;
  return last == text.size || out.push({last, text.size, false});
}

bool Pattern::cutByRegex(Scope &scope, Span text, Buffer<Match> &out) const {
  pcre2_match_data *data = pcre2_match_data_create(1, context);
  if (!data)
    return scope.outOfMemory();
  PCRE2_SIZE *match = pcre2_get_ovector_pointer(data);
  auto *subject = reinterpret_cast<PCRE2_SPTR>(text.data);
  size_t last = 0;
  bool good = true;
  for (size_t at = 0; good && at <= text.size;) {
    int rc = pcre2_match(code, subject, text.size, at, PCRE2_NO_UTF_CHECK, data,
                         nullptr);
    // The machine code has a small stack; the interpreter uses the heap.
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(code, subject, text.size, at,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
    if (rc == PCRE2_ERROR_NOMATCH)
      break;
    if (rc < 0) {
      char reason[128] = "";
      pcre2_get_error_message(rc, reinterpret_cast<PCRE2_UCHAR *>(reason),
                              sizeof(reason));
      good =
          rc == PCRE2_ERROR_NOMEMORY
              ? scope.outOfMemory()
              : scope.fail(SDC_TEXT_PATTERN_LIMIT,
                           "pattern at byte %zu of the text: %s", at, reason);
      break;
    }
    size_t begin = match[0], end = match[1];
    if (begin == end) {
      // An empty match right behind another one counts for nothing.
      at = end < text.size ? end + characterSize(text.data[end]) : end + 1;
      if (begin == last && !out.empty() && out.back().isMatch)
        continue;
    } else {
      at = end;
    }
    good = pushBetween(out, last, begin, end);
  }
  pcre2_match_data_free(data);
  if (!good)
    return false;
  return last == text.size || out.push({last, text.size, false});
}
