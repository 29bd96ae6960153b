// Lowers the pipeline of a tokenizer.json to primitive steps. A type or an
// option that has no exact step is an error that names it.
#include "compiler/Emit/TokenizerSteps.h"

#include "compiler/Emit/CodePointSet.h"
#include "compiler/Emit/PatternTranslation.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <memory>

using namespace llvm;
using namespace sdc;

using Steps = std::vector<std::unique_ptr<fb::StepT>>;

static Error fail(const Twine &what) { return createStringError(what); }

static StringRef typeOf(const json::Object &object) {
  return object.getString("type").value_or("");
}

static bool flag(const json::Object &object, StringRef name, bool otherwise) {
  return object.getBoolean(name).value_or(otherwise);
}

static fb::StepT &push(Steps &steps, fb::StepKind kind) {
  steps.push_back(std::make_unique<fb::StepT>());
  steps.back()->kind = kind;
  return *steps.back();
}

/// Calls `lower` for each part of a Sequence, or for the one part.
static Error forEachPart(const json::Value &value, StringRef what,
                         StringRef partsName,
                         function_ref<Error(const json::Object &)> lower,
                         unsigned depth = 0) {
  if (value.kind() == json::Value::Null)
    return Error::success();
  const json::Object *object = value.getAsObject();
  if (!object || depth > 20)
    return fail(what + " is no object");
  if (typeOf(*object) != "Sequence")
    return lower(*object);
  const json::Array *parts = object->getArray(partsName);
  if (!parts)
    return fail(what + ": a Sequence without '" + partsName + "'");
  for (const json::Value &part : *parts)
    if (Error error = forEachPart(part, what, partsName, lower, depth + 1))
      return error;
  return Error::success();
}

/// {"String": "x"} or {"Regex": "x"}.
static Error readPattern(const json::Object &object, fb::StepT &step) {
  const json::Object *pattern = object.getObject("pattern");
  if (!pattern)
    return fail(typeOf(object) + " without a pattern");
  if (std::optional<StringRef> text = pattern->getString("String")) {
    if (text->empty())
      return fail(typeOf(object) + " with an empty pattern");
    step.pattern = text->str();
    return Error::success();
  }
  std::optional<StringRef> regex = pattern->getString("Regex");
  if (!regex)
    return fail(typeOf(object) + ": a pattern is neither String nor Regex");
  Expected<std::string> translated = translatePattern(*regex);
  if (!translated)
    return translated.takeError();
  step.pattern = *translated;
  step.is_regex = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Normalizers
//===----------------------------------------------------------------------===//

static void pushReplace(Steps &steps, std::string pattern, bool isRegex,
                        std::string content) {
  fb::StepT &step = push(steps, fb::StepKind::Replace);
  step.pattern = std::move(pattern);
  step.is_regex = isRegex;
  step.content = std::move(content);
}

static Error lowerNormalizerPart(const json::Object &object, Steps &steps) {
  StringRef type = typeOf(object);
  auto form = StringSwitch<std::optional<fb::StepKind>>(type)
                  .Case("NFC", fb::StepKind::Nfc)
                  .Case("NFD", fb::StepKind::Nfd)
                  .Case("NFKC", fb::StepKind::Nfkc)
                  .Case("NFKD", fb::StepKind::Nfkd)
                  .Case("Lowercase", fb::StepKind::Lowercase)
                  .Case("ByteLevel", fb::StepKind::MapBytes)
                  .Default(std::nullopt);
  if (form) {
    push(steps, *form);
    return Error::success();
  }
  if (type == "Strip") {
    std::string space = CodePointSet::space().toPattern();
    if (flag(object, "strip_left", true))
      pushReplace(steps, "\\A" + space + "+", true, "");
    if (flag(object, "strip_right", true))
      pushReplace(steps, "(?<!" + space + ")" + space + "+\\z", true, "");
    return Error::success();
  }
  if (type == "StripAccents") {
    pushReplace(steps, CodePointSet::accents().toPattern(), true, "");
    return Error::success();
  }
  if (type == "Replace") {
    fb::StepT &step = push(steps, fb::StepKind::Replace);
    std::optional<StringRef> content = object.getString("content");
    if (!content)
      return fail("normalizer: Replace without content");
    step.content = content->str();
    return readPattern(object, step);
  }
  if (type == "Prepend") {
    fb::StepT &step = push(steps, fb::StepKind::Prepend);
    step.content = object.getString("prepend").value_or("").str();
    step.prepend = fb::PrependWhen::Always;
    return Error::success();
  }
  return fail("the normalizer '" + type + "' is not supported");
}

Error sdc::lowerNormalizer(const json::Value &json, fb::TokenizerT &tokenizer) {
  if (Error error = forEachPart(
          json, "normalizer", "normalizers", [&](const json::Object &object) {
            return lowerNormalizerPart(object, tokenizer.normalize);
          }))
    return error;
  for (const auto &step : tokenizer.normalize)
    if (step->kind <= fb::StepKind::Nfkd)
      tokenizer.opaque_ranges = CodePointSet::normalFormsLeaveAlone().flat();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Pre-tokenizers
//===----------------------------------------------------------------------===//

static Expected<fb::SplitBehavior> readBehavior(StringRef name) {
  auto behavior =
      StringSwitch<std::optional<fb::SplitBehavior>>(name)
          .Case("Removed", fb::SplitBehavior::Removed)
          .Case("Isolated", fb::SplitBehavior::Isolated)
          .Case("MergedWithPrevious", fb::SplitBehavior::MergedWithPrevious)
          .Case("MergedWithNext", fb::SplitBehavior::MergedWithNext)
          .Case("Contiguous", fb::SplitBehavior::Contiguous)
          .Default(std::nullopt);
  if (!behavior)
    return fail("the split behavior '" + name + "' is not supported");
  return *behavior;
}

static fb::StepT &pushSplit(Steps &steps, std::string pattern, bool isRegex,
                            fb::SplitBehavior behavior) {
  fb::StepT &step = push(steps, fb::StepKind::Split);
  step.pattern = std::move(pattern);
  step.is_regex = isRegex;
  step.behavior = behavior;
  return step;
}

static Error lowerByteLevel(const json::Object &object, Steps &steps) {
  if (flag(object, "add_prefix_space", true)) {
    fb::StepT &step = push(steps, fb::StepKind::Prepend);
    step.content = " ";
    step.prepend = fb::PrependWhen::UnlessThere;
  }
  if (flag(object, "use_regex", true)) {
    // The expression of GPT-2, which the type implies.
    Expected<std::string> pattern = translatePattern(
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
        "\\s+(?!\\S)|\\s+");
    if (!pattern)
      return pattern.takeError();
    pushSplit(steps, *pattern, true, fb::SplitBehavior::Isolated);
  }
  push(steps, fb::StepKind::MapBytes);
  return Error::success();
}

/// The mark of a Metaspace, and when it is put before a text.
static Error readMetaspace(const json::Object &object, std::string &mark,
                           StringRef &scheme) {
  mark = object.getString("replacement").value_or("\xE2\x96\x81").str();
  // Files of before 2024 have a flag.
  StringRef otherwise =
      flag(object, "add_prefix_space", true) ? "always" : "never";
  scheme = object.getString("prepend_scheme").value_or(otherwise);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return fail("Metaspace: the prepend_scheme '" + scheme +
                "' is not supported");
  return Error::success();
}

static Error lowerMetaspace(const json::Object &object, Steps &steps) {
  std::string mark;
  StringRef scheme;
  if (Error error = readMetaspace(object, mark, scheme))
    return error;
  pushReplace(steps, " ", false, mark);
  if (scheme != "never") {
    fb::StepT &step = push(steps, fb::StepKind::Prepend);
    step.content = mark;
    step.prepend = scheme == "always" ? fb::PrependWhen::UnlessThere
                                      : fb::PrependWhen::FirstUnlessThere;
  }
  if (flag(object, "split", true))
    pushSplit(steps, mark, false, fb::SplitBehavior::MergedWithNext);
  return Error::success();
}

static Error lowerPreTokenizerPart(const json::Object &object, Steps &steps) {
  StringRef type = typeOf(object);
  if (type == "ByteLevel")
    return lowerByteLevel(object, steps);
  if (type == "Metaspace")
    return lowerMetaspace(object, steps);
  if (type == "Split" || type == "Punctuation") {
    Expected<fb::SplitBehavior> behavior =
        readBehavior(object.getString("behavior").value_or("Isolated"));
    if (!behavior)
      return behavior.takeError();
    if (type == "Punctuation") {
      pushSplit(steps, CodePointSet::rustPunctuation().toPattern(), true,
                *behavior);
      return Error::success();
    }
    fb::StepT &step = push(steps, fb::StepKind::Split);
    step.behavior = *behavior;
    step.invert = flag(object, "invert", false);
    return readPattern(object, step);
  }
  if (type == "Digits") {
    pushSplit(steps, CodePointSet::rustNumeric().toPattern(), true,
              flag(object, "individual_digits", false)
                  ? fb::SplitBehavior::Isolated
                  : fb::SplitBehavior::Contiguous);
    return Error::success();
  }
  if (type == "Whitespace") {
    // \w+|[^\w\s]+ of Rust's regular expressions; what matches is kept.
    CodePointSet word = CodePointSet::rustWord();
    CodePointSet both = word;
    both.unite(CodePointSet::space());
    pushSplit(steps, word.toPattern() + "+|" + both.toPattern(true) + "+", true,
              fb::SplitBehavior::Removed)
        .invert = true;
    return Error::success();
  }
  if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    pushSplit(steps, CodePointSet::space().toPattern(), true,
              fb::SplitBehavior::Removed);
    if (type == "BertPreTokenizer")
      pushSplit(steps, CodePointSet::rustPunctuation().toPattern(), true,
                fb::SplitBehavior::Isolated);
    return Error::success();
  }
  if (type == "CharDelimiterSplit") {
    std::string delimiter = object.getString("delimiter").value_or("").str();
    if (delimiter.empty())
      return fail("CharDelimiterSplit without a delimiter");
    pushSplit(steps, delimiter, false, fb::SplitBehavior::Removed);
    return Error::success();
  }
  return fail("the pre-tokenizer '" + type + "' is not supported");
}

Error sdc::lowerPreTokenizer(const json::Value &json,
                             fb::TokenizerT &tokenizer) {
  return forEachPart(
      json, "pre_tokenizer", "pretokenizers", [&](const json::Object &object) {
        return lowerPreTokenizerPart(object, tokenizer.pre_tokenize);
      });
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

namespace {

/// Decoders change tokens one by one until something joins them; what comes
/// after that changes the whole text.
struct DecoderLowering {
  fb::DecoderT &decoder;
  bool joined = false;
  bool stripped = false;

  Error lower(const json::Object &object);
  Error lowerStrip(const json::Object &object);
};

} // namespace

Error DecoderLowering::lowerStrip(const json::Object &object) {
  std::string content = object.getString("content").value_or("").str();
  int64_t start = object.getInteger("start").value_or(0);
  int64_t stop = object.getInteger("stop").value_or(0);
  StringRef rest = content;
  if (!rest.empty())
    takeCharacter(rest);
  if (content.empty() || !rest.empty() || start < 0 || stop < 0 ||
      start > 1000000 || stop > 1000000)
    return fail("decoder: Strip wants one character and two counts");
  if (stripped)
    return fail("decoder: more than one Strip is not supported");
  if (!joined && decoder.form != fb::ByteForm::Text)
    return fail("decoder: Strip between bytes and Fuse is not supported");
  stripped = true;
  decoder.strip = content;
  decoder.strip_start = static_cast<uint32_t>(start);
  decoder.strip_stop = static_cast<uint32_t>(stop);
  decoder.strip_tokens = !joined;
  return Error::success();
}

Error DecoderLowering::lower(const json::Object &object) {
  StringRef type = typeOf(object);
  if (type == "Fuse") {
    joined = true;
    return Error::success();
  }
  if (type == "Strip")
    return lowerStrip(object);
  if (joined || decoder.form != fb::ByteForm::Text)
    return fail("decoder: '" + type + "' after what joins tokens or makes " +
                "bytes of them is not supported");
  if (type == "ByteLevel") {
    decoder.form = fb::ByteForm::ByteLevel;
    joined = true;
    return Error::success();
  }
  if (type == "ByteFallback") {
    decoder.form = fb::ByteForm::Fallback;
    return Error::success();
  }
  if (stripped)
    return fail("decoder: '" + type + "' after Strip is not supported");
  if (type == "Metaspace") {
    StringRef scheme;
    if (!decoder.mark.empty() || !decoder.replace.empty())
      return fail("decoder: Metaspace after another one is not supported");
    if (Error error = readMetaspace(object, decoder.mark, scheme))
      return error;
    decoder.drop_in_first = scheme != "never";
    return Error::success();
  }
  if (type == "Replace") {
    decoder.replace.push_back(std::make_unique<fb::StepT>());
    fb::StepT &step = *decoder.replace.back();
    step.kind = fb::StepKind::Replace;
    step.content = object.getString("content").value_or("").str();
    if (Error error = readPattern(object, step))
      return error;
    if (step.is_regex)
      return fail("decoder: Replace with a Regex is not supported");
    return Error::success();
  }
  return fail("the decoder '" + type + "' is not supported");
}

Error sdc::lowerDecoder(const json::Value &json, fb::TokenizerT &tokenizer) {
  tokenizer.decoder = std::make_unique<fb::DecoderT>();
  if (json.kind() == json::Value::Null) {
    tokenizer.decoder->spaced = true;
    return Error::success();
  }
  DecoderLowering lowering{*tokenizer.decoder};
  return forEachPart(
      json, "decoder", "decoders",
      [&](const json::Object &object) { return lowering.lower(object); });
}

//===----------------------------------------------------------------------===//
// Post-processors
//===----------------------------------------------------------------------===//

static Error lowerTemplate(const json::Object &object,
                           fb::TokenizerT &tokenizer) {
  const json::Array *single = object.getArray("single");
  const json::Object *tokens = object.getObject("special_tokens");
  if (!single)
    return fail("TemplateProcessing without 'single'");
  bool seen = false;
  for (const json::Value &value : *single) {
    const json::Object *piece = value.getAsObject();
    if (piece && piece->getObject("Sequence")) {
      if (seen)
        return fail("TemplateProcessing: the text twice is not supported");
      seen = true;
      continue;
    }
    const json::Object *special =
        piece ? piece->getObject("SpecialToken") : nullptr;
    StringRef name =
        special ? special->getString("id").value_or("") : StringRef();
    const json::Object *token = tokens ? tokens->getObject(name) : nullptr;
    const json::Array *ids = token ? token->getArray("ids") : nullptr;
    if (!ids)
      return fail("TemplateProcessing: the token '" + name + "' has no ids");
    for (const json::Value &id : *ids) {
      std::optional<int64_t> number = id.getAsInteger();
      if (!number || *number < 0 || *number > INT32_MAX)
        return fail("TemplateProcessing: the token '" + name +
                    "' has an id that is none");
      (seen ? tokenizer.suffix : tokenizer.prefix)
          .push_back(static_cast<uint32_t>(*number));
    }
  }
  if (!seen)
    return fail("TemplateProcessing without the text");
  return Error::success();
}

static Error lowerPair(const json::Object &object, fb::TokenizerT &tokenizer) {
  auto read = [&](StringRef name, std::vector<uint32_t> &ids) {
    const json::Array *pair = object.getArray(name);
    std::optional<int64_t> id =
        pair && pair->size() == 2 ? (*pair)[1].getAsInteger() : std::nullopt;
    if (!id || *id < 0 || *id > INT32_MAX)
      return false;
    ids.push_back(static_cast<uint32_t>(*id));
    return true;
  };
  if (!read("cls", tokenizer.prefix) || !read("sep", tokenizer.suffix))
    return fail(typeOf(object) + " without cls or sep");
  return Error::success();
}

Error sdc::lowerPostProcessor(const json::Value &json,
                              fb::TokenizerT &tokenizer) {
  return forEachPart(
      json, "post_processor", "processors",
      [&](const json::Object &object) -> Error {
        StringRef type = typeOf(object);
        // Offsets only, which nothing here has.
        if (type == "ByteLevel")
          return Error::success();
        if (type == "TemplateProcessing")
          return lowerTemplate(object, tokenizer);
        if (type == "RobertaProcessing" || type == "BertProcessing")
          return lowerPair(object, tokenizer);
        return fail("the post-processor '" + type + "' is not supported");
      });
}
