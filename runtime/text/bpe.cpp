// Byte-pair encoding of one word. A word that is a token of its own, and that
// the merges would make, is one look-up; short words are merged by scanning,
// long ones over a heap, so that a word of n characters costs O(n log n).
#include "runtime/text/model.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc;
using namespace sdc::text;

using Symbol = BpeScratch::Symbol;

/// Words of at most so many symbols are merged by scanning.
static constexpr uint32_t shortWord = 48;

static uint32_t slotOf(uint64_t hash, uint32_t slots) {
  return static_cast<uint32_t>(hash >> (64 - __builtin_ctz(slots)));
}

uint32_t sdc::text::findToken(const sdc_text &text, Span token) {
  const auto &slots = *text.tokenizer->vocab();
  uint32_t mask = slots.size() - 1;
  // The verifier has seen an empty slot.
  for (uint32_t slot =
           slotOf(XXH3_64bits(token.data, token.size), slots.size());
       ; slot = (slot + 1) & mask) {
    uint32_t id = slots.Get(slot);
    if (id == none || text.token(id) == token)
      return id;
  }
}

static const fb::Merge *findMerge(const sdc_text &text, uint32_t left,
                                  uint32_t right) {
  const auto &slots = *text.tokenizer->merges();
  uint32_t mask = slots.size() - 1;
  uint64_t key = uint64_t(left) << 32 | right;
  for (uint32_t slot = slotOf(key * 0x9E3779B97F4A7C15ull, slots.size());;
       slot = (slot + 1) & mask) {
    const fb::Merge *merge = slots.Get(slot);
    if (merge->left() == left && merge->right() == right)
      return merge;
    if (merge->left() == none)
      return nullptr;
  }
}

static uint32_t rankOf(const sdc_text &text, uint32_t left, uint32_t right) {
  const fb::Merge *merge = findMerge(text, left, right);
  return merge ? merge->rank() : none;
}

/// The symbols that merging begins with: characters, bytes, unknown tokens.
static bool pushSymbols(const sdc_text &text, Span word,
                        Buffer<Symbol> &symbols) {
  const fb::Tokenizer &tokenizer = *text.tokenizer;
  const auto *bytes = tokenizer.byte_ids();
  bool unknown = false;
  for (size_t at = 0; at < word.size;) {
    size_t begin = at;
    uint32_t c = decodeCharacter(word.data, at);
    uint32_t id = c < sdc_text::directCharacters
                      ? text.characterIds[c]
                      : findToken(text, {word.data + begin, at - begin});
    if (id != none) {
      if (unknown && !symbols.push({tokenizer.unk_id(), 0, 0}))
        return false;
      unknown = false;
      if (!symbols.push({id, 0, 0}))
        return false;
      continue;
    }
    if (bytes) {
      bool all = true;
      for (size_t i = begin; i < at; ++i)
        all &= bytes->Get(static_cast<unsigned char>(word.data[i])) != none;
      if (all) {
        // An unknown token that waits goes on waiting, as in tokenizers.
        for (size_t i = begin; i < at; ++i)
          if (!symbols.push(
                  {bytes->Get(static_cast<unsigned char>(word.data[i])), 0, 0}))
            return false;
        continue;
      }
    }
    if (tokenizer.unk_id() == none)
      continue;
    if (unknown && !tokenizer.fuse_unk() &&
        !symbols.push({tokenizer.unk_id(), 0, 0}))
      return false;
    unknown = true;
  }
  return !unknown || symbols.push({tokenizer.unk_id(), 0, 0});
}

/// Always merges the leftmost pair of lowest rank.
static uint32_t mergeByScan(const sdc_text &text, Symbol *symbols,
                            uint32_t count) {
  uint32_t ranks[shortWord];
  for (uint32_t i = 0; i + 1 < count; ++i)
    ranks[i] = rankOf(text, symbols[i].id, symbols[i + 1].id);
  while (count > 1) {
    uint32_t best = 0;
    for (uint32_t i = 1; i + 1 < count; ++i)
      if (ranks[i] < ranks[best])
        best = i;
    if (ranks[best] == none)
      break;
    symbols[best].id =
        findMerge(text, symbols[best].id, symbols[best + 1].id)->result();
    for (uint32_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
    }
    --count;
    if (best > 0)
      ranks[best - 1] = rankOf(text, symbols[best - 1].id, symbols[best].id);
    if (best + 1 < count)
      ranks[best] = rankOf(text, symbols[best].id, symbols[best + 1].id);
  }
  return count;
}

static bool pushHeap(Buffer<uint64_t> &heap, uint64_t key) {
  if (!heap.push(key))
    return false;
  size_t at = heap.size() - 1;
  while (at > 0 && heap[(at - 1) / 2] > key) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = key;
  return true;
}

static uint64_t popHeap(Buffer<uint64_t> &heap) {
  uint64_t top = heap[0], last = heap.back();
  size_t size = heap.size() - 1;
  heap.truncate(size);
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < size; at = child) {
    if (child + 1 < size && heap[child + 1] < heap[child])
      ++child;
    if (heap[child] >= last)
      break;
    heap[at] = heap[child];
  }
  if (size != 0)
    heap[at] = last;
  return top;
}

/// The same merges in the same order: keys are (rank, place), and one whose
/// pair has changed in the meantime no longer has that rank.
static bool mergeByHeap(const sdc_text &text, BpeScratch &scratch) {
  Buffer<Symbol> &symbols = scratch.symbols;
  auto count = static_cast<uint32_t>(symbols.size());
  scratch.heap.clear();
  auto offer = [&](uint32_t place) {
    uint32_t next = symbols[place].next;
    if (next == none)
      return true;
    uint32_t rank = rankOf(text, symbols[place].id, symbols[next].id);
    return rank == none || pushHeap(scratch.heap, uint64_t(rank) << 32 | place);
  };
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? none : i - 1;
    symbols[i].next = i + 1 == count ? none : i + 1;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!offer(i))
      return false;
  while (!scratch.heap.empty()) {
    uint64_t key = popHeap(scratch.heap);
    auto place = static_cast<uint32_t>(key);
    uint32_t right = symbols[place].next;
    if (symbols[place].id == none || right == none)
      continue;
    const fb::Merge *merge =
        findMerge(text, symbols[place].id, symbols[right].id);
    if (!merge || merge->rank() != key >> 32)
      continue;
    uint32_t next = symbols[right].next;
    symbols[place].id = merge->result();
    symbols[place].next = next;
    symbols[right].id = none;
    if (next != none)
      symbols[next].previous = place;
    uint32_t previous = symbols[place].previous;
    if ((previous != none && !offer(previous)) || !offer(place))
      return false;
  }
  return true;
}

bool sdc::text::encodeWord(Scope &scope, const sdc_text &text, Span word,
                           BpeScratch &scratch, Buffer<int32_t> &ids) {
  uint32_t whole = findToken(text, word);
  if (whole != none && (text.tokenizer->ignore_merges() ||
                        text.hasFlag(whole, fb::TokenFlag::Whole)))
    return ids.push(static_cast<int32_t>(whole));
  if (word.size >= none)
    return scope.fail(SDC_TEXT_TOO_LONG, "a word of %zu bytes is too long",
                      word.size);
  Buffer<Symbol> &symbols = scratch.symbols;
  symbols.clear();
  if (!pushSymbols(text, word, symbols))
    return false;
  if (symbols.size() <= shortWord) {
    symbols.truncate(mergeByScan(text, symbols.data(),
                                 static_cast<uint32_t>(symbols.size())));
  } else if (!mergeByHeap(text, scratch)) {
    return false;
  }
  for (const Symbol &symbol : symbols)
    if (symbol.id != none && !ids.push(static_cast<int32_t>(symbol.id)))
      return false;
  return true;
}
