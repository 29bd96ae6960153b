// Vocabulary, merges and added tokens of a tokenizer.json, laid out so that
// the runtime finds them without building anything.
#include "compiler/Emit/TokenizerTable.h"

#include "compiler/Emit/CodePointSet.h"
#include "compiler/Emit/JsonText.h"
#include "compiler/Emit/TokenizerSteps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace llvm;
using namespace sdc;

static constexpr uint32_t none = 0xFFFFFFFF;

namespace {

using Pair = std::pair<uint32_t, uint32_t>;

struct MergeEntry {
  uint32_t rank;
  uint32_t result;
};

class Reader {
public:
  Reader(StringRef name, uint64_t embeddingRows)
      : name(name), embeddingRows(embeddingRows),
        tokenizer(std::make_unique<fb::TokenizerT>()) {}

  void read(const json::Object &root);
  Expected<std::unique_ptr<fb::TokenizerT>> finish();

private:
  void readModel(const json::Object &model);
  void readVocabulary(const json::Object &vocab);
  void readMerges(const json::Array &merges);
  void readAdded(const json::Array &added);
  void checkIds();
  bool isWhole(StringRef token, uint32_t id) const;
  void layOutTokens();
  void layOutVocabulary();
  void layOutMerges();

  void problem(const Twine &what) {
    // A broken file can have a problem in every line.
    if (problems.size() < 10)
      problems.push_back((name + ": error: " + what).str());
    else
      ++furtherProblems;
  }
  void note(Error error) {
    if (error)
      problem(toString(std::move(error)));
  }

  StringRef name;
  uint64_t embeddingRows;
  std::unique_ptr<fb::TokenizerT> tokenizer;
  std::vector<std::string> problems;
  size_t furtherProblems = 0;

  StringMap<uint32_t> vocabulary;
  DenseMap<Pair, MergeEntry> merges;
  /// By id: its text, and TokenFlag bits; 0 where there is none.
  std::vector<StringRef> tokens;
  std::vector<uint8_t> flags;
};

} // namespace

/// A list of ids that grows with the largest one; files cannot make it huge.
static constexpr uint32_t largestId = 16 * 1024 * 1024;

static std::optional<uint32_t> asId(const json::Value *value) {
  std::optional<int64_t> id = value ? value->getAsInteger() : std::nullopt;
  if (!id || *id < 0 || *id >= largestId)
    return std::nullopt;
  return static_cast<uint32_t>(*id);
}

static uint8_t bit(fb::TokenFlag flag) { return static_cast<uint8_t>(flag); }

void Reader::readVocabulary(const json::Object &vocab) {
  for (const auto &[token, value] : vocab) {
    std::optional<uint32_t> id = asId(&value);
    if (!id) {
      problem("the id of token '" + token.str() + "' is no id");
      continue;
    }
    auto [entry, isNew] = vocabulary.try_emplace(token.str(), *id);
    if (*id >= tokens.size()) {
      tokens.resize(*id + 1);
      flags.resize(*id + 1);
    }
    if (flags[*id] != 0)
      problem(formatv("the tokens '{0}' and '{1}' have the same id {2}",
                      tokens[*id], token.str(), *id));
    tokens[*id] = entry->getKey();
    flags[*id] = bit(fb::TokenFlag::Present) | bit(fb::TokenFlag::Model);
  }
}

void Reader::readMerges(const json::Array &list) {
  uint32_t rank = 0;
  for (const json::Value &value : list) {
    StringRef left, right;
    // "a b", or ["a", "b"], whose tokens may hold spaces.
    if (std::optional<StringRef> text = value.getAsString()) {
      std::tie(left, right) = text->split(' ');
      if (left.empty() || right.empty() || right.contains(' ')) {
        problem("merge " + Twine(rank) + " '" + *text +
                "' is not two tokens and a space");
        return;
      }
    } else if (const json::Array *pair = value.getAsArray();
               pair && pair->size() == 2) {
      left = (*pair)[0].getAsString().value_or("");
      right = (*pair)[1].getAsString().value_or("");
    }
    auto leftId = vocabulary.find(left), rightId = vocabulary.find(right);
    auto result = vocabulary.find((left + right).str());
    if (leftId == vocabulary.end() || rightId == vocabulary.end() ||
        result == vocabulary.end()) {
      StringRef missing = leftId == vocabulary.end()    ? "its left side"
                          : rightId == vocabulary.end() ? "its right side"
                                                        : "what it makes";
      problem(formatv("merge {0} '{1} {2}': {3} is not in the vocabulary", rank,
                      left, right, missing));
      return;
    }
    merges[{leftId->second, rightId->second}] = {rank, result->second};
    ++rank;
  }
}

void Reader::readModel(const json::Object &model) {
  StringRef type = model.getString("type").value_or("BPE");
  if (type != "BPE") {
    problem("the model type '" + type +
            "' is not supported; expected BPE (byte-level or with byte "
            "fallback)");
    return;
  }
  for (StringRef option : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!model.getString(option).value_or("").empty())
      problem("the BPE option '" + option + "' is not supported");
  if (model.getNumber("dropout").value_or(0) != 0)
    problem("the BPE option 'dropout' is not supported");
  const json::Object *vocab = model.getObject("vocab");
  const json::Array *list = model.getArray("merges");
  if (!vocab || !list) {
    problem("a BPE model without vocab or merges");
    return;
  }
  readVocabulary(*vocab);
  readMerges(*list);
  tokenizer->fuse_unk = model.getBoolean("fuse_unk").value_or(false);
  tokenizer->ignore_merges = model.getBoolean("ignore_merges").value_or(false);
  if (std::optional<StringRef> unknown = model.getString("unk_token")) {
    auto id = vocabulary.find(*unknown);
    if (id == vocabulary.end())
      problem("the unknown token '" + *unknown + "' is not in the vocabulary");
    else
      tokenizer->unk_id = id->second;
  }
  if (model.getBoolean("byte_fallback").value_or(false))
    for (unsigned byte = 0; byte < 256; ++byte) {
      auto id = vocabulary.find(formatv("<0x{0:X-2}>", byte).str());
      tokenizer->byte_ids.push_back(id == vocabulary.end() ? none : id->second);
    }
}

void Reader::readAdded(const json::Array &added) {
  StringMap<bool> seen;
  bool singleWord = false;
  for (const json::Value &value : added) {
    const json::Object *object = value.getAsObject();
    StringRef content =
        object ? object->getString("content").value_or("") : StringRef();
    std::optional<uint32_t> id =
        object ? asId(object->get("id")) : std::nullopt;
    if (!object || !id) {
      problem("an added token '" + content + "' without an id");
      continue;
    }
    // An empty one is never found.
    if (content.empty() || !seen.try_emplace(content, true).second)
      continue;
    // The model's id counts when the vocabulary has the token.
    auto known = vocabulary.find(content);
    if (known != vocabulary.end())
      id = known->second;
    auto on = [&](StringRef option) {
      return object->getBoolean(option).value_or(false);
    };
    auto token = std::make_unique<fb::AddedTokenT>();
    token->content = content.str();
    token->id = *id;
    token->special = on("special");
    token->lstrip = on("lstrip");
    token->rstrip = on("rstrip");
    token->single_word = on("single_word");
    token->normalized =
        object->getBoolean("normalized").value_or(!token->special);
    singleWord |= token->single_word;
    if (*id >= tokens.size()) {
      tokens.resize(*id + 1);
      flags.resize(*id + 1);
    }
    if (flags[*id] != 0 && tokens[*id] != content)
      problem(formatv("the tokens '{0}' and '{1}' have the same id {2}",
                      tokens[*id], content, *id));
    tokens[*id] = content;
    flags[*id] |= bit(fb::TokenFlag::Present);
    if (token->special)
      flags[*id] |= bit(fb::TokenFlag::Special);
    if (token->normalized)
      flags[*id] |= bit(fb::TokenFlag::Normalized);
    tokenizer->added.push_back(std::move(token));
  }
  llvm::sort(tokenizer->added, [](const auto &a, const auto &b) {
    return StringRef(a->content) < StringRef(b->content);
  });
  if (singleWord)
    tokenizer->word_ranges = CodePointSet::rustWord().flat();
}

void Reader::checkIds() {
  size_t count = 0, first = 0;
  if (embeddingRows != 0)
    for (size_t id = tokens.size(); id-- > embeddingRows;)
      if (flags[id] != 0) {
        ++count;
        first = id;
      }
  if (count != 0)
    problem(formatv("{0} tokens have ids beyond the embedding of {1} rows, the "
                    "first is '{2}' with id {3}: is this the model's own "
                    "tokenizer?",
                    count, embeddingRows, tokens[first], first));
  for (const auto *ids : {&tokenizer->prefix, &tokenizer->suffix})
    for (uint32_t id : *ids)
      if (id >= tokens.size() || flags[id] == 0)
        problem("post_processor: there is no token of id " + Twine(id));
}

/// Whether BPE makes one token of the token's own text.
bool Reader::isWhole(StringRef token, uint32_t id) const {
  SmallVector<uint32_t, 32> symbols;
  for (StringRef rest = token; !rest.empty();) {
    StringRef before = rest;
    takeCharacter(rest);
    auto symbol = vocabulary.find(before.drop_back(rest.size()));
    if (symbol == vocabulary.end())
      return false;
    symbols.push_back(symbol->second);
  }
  // Long tokens are rare, and the runtime needs no shortcut for them.
  if (symbols.size() > 256)
    return false;
  while (symbols.size() > 1) {
    size_t best = 0;
    MergeEntry lowest = {none, 0};
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      auto merge = merges.find({symbols[i], symbols[i + 1]});
      if (merge != merges.end() && merge->second.rank < lowest.rank) {
        lowest = merge->second;
        best = i;
      }
    }
    if (lowest.rank == none)
      return false;
    symbols[best] = lowest.result;
    symbols.erase(symbols.begin() + best + 1);
  }
  return symbols.size() == 1 && symbols[0] == id;
}

void Reader::layOutTokens() {
  for (uint32_t id = 0; id < tokens.size(); ++id) {
    if ((flags[id] & bit(fb::TokenFlag::Model)) && isWhole(tokens[id], id))
      flags[id] |= bit(fb::TokenFlag::Whole);
    tokenizer->offsets.push_back(
        static_cast<uint32_t>(tokenizer->bytes.size()));
    llvm::append_range(tokenizer->bytes, tokens[id].bytes());
  }
  tokenizer->offsets.push_back(static_cast<uint32_t>(tokenizer->bytes.size()));
  tokenizer->flags.assign(flags.begin(), flags.end());
}

/// Slots for `count` entries: a power of two, at most half of them full.
static uint32_t slotsFor(size_t count) {
  return static_cast<uint32_t>(PowerOf2Ceil(std::max<size_t>(2 * count, 2)));
}

static uint32_t slotOf(uint64_t hash, uint32_t slots) {
  return static_cast<uint32_t>(hash >> (64 - Log2_32(slots)));
}

void Reader::layOutVocabulary() {
  uint32_t slots = slotsFor(vocabulary.size());
  tokenizer->vocab.assign(slots, none);
  // By id, so that the file does not depend on the order of a hash table.
  for (uint32_t id = 0; id < tokens.size(); ++id) {
    if (!(flags[id] & bit(fb::TokenFlag::Model)))
      continue;
    uint32_t slot =
        slotOf(XXH3_64bits(tokens[id].data(), tokens[id].size()), slots);
    while (tokenizer->vocab[slot] != none)
      slot = (slot + 1) & (slots - 1);
    tokenizer->vocab[slot] = id;
  }
}

void Reader::layOutMerges() {
  std::vector<fb::Merge> ordered;
  for (const auto &[pair, merge] : merges)
    ordered.emplace_back(pair.first, pair.second, merge.rank, merge.result);
  llvm::sort(ordered, [](const fb::Merge &a, const fb::Merge &b) {
    return a.rank() < b.rank();
  });
  uint32_t slots = slotsFor(ordered.size());
  tokenizer->merges.assign(slots, fb::Merge(none, none, none, none));
  for (const fb::Merge &merge : ordered) {
    uint64_t key = uint64_t(merge.left()) << 32 | merge.right();
    uint32_t slot = slotOf(key * 0x9E3779B97F4A7C15ull, slots);
    while (tokenizer->merges[slot].left() != none)
      slot = (slot + 1) & (slots - 1);
    tokenizer->merges[slot] = merge;
  }
}

void Reader::read(const json::Object &root) {
  const json::Object *model = root.getObject("model");
  if (!model) {
    problem("no 'model': not a tokenizer.json of Hugging Face");
    return;
  }
  readModel(*model);
  if (const json::Array *added = root.getArray("added_tokens"))
    readAdded(*added);
  json::Value nothing = nullptr;
  auto part = [&](StringRef key) -> const json::Value & {
    const json::Value *value = root.get(key);
    return value ? *value : nothing;
  };
  note(lowerNormalizer(part("normalizer"), *tokenizer));
  note(lowerPreTokenizer(part("pre_tokenizer"), *tokenizer));
  note(lowerDecoder(part("decoder"), *tokenizer));
  note(lowerPostProcessor(part("post_processor"), *tokenizer));
  checkIds();
}

Expected<std::unique_ptr<fb::TokenizerT>> Reader::finish() {
  if (problems.empty() && tokens.empty())
    problem("the vocabulary is empty");
  if (!problems.empty()) {
    if (furtherProblems != 0)
      problems.push_back(
          formatv("{0}: error: and {1} more like these", name, furtherProblems)
              .str());
    return createStringError(join(problems, "\n"));
  }
  layOutTokens();
  layOutVocabulary();
  layOutMerges();
  return std::move(tokenizer);
}

Expected<std::unique_ptr<fb::TokenizerT>>
sdc::readTokenizer(StringRef text, StringRef name, uint64_t embeddingRows) {
  Expected<json::Value> root = parseJson(text);
  if (!root)
    return createStringError(
        name + ": error: not JSON: " + toString(root.takeError()));
  Reader reader(name, embeddingRows);
  json::Object empty;
  const json::Object *object = root->getAsObject();
  reader.read(object ? *object : empty);
  return reader.finish();
}

std::optional<uint32_t> sdc::findToken(const fb::TokenizerT &tokenizer,
                                       StringRef token) {
  for (const auto &added : tokenizer.added)
    if (added->content == token)
      return added->id;
  for (uint32_t id = 0; id < tokenizer.flags.size(); ++id) {
    uint32_t begin = tokenizer.offsets[id];
    StringRef text(reinterpret_cast<const char *>(tokenizer.bytes.data()) +
                       begin,
                   tokenizer.offsets[id + 1] - begin);
    if (tokenizer.flags[id] != 0 && text == token)
      return id;
  }
  return std::nullopt;
}
