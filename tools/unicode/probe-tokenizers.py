#!/usr/bin/env python3
"""Writes compiler/Emit/UnicodeTable.inc: the character classes of the Python
package `tokenizers`, found by asking it about every code point. Its regular
expressions (Oniguruma) and its own predicates (Rust) follow other versions of
Unicode than PCRE2 does, so nothing is taken from tables of either.

usage: probe-tokenizers.py > compiler/Emit/UnicodeTable.inc
"""

import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk "
              "So Zs Zl Zp Cc Cf Co Cn").split()
SCRIPTS = ("Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian "
           "Greek Han Hangul Hebrew Hiragana Katakana Khmer Lao Latin Myanmar "
           "Sinhala Tamil Telugu Thai Tibetan").split()
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, CODES))


def matches(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(ALL) for c in piece}


def kept(pre_tokenizer):
    return {ord(c) for piece, _ in pre_tokenizer.pre_tokenize_str(ALL)
            for c in piece}


def ranges(codes):
    """Closed ranges. The surrogates, which text never holds, close a gap."""
    out = []
    for code in sorted(codes):
        before = 0xD7FF if code == 0xE000 else code - 1
        if out and out[-1][1] == before:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def emit(macro, name, codes):
    print(f"{macro}({name},")
    line = " "
    for low, high in ranges(codes):
        item = f" {{0x{low:x}, 0x{high:x}}},"
        if len(line) + len(item) > 78:
            print(line)
            line = " "
        line += item
    print(line.rstrip(",") + ")")


category = {}
for index, name in enumerate(CATEGORIES):
    for code in matches(r"\p{%s}+" % name):
        assert code not in category
        category[code] = index
assert len(category) == len(CODES)
for major in "LMNPSZC":
    union = {c for c in CODES if CATEGORIES[category[c]][0] == major}
    assert matches(r"\p{%s}+" % major) == union, major
space = matches(r"\s+")
assert space == set(CODES) - kept(pre_tokenizers.WhitespaceSplit())
assert matches(r"\d+") == {c for c in CODES
                           if CATEGORIES[category[c]] == "Nd"}

print(f"// Character classes of the Python package tokenizers "
      f"{tokenizers.__version__}, as")
print("// tools/unicode/probe-tokenizers.py found them; do not edit.")
print("// SDC_RUNS(start << 5 | category...): runs of one general category.")
print("// SDC_CLASS(name, ranges...): the rest, as closed ranges.")
print("// clang-format off")
print("SDC_RUNS(")
line, previous = " ", None
for code in CODES:
    if category[code] == previous:
        continue
    previous = category[code]
    item = f"0x{code << 5 | previous:x}, "
    if len(line) + len(item) > 80:
        print(line.rstrip())
        line = " "
    line += item
print(line.rstrip(", ") + ")")
emit("SDC_CLASS", "Space", space)
word = matches(r"\w+")
letters = {c for c in CODES
           if CATEGORIES[category[c]][0] in "LM"
           or CATEGORIES[category[c]] in ("Nd", "Pc")}
assert letters < word
emit("SDC_CLASS", "WordBesidesLettersMarksDigits", word - letters)
# Oniguruma has one more table, for \w that stands alone.
assert matches(r"\W+") == set(CODES) - word
assert matches(r"[^\w]+") == set(CODES) - matches(r"[\w]+")
assert matches(r"[\w]+") < word
emit("SDC_CLASS", "WordOnlyAlone", word - matches(r"[\w]+"))
single = lambda c: len(pre_tokenizers.Digits(True).pre_tokenize_str("a" + c))
emit("SDC_CLASS", "RustNumeric", {ord(c) for c in ALL if single(c) == 2})
emit("SDC_CLASS", "RustPunctuation",
     set(CODES) - kept(pre_tokenizers.Punctuation("removed")))
rust_word = {
    ord(c) for c in ALL
    if len(pre_tokenizers.Whitespace().pre_tokenize_str("a" + c)) == 1
    and ord(c) not in space}
emit("SDC_CLASS", "RustWordMore", rust_word - word)
emit("SDC_CLASS", "RustWordLess", word - rust_word)

# The normal forms of tokenizers know an old Unicode: what came later is left
# alone, while utf8proc knows it. Python's own table is between the two.
nfd, nfkd = normalizers.NFD(), normalizers.NFKD()


def is_inert(c):
    """No decomposition, and no reordering around the overlay U+0334."""
    return (nfkd.normalize_str(c) == c and
            nfd.normalize_str("a" + c + "\u0334") == "a" + c + "\u0334")


opaque = set()
for code in CODES:
    c = chr(code)
    new_mark = (unicodedata.category(c) == "Cn" and
                CATEGORIES[category[code]][0] == "M")
    if ((unicodedata.combining(c) > 1 or unicodedata.decomposition(c) or
         new_mark) and not 0xAC00 <= code < 0xD7A4 and is_inert(c)):
        opaque.add(code)
        parts = unicodedata.decomposition(c).split()
        if len(parts) == 2 and "<" not in parts[0]:
            opaque.add(int(parts[1], 16))
emit("SDC_CLASS", "NormalFormsLeaveAlone", opaque)
strip = normalizers.StripAccents()
emit("SDC_CLASS", "Accents",
     {code for code in CODES if not strip.normalize_str(chr(code))})

for script in SCRIPTS:
    emit("SDC_CLASS", script, matches(r"\p{%s}+" % script))
