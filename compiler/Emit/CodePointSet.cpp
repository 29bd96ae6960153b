// Set algebra over code points, and the table that a script found by asking
// the Python package (tools/unicode/probe-tokenizers.py).
#include "compiler/Emit/CodePointSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace sdc;

void sdc::appendUtf8(std::string &out, uint32_t character) {
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = bytes;
  ConvertCodePointToUTF8(character, end);
  out.append(bytes, end);
}

uint32_t sdc::takeCharacter(StringRef &text) {
  auto *begin = reinterpret_cast<const UTF8 *>(text.data());
  UTF32 character = 0;
  if (convertUTF8Sequence(&begin, begin + text.size(), &character,
                          strictConversion) != conversionOK) {
    character = static_cast<unsigned char>(text.front());
    text = text.drop_front();
    return character;
  }
  text = text.drop_front(reinterpret_cast<const char *>(begin) - text.data());
  return character;
}

void CodePointSet::add(uint32_t low, uint32_t high) {
  // The first range that touches [low, high], and the first behind it.
  auto *begin = llvm::partition_point(sorted, [&](const Range &range) {
                  return range.high + 1 < low;
                }).base();
  auto first = sorted.begin() + (begin - sorted.data());
  auto past = first;
  while (past != sorted.end() && past->low <= high + 1) {
    low = std::min(low, past->low);
    high = std::max(high, past->high);
    ++past;
  }
  sorted.insert(sorted.erase(first, past), {low, high});
}

void CodePointSet::unite(const CodePointSet &other) {
  for (const Range &range : other.sorted)
    add(range.low, range.high);
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  uint32_t next = 0;
  for (const Range &range : sorted) {
    if (range.low > next)
      result.sorted.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= last)
    result.sorted.push_back({next, last});
  return result;
}

CodePointSet CodePointSet::intersect(const CodePointSet &other) const {
  CodePointSet outside = complement();
  outside.unite(other.complement());
  return outside.complement();
}

std::vector<uint32_t> CodePointSet::flat() const {
  std::vector<uint32_t> numbers;
  for (const Range &range : sorted) {
    numbers.push_back(range.low);
    numbers.push_back(range.high);
  }
  return numbers;
}

static void appendClassCharacter(std::string &out, uint32_t character) {
  if (character >= 0xA0 || isAlnum(static_cast<char>(character)))
    appendUtf8(out, character);
  else
    out += formatv("\\x{{{0:x-}}", character).str();
}

std::string CodePointSet::toPattern(bool negated) const {
  // PCRE2 looks at ranges one after another: those that hold most characters
  // go first.
  std::vector<Range> ordered;
  for (Range range : sorted) {
    // A pattern cannot name surrogates, and text holds none.
    if (range.low >= 0xD800 && range.low < 0xE000)
      range.low = 0xE000;
    if (range.high >= 0xD800 && range.high < 0xE000)
      range.high = 0xD7FF;
    if (range.low <= range.high)
      ordered.push_back(range);
  }
  llvm::sort(ordered, [](const Range &a, const Range &b) {
    return std::make_pair(b.high - b.low, a.low) <
           std::make_pair(a.high - a.low, b.low);
  });
  std::string out = negated ? "[^" : "[";
  // An empty class has no other form.
  if (ordered.empty())
    return negated ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{0}-\\x{10ffff}]";
  for (const Range &range : ordered) {
    appendClassCharacter(out, range.low);
    if (range.high == range.low)
      continue;
    out += '-';
    appendClassCharacter(out, range.high);
  }
  return out + "]";
}

std::string CodePointSet::toShortPattern() const {
  CodePointSet other = complement();
  return other.sorted.size() < sorted.size() ? other.toPattern(true)
                                             : toPattern(false);
}

namespace {

enum ClassName {
#define SDC_RUNS(...)
#define SDC_CLASS(name, ...) name,
#include "compiler/Emit/UnicodeTable.inc"
#undef SDC_CLASS
#undef SDC_RUNS
};

} // namespace

static constexpr uint32_t categoryRuns[] = {
#define SDC_RUNS(...) __VA_ARGS__
#define SDC_CLASS(name, ...)
#include "compiler/Emit/UnicodeTable.inc"
#undef SDC_CLASS
#undef SDC_RUNS
};

/// The order is that of the script.
static constexpr StringLiteral categoryNames[] = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
    "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
    "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"};

static CodePointSet classOf(ClassName name) {
  CodePointSet set;
  switch (name) {
#define SDC_RUNS(...)
#define SDC_CLASS(name, ...)                                                   \
  case name:                                                                   \
    for (const CodePointSet::Range &range :                                    \
         std::initializer_list<CodePointSet::Range>{__VA_ARGS__})              \
      set.add(range.low, range.high);                                          \
    break;
#include "compiler/Emit/UnicodeTable.inc"
#undef SDC_CLASS
#undef SDC_RUNS
  }
  return set;
}

/// One category (two letters) or a group of them (one letter).
static CodePointSet categoryOf(StringRef name) {
  CodePointSet set;
  size_t count = std::size(categoryRuns);
  for (size_t i = 0; i < count; ++i) {
    if (!categoryNames[categoryRuns[i] & 31].starts_with(name))
      continue;
    uint32_t next =
        i + 1 < count ? categoryRuns[i + 1] >> 5 : CodePointSet::last + 1;
    set.add(categoryRuns[i] >> 5, next - 1);
  }
  return set;
}

std::optional<CodePointSet> CodePointSet::property(StringRef name) {
  StringRef category = StringSwitch<StringRef>(name)
                           .Cases({"L", "Letter"}, "L")
                           .Cases({"M", "Mark"}, "M")
                           .Cases({"N", "Number"}, "N")
                           .Cases({"P", "Punctuation"}, "P")
                           .Cases({"S", "Symbol"}, "S")
                           .Cases({"Z", "Separator"}, "Z")
                           .Cases({"C", "Other"}, "C")
                           .Default("");
  if (category.empty() && llvm::is_contained(categoryNames, name))
    category = name;
  if (!category.empty())
    return categoryOf(category);
  int script = StringSwitch<int>(name)
                   .Case("Arabic", Arabic)
                   .Case("Armenian", Armenian)
                   .Case("Bengali", Bengali)
                   .Case("Cyrillic", Cyrillic)
                   .Case("Devanagari", Devanagari)
                   .Case("Ethiopic", Ethiopic)
                   .Case("Georgian", Georgian)
                   .Case("Greek", Greek)
                   .Case("Han", Han)
                   .Case("Hangul", Hangul)
                   .Case("Hebrew", Hebrew)
                   .Case("Hiragana", Hiragana)
                   .Case("Katakana", Katakana)
                   .Case("Khmer", Khmer)
                   .Case("Lao", Lao)
                   .Case("Latin", Latin)
                   .Case("Myanmar", Myanmar)
                   .Case("Sinhala", Sinhala)
                   .Case("Tamil", Tamil)
                   .Case("Telugu", Telugu)
                   .Case("Thai", Thai)
                   .Case("Tibetan", Tibetan)
                   .Default(-1);
  if (script < 0)
    return std::nullopt;
  return classOf(static_cast<ClassName>(script));
}

CodePointSet CodePointSet::space() { return classOf(Space); }

CodePointSet CodePointSet::word() {
  CodePointSet set = classOf(WordBesidesLettersMarksDigits);
  for (StringRef category : {"L", "M", "Nd", "Pc"})
    set.unite(categoryOf(category));
  return set;
}

CodePointSet CodePointSet::wordInClass() {
  return word().intersect(classOf(WordOnlyAlone).complement());
}

CodePointSet CodePointSet::digit() { return categoryOf("Nd"); }
CodePointSet CodePointSet::rustNumeric() { return classOf(RustNumeric); }
CodePointSet CodePointSet::rustPunctuation() {
  return classOf(RustPunctuation);
}

CodePointSet CodePointSet::rustWord() {
  CodePointSet set = word();
  set.unite(classOf(RustWordMore));
  return set.intersect(classOf(RustWordLess).complement());
}

CodePointSet CodePointSet::normalFormsLeaveAlone() {
  return classOf(NormalFormsLeaveAlone);
}

CodePointSet CodePointSet::accents() { return classOf(Accents); }
