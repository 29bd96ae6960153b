// The steps of normalisation and pre-tokenisation, each over all pieces.
#include "runtime/text/model.h"

using namespace sdc;
using namespace sdc::text;

bool Stage::start(Span text, bool first) {
  bytes.clear();
  pieces.clear();
  if (!bytes.append(text.data, text.size))
    return false;
  return text.size == 0 || pieces.push({0, text.size, first});
}

static bool isOpaque(const flatbuffers::Vector<uint32_t> &ranges, uint32_t c) {
  uint32_t low = 0, high = ranges.size() / 2;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (ranges.Get(2 * middle + 1) < c)
      low = middle + 1;
    else
      high = middle;
  }
  return 2 * low < ranges.size() && ranges.Get(2 * low) <= c;
}

/// Normalises between the characters that are to be left alone.
static bool normalizeForm(Scope &scope, const fb::Tokenizer &tokenizer,
                          Span text, Form form, Buffer<char> &out) {
  const auto *opaque = tokenizer.opaque_ranges();
  size_t begin = 0;
  if (opaque && opaque->size() != 0)
    for (size_t at = 0; at < text.size;) {
      size_t here = at;
      uint32_t c = decodeCharacter(text.data, at);
      if (c < opaque->Get(0) || !isOpaque(*opaque, c))
        continue;
      if (!appendNormalized(scope, {text.data + begin, here - begin}, form,
                            out) ||
          !out.append(text.data + here, at - here))
        return false;
      begin = at;
    }
  return appendNormalized(scope, text.from(begin), form, out);
}

static bool replaceMatches(Scope &scope, const Pattern &pattern, Span content,
                           Span text, Buffer<Match> &matches, Buffer<char> &out,
                           bool &first) {
  matches.clear();
  if (!pattern.cut(scope, text, matches))
    return false;
  for (const Match &match : matches) {
    Span part = match.isMatch
                    ? content
                    : Span{text.data + match.begin, match.end - match.begin};
    // What follows a beginning that vanished is not the beginning.
    if (match.isMatch && match.begin == 0 && match.end != 0 &&
        content.size == 0)
      first = false;
    if (!out.append(part.data, part.size))
      return false;
  }
  return true;
}

static bool mapBytes(Span text, Buffer<char> &out) {
  if (!out.reserve(out.size() + text.size))
    return false;
  for (size_t i = 0; i < text.size; ++i) {
    char utf8[4];
    auto byte = static_cast<unsigned char>(text.data[i]);
    if (!out.append(utf8, encodeCharacter(byteCharacter(byte), utf8)))
      return false;
  }
  return true;
}

/// Writes what `step` makes of one piece behind the others.
static bool rewrite(Scope &scope, const sdc_text &text, const fb::Step &step,
                    const Pattern &pattern, Span piece, Stage &stage,
                    bool &first) {
  Buffer<char> &out = stage.nextBytes;
  Span content = spanOf(step.content());
  switch (step.kind()) {
  case fb::StepKind::Nfc:
    return normalizeForm(scope, *text.tokenizer, piece, Form::Nfc, out);
  case fb::StepKind::Nfd:
    return normalizeForm(scope, *text.tokenizer, piece, Form::Nfd, out);
  case fb::StepKind::Nfkc:
    return normalizeForm(scope, *text.tokenizer, piece, Form::Nfkc, out);
  case fb::StepKind::Nfkd:
    return normalizeForm(scope, *text.tokenizer, piece, Form::Nfkd, out);
  case fb::StepKind::Lowercase:
    return appendLower(piece, out);
  case fb::StepKind::Replace:
    return replaceMatches(scope, pattern, content, piece, stage.matches, out,
                          first);
  case fb::StepKind::Prepend: {
    bool there = piece.startsWith(content);
    bool wanted =
        step.prepend() == fb::PrependWhen::Always ||
        (!there && (step.prepend() == fb::PrependWhen::UnlessThere || first));
    if (wanted && !out.append(content.data, content.size))
      return false;
    return out.append(piece.data, piece.size);
  }
  case fb::StepKind::MapBytes:
    return mapBytes(piece, out);
  case fb::StepKind::Split:
    break;
  }
  return true;
}

/// Joins matches and gaps as `behavior` says; what is to vanish gets
/// isMatch = true, everything else false.
static void applyBehavior(fb::SplitBehavior behavior, Buffer<Match> &matches) {
  size_t count = 0, size = matches.size();
  bool previous = false;
  switch (behavior) {
  case fb::SplitBehavior::Removed:
    return;
  case fb::SplitBehavior::Isolated:
    for (Match &match : matches)
      match.isMatch = false;
    return;
  case fb::SplitBehavior::Contiguous:
  case fb::SplitBehavior::MergedWithPrevious:
    for (size_t i = 0; i < size; ++i) {
      Match match = matches[i];
      bool join = behavior == fb::SplitBehavior::Contiguous
                      ? match.isMatch == previous
                      : match.isMatch && !previous;
      previous = match.isMatch;
      if (join && count != 0)
        matches[count - 1].end = match.end;
      else
        matches[count++] = {match.begin, match.end, false};
    }
    matches.truncate(count);
    return;
  case fb::SplitBehavior::MergedWithNext:
    // From the back; the results gather at the end of the buffer.
    count = size;
    for (size_t i = size; i-- > 0;) {
      Match match = matches[i];
      bool join = match.isMatch && !previous;
      previous = match.isMatch;
      if (join && count != size)
        matches[count].begin = match.begin;
      else
        matches[--count] = {match.begin, match.end, false};
    }
    memmove(matches.data(), matches.data() + count,
            (size - count) * sizeof(Match));
    matches.truncate(size - count);
    return;
  }
}

static bool split(Scope &scope, const fb::Step &step, const Pattern &pattern,
                  Stage &stage) {
  stage.nextPieces.clear();
  for (const Piece &piece : stage.pieces) {
    stage.matches.clear();
    if (!pattern.cut(scope, stage.span(piece), stage.matches))
      return false;
    if (step.invert())
      for (Match &match : stage.matches)
        match.isMatch = !match.isMatch;
    applyBehavior(step.behavior(), stage.matches);
    for (const Match &part : stage.matches)
      if (!part.isMatch && part.begin != part.end &&
          !stage.nextPieces.push({piece.begin + part.begin,
                                  piece.begin + part.end,
                                  piece.first && part.begin == 0}))
        return false;
  }
  stage.pieces.swap(stage.nextPieces);
  return true;
}

static bool
runSteps(Scope &scope, const sdc_text &text,
         const flatbuffers::Vector<flatbuffers::Offset<fb::Step>> *steps,
         const Pattern *patterns, Stage &stage) {
  for (uint32_t i = 0, e = steps ? steps->size() : 0; i < e; ++i) {
    const fb::Step &step = *steps->Get(i);
    if (step.kind() == fb::StepKind::Split) {
      if (!split(scope, step, patterns[i], stage))
        return false;
      continue;
    }
    stage.nextBytes.clear();
    stage.nextPieces.clear();
    for (const Piece &piece : stage.pieces) {
      size_t begin = stage.nextBytes.size();
      bool first = piece.first;
      if (!rewrite(scope, text, step, patterns[i], stage.span(piece), stage,
                   first))
        return false;
      if (stage.nextBytes.size() != begin &&
          !stage.nextPieces.push({begin, stage.nextBytes.size(), first}))
        return false;
    }
    stage.bytes.swap(stage.nextBytes);
    stage.pieces.swap(stage.nextPieces);
  }
  return true;
}

bool sdc::text::normalize(Scope &scope, const sdc_text &text, Stage &stage) {
  return runSteps(scope, text, text.tokenizer->normalize(), text.patterns,
                  stage);
}

bool sdc::text::preTokenize(Scope &scope, const sdc_text &text, Stage &stage) {
  const auto *before = text.tokenizer->normalize();
  return runSteps(scope, text, text.tokenizer->pre_tokenize(),
                  text.patterns + (before ? before->size() : 0), stage);
}
