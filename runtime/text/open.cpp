// Opening the text segment: verification, patterns, the index of the added
// tokens; and the calls that read what is in it.
#include "runtime/text/model.h"

#include <new>
#include <stdlib.h>

using namespace sdc;
using namespace sdc::text;

const char *sdc_text_status_name(sdc_text_status status) {
  switch (status) {
#define SDC_STATUS(name)                                                       \
  case name:                                                                   \
    return #name;
    SDC_STATUS(SDC_TEXT_OK)
    SDC_STATUS(SDC_TEXT_INVALID_ARGUMENT)
    SDC_STATUS(SDC_TEXT_INVALID_UTF8)
    SDC_STATUS(SDC_TEXT_TOO_LONG)
    SDC_STATUS(SDC_TEXT_BAD_FILE)
    SDC_STATUS(SDC_TEXT_NO_TEMPLATE)
    SDC_STATUS(SDC_TEXT_TEMPLATE_ERROR)
    SDC_STATUS(SDC_TEXT_OUT_OF_MEMORY)
    SDC_STATUS(SDC_TEXT_PATTERN_LIMIT)
#undef SDC_STATUS
  }
  return "SDC_TEXT_UNKNOWN";
}

static void *reallocateFromLibc(void *, void *block, size_t size) {
  if (size != 0)
    return realloc(block, size);
  free(block);
  return nullptr;
}

static bool compilePatterns(Scope &scope, sdc_text &text) {
  using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;
  const Steps *phases[] = {text.tokenizer->normalize(),
                           text.tokenizer->pre_tokenize()};
  size_t count = 0;
  for (const Steps *steps : phases)
    count += steps ? steps->size() : 0;
  if (count == 0)
    return true;
  void *block = text.memory.resize(nullptr, count * sizeof(Pattern));
  if (!block)
    return scope.outOfMemory();
  text.patterns = static_cast<Pattern *>(block);
  for (const Steps *steps : phases)
    for (uint32_t i = 0, e = steps ? steps->size() : 0; i < e; ++i) {
      Pattern pattern;
      const fb::Step &step = *steps->Get(i);
      bool good = !step.pattern() ||
                  pattern.compile(scope, text.memory, spanOf(step.pattern()),
                                  step.is_regex());
      memcpy(&text.patterns[text.patternCount++], &pattern, sizeof(pattern));
      if (!good)
        return false;
    }
  return true;
}

static bool isBefore(Span a, Span b) {
  size_t shared = a.size < b.size ? a.size : b.size;
  int order = shared ? memcmp(a.data, b.data, shared) : 0;
  return order != 0 ? order < 0 : a.size < b.size;
}

static void indexFirstBytes(sdc_text::AddedIndex &index) {
  uint32_t at = 0;
  for (unsigned byte = 0; byte <= 256; ++byte) {
    while (at < index.count &&
           static_cast<unsigned char>(index.tokens[at].content.data[0]) < byte)
      ++at;
    index.byFirstByte[byte] = at;
  }
}

/// Normalises the contents of the tokens that are looked for in normalised
/// text, and puts them in order; of equal ones the first stays first.
static bool normalizeAdded(Scope &scope, sdc_text &text) {
  sdc_text::AddedIndex &index = text.normalized;
  Buffer<char> contents(scope);
  Buffer<size_t> ends(scope);
  Stage stage(scope);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < index.count; ++i) {
    if (!stage.start(index.tokens[i].content, true) ||
        !normalize(scope, text, stage))
      return false;
    if (stage.pieces.empty())
      continue;
    Span normal = stage.span(stage.pieces[0]);
    if (!contents.append(normal.data, normal.size) ||
        !ends.push(contents.size()))
      return false;
    index.tokens[kept++] = index.tokens[i];
  }
  index.count = kept;
  text.normalizedContents = contents.take();
  for (uint32_t i = 0; i < kept; ++i) {
    size_t begin = i == 0 ? 0 : ends[i - 1];
    sdc_text::Added added = {{text.normalizedContents + begin, ends[i] - begin},
                             index.tokens[i].token};
    uint32_t place = i;
    for (;
         place > 0 && isBefore(added.content, index.tokens[place - 1].content);
         --place)
      index.tokens[place] = index.tokens[place - 1];
    index.tokens[place] = added;
  }
  // One content, one token.
  uint32_t unique = 0;
  for (uint32_t i = 0; i < kept; ++i)
    if (unique == 0 ||
        !(index.tokens[i].content == index.tokens[unique - 1].content))
      index.tokens[unique++] = index.tokens[i];
  index.count = unique;
  return true;
}

static bool indexAdded(Scope &scope, sdc_text &text) {
  const auto *added = text.tokenizer->added();
  if (!added || added->size() == 0)
    return true;
  for (sdc_text::AddedIndex *index : {&text.raw, &text.normalized}) {
    index->tokens = static_cast<sdc_text::Added *>(
        text.memory.resize(nullptr, added->size() * sizeof(sdc_text::Added)));
    if (!index->tokens)
      return scope.outOfMemory();
  }
  for (const fb::AddedToken *token : *added) {
    auto &index = token->normalized() ? text.normalized : text.raw;
    index.tokens[index.count++] = {spanOf(token->content()), token};
  }
  if (text.normalized.count != 0 && !normalizeAdded(scope, text))
    return false;
  indexFirstBytes(text.raw);
  indexFirstBytes(text.normalized);
  return true;
}

static bool open(Scope &scope, sdc_text &text, const void *bytes, size_t size) {
  // The generated verifier reads what lies before 2 GiB, in aligned words.
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0)
    return scope.fail(SDC_TEXT_INVALID_ARGUMENT,
                      "the text table is not aligned to 8 bytes");
  if (size < 8 || size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return scope.fail(SDC_TEXT_BAD_FILE, "a text table of %zu bytes", size);
  if (!fb::TextBufferHasIdentifier(bytes))
    return scope.fail(SDC_TEXT_BAD_FILE,
                      "not a text table: its identifier is not SDT1");
  flatbuffers::Verifier verifier(static_cast<const uint8_t *>(bytes), size,
                                 /*max_depth=*/8, /*max_tables=*/10000000);
  if (!fb::VerifyTextBuffer(verifier))
    return scope.fail(SDC_TEXT_BAD_FILE, "the text table is malformed");
  text.file = fb::GetText(bytes);
  text.tokenizer = text.file->tokenizer();
  if (!verifyTokenizer(scope, *text.tokenizer))
    return false;
  if (text.file->chat_template() &&
      !verifyTemplate(scope, *text.file->chat_template()))
    return false;
  if (!compilePatterns(scope, text) || !indexAdded(scope, text))
    return false;
  for (uint32_t c = 0; c < sdc_text::directCharacters; ++c) {
    char utf8[4];
    text.characterIds[c] = findToken(text, {utf8, encodeCharacter(c, utf8)});
  }
  return true;
}

sdc_text_status sdc_text_open(const void *bytes, size_t size,
                              const sdc_text_open_options *options,
                              sdc_text **out_text, sdc_text_error *out_error) {
  Scope scope{{reallocateFromLibc, nullptr}, out_error};
  if (!bytes || !out_text) {
    scope.fail(SDC_TEXT_INVALID_ARGUMENT,
               "no bytes or no place for the result");
    return scope.status;
  }
  if (options) {
    if (options->size < sizeof(*options)) {
      scope.fail(SDC_TEXT_INVALID_ARGUMENT,
                 "options of %zu bytes, expected %zu", options->size,
                 sizeof(*options));
      return scope.status;
    }
    if (options->reallocate)
      scope.memory = {options->reallocate, options->user};
  }
  void *block = scope.memory.resize(nullptr, sizeof(sdc_text));
  if (!block) {
    scope.outOfMemory();
    return scope.status;
  }
  auto *text = new (block) sdc_text();
  text->memory = scope.memory;
  if (!open(scope, *text, bytes, size)) {
    sdc_text_close(text);
    return scope.status;
  }
  *out_text = text;
  return SDC_TEXT_OK;
}

void sdc_text_close(sdc_text *text) {
  if (!text)
    return;
  for (uint32_t i = 0; i < text->patternCount; ++i)
    text->patterns[i].release();
  Allocator memory = text->memory;
  memory.release(text->patterns);
  memory.release(text->raw.tokens);
  memory.release(text->normalized.tokens);
  memory.release(text->normalizedContents);
  memory.release(text);
}

void sdc_text_free(const sdc_text *text, void *block) {
  if (text)
    text->memory.release(block);
}

int32_t sdc_text_vocab_size(const sdc_text *text) {
  return static_cast<int32_t>(text->tokenizer->flags()->size());
}

static bool isPresent(const sdc_text *text, int32_t id) {
  return id >= 0 && id < sdc_text_vocab_size(text) &&
         text->hasFlag(static_cast<uint32_t>(id), fb::TokenFlag::Present);
}

sdc_text_view sdc_text_token(const sdc_text *text, int32_t id) {
  if (!isPresent(text, id))
    return {nullptr, 0};
  Span token = text->token(static_cast<uint32_t>(id));
  return {token.data, token.size};
}

int32_t sdc_text_find_token(const sdc_text *text, sdc_text_view token) {
  uint32_t id = findToken(*text, spanOf(token));
  if (id != none)
    return static_cast<int32_t>(id);
  const auto *added = text->tokenizer->added();
  for (uint32_t i = 0, e = added ? added->size() : 0; i < e; ++i)
    if (spanOf(added->Get(i)->content()) == spanOf(token))
      return static_cast<int32_t>(added->Get(i)->id());
  return -1;
}

bool sdc_text_is_special(const sdc_text *text, int32_t id) {
  return isPresent(text, id) &&
         text->hasFlag(static_cast<uint32_t>(id), fb::TokenFlag::Special);
}

void sdc_text_stop_ids(const sdc_text *text, const int32_t **out_ids,
                       size_t *out_count) {
  const auto *ids = text->file->stop_ids();
  // The table is little-endian and so is every machine that this runs on.
  *out_ids = ids ? reinterpret_cast<const int32_t *>(ids->data()) : nullptr;
  *out_count = ids ? ids->size() : 0;
}

bool sdc_text_has_template(const sdc_text *text) {
  return text->file->chat_template() != nullptr;
}
