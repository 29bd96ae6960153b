// What the generated verifier cannot know of the tokenizer's table: indices
// in range, tables that can be searched, text that is UTF-8.
#include "runtime/text/model.h"

using namespace sdc;
using namespace sdc::text;

static bool bad(Scope &scope, const char *what, uint64_t index) {
  return scope.fail(SDC_TEXT_BAD_FILE, "text table: %s %llu", what,
                    static_cast<unsigned long long>(index));
}

static bool isPowerOfTwo(uint32_t n) { return n != 0 && (n & (n - 1)) == 0; }

static bool isText(const flatbuffers::String *string) {
  return !string || firstInvalid(spanOf(string)) == SIZE_MAX;
}

/// Closed ranges, ascending and apart.
static bool verifyRanges(Scope &scope,
                         const flatbuffers::Vector<uint32_t> *ranges) {
  if (!ranges)
    return true;
  if (ranges->size() % 2 != 0)
    return bad(scope, "a range has no end; numbers:", ranges->size());
  for (uint32_t i = 0; i < ranges->size(); i += 2)
    if (ranges->Get(i + 1) < ranges->Get(i) ||
        (i != 0 && ranges->Get(i) <= ranges->Get(i - 1)))
      return bad(scope, "ranges out of order at", i);
  return true;
}

static bool
verifySteps(Scope &scope,
            const flatbuffers::Vector<flatbuffers::Offset<fb::Step>> *steps,
            bool maySplit) {
  for (uint32_t i = 0, e = steps ? steps->size() : 0; i < e; ++i) {
    const fb::Step *step = steps->Get(i);
    if (!step)
      return bad(scope, "no step", i);
    bool cuts = step->kind() == fb::StepKind::Split ||
                step->kind() == fb::StepKind::Replace;
    if (step->kind() > fb::StepKind::MAX ||
        (step->kind() == fb::StepKind::Split && !maySplit))
      return bad(scope, "unknown kind of step", i);
    if (step->prepend() > fb::PrependWhen::MAX ||
        step->behavior() > fb::SplitBehavior::MAX)
      return bad(scope, "unknown option of step", i);
    if (cuts && (!step->pattern() || step->pattern()->size() == 0))
      return bad(scope, "no pattern in step", i);
    if (!isText(step->pattern()) || !isText(step->content()))
      return bad(scope, "not UTF-8 in step", i);
  }
  return true;
}

static bool verifyIds(Scope &scope, const flatbuffers::Vector<uint32_t> *ids,
                      const fb::Tokenizer &tokenizer, const char *what,
                      bool mayBeNone) {
  for (uint32_t i = 0, e = ids ? ids->size() : 0; i < e; ++i)
    if (ids->Get(i) >= tokenizer.flags()->size() &&
        !(mayBeNone && ids->Get(i) == none))
      return bad(scope, what, i);
  return true;
}

static bool verifyVocabulary(Scope &scope, const fb::Tokenizer &tokenizer) {
  uint32_t count = tokenizer.flags()->size();
  const auto &offsets = *tokenizer.offsets();
  if (count > 0x7FFFFFFF || offsets.size() != count + 1)
    return bad(scope, "tokens and offsets differ; offsets:", offsets.size());
  auto *bytes = reinterpret_cast<const char *>(tokenizer.bytes()->data());
  if (offsets.Get(0) != 0 || offsets.Get(count) != tokenizer.bytes()->size())
    return bad(scope,
               "offsets do not span the bytes; last:", offsets.Get(count));
  for (uint32_t id = 0; id < count; ++id) {
    if (offsets.Get(id + 1) < offsets.Get(id) ||
        offsets.Get(id + 1) > tokenizer.bytes()->size())
      return bad(scope, "offsets out of order at token", id);
    if (firstInvalid({bytes + offsets.Get(id),
                      offsets.Get(id + 1) - offsets.Get(id)}) != SIZE_MAX)
      return bad(scope, "not UTF-8: token", id);
  }
  const auto &slots = *tokenizer.vocab();
  if (!isPowerOfTwo(slots.size()) || slots.size() < 2)
    return bad(scope, "slots of the vocabulary:", slots.size());
  bool hasEmpty = false;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    hasEmpty |= slots.Get(i) == none;
    if (slots.Get(i) != none && slots.Get(i) >= count)
      return bad(scope, "token out of range in slot", i);
  }
  return hasEmpty || bad(scope, "no empty slot among", slots.size());
}

static bool verifyMerges(Scope &scope, const fb::Tokenizer &tokenizer) {
  const auto &slots = *tokenizer.merges();
  uint32_t count = tokenizer.flags()->size();
  if (!isPowerOfTwo(slots.size()) || slots.size() < 2)
    return bad(scope, "slots of the merges:", slots.size());
  bool hasEmpty = false;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const fb::Merge *merge = slots.Get(i);
    if (merge->left() == none) {
      hasEmpty = true;
      continue;
    }
    if (merge->left() >= count || merge->right() >= count ||
        merge->result() >= count || merge->rank() == none)
      return bad(scope, "index out of range in merge slot", i);
  }
  return hasEmpty || bad(scope, "no empty slot among merges", slots.size());
}

static bool verifyAdded(Scope &scope, const fb::Tokenizer &tokenizer) {
  const auto *added = tokenizer.added();
  Span before = {nullptr, 0};
  for (uint32_t i = 0, e = added ? added->size() : 0; i < e; ++i) {
    const fb::AddedToken *token = added->Get(i);
    if (!token || token->id() >= tokenizer.flags()->size())
      return bad(scope, "index out of range in added token", i);
    Span content = spanOf(token->content());
    if (content.size == 0 || firstInvalid(content) != SIZE_MAX)
      return bad(scope, "no text in added token", i);
    size_t shared = content.size < before.size ? content.size : before.size;
    int order = shared ? memcmp(before.data, content.data, shared) : -1;
    if (i != 0 && (order > 0 || (order == 0 && before.size >= content.size)))
      return bad(scope, "out of order: added token", i);
    before = content;
  }
  return true;
}

static bool verifyDecoder(Scope &scope, const fb::Decoder &decoder) {
  if (decoder.form() > fb::ByteForm::MAX)
    return bad(scope, "unknown byte form",
               static_cast<uint64_t>(decoder.form()));
  if (!isText(decoder.mark()) || !isText(decoder.strip()))
    return bad(scope, "not UTF-8 in decoder", 0);
  if ((decoder.strip_start() || decoder.strip_stop()) &&
      (!decoder.strip() || decoder.strip()->size() == 0 ||
       characterSize(decoder.strip()->c_str()[0]) != decoder.strip()->size()))
    return bad(scope, "decoder strips no single character",
               decoder.strip_start());
  const auto *steps = decoder.replace();
  for (uint32_t i = 0, e = steps ? steps->size() : 0; i < e; ++i)
    if (!steps->Get(i) || steps->Get(i)->kind() != fb::StepKind::Replace ||
        steps->Get(i)->is_regex())
      return bad(scope, "no plain replacement: decoder step", i);
  return verifySteps(scope, steps, false);
}

bool sdc::text::verifyTokenizer(Scope &scope, const fb::Tokenizer &tokenizer) {
  if (!verifyVocabulary(scope, tokenizer) || !verifyMerges(scope, tokenizer) ||
      !verifyAdded(scope, tokenizer) ||
      !verifySteps(scope, tokenizer.normalize(), false) ||
      !verifySteps(scope, tokenizer.pre_tokenize(), true) ||
      !verifyDecoder(scope, *tokenizer.decoder()) ||
      !verifyRanges(scope, tokenizer.word_ranges()) ||
      !verifyRanges(scope, tokenizer.opaque_ranges()))
    return false;
  const auto *bytes = tokenizer.byte_ids();
  if (bytes && bytes->size() != 256)
    return bad(scope, "byte tokens:", bytes->size());
  if (tokenizer.unk_id() != none &&
      tokenizer.unk_id() >= tokenizer.flags()->size())
    return bad(scope, "unknown token out of range:", tokenizer.unk_id());
  return verifyIds(scope, bytes, tokenizer, "byte token", true) &&
         verifyIds(scope, tokenizer.prefix(), tokenizer, "prefix token",
                   false) &&
         verifyIds(scope, tokenizer.suffix(), tokenizer, "suffix token", false);
}
