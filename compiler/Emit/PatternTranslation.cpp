// A recursive descent over Oniguruma's syntax (as for Ruby) that writes PCRE2.
#include "compiler/Emit/PatternTranslation.h"

#include "compiler/Emit/CodePointSet.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;
using namespace sdc;

namespace {

class Translator {
public:
  explicit Translator(StringRef pattern) : pattern(pattern), rest(pattern) {}

  Expected<std::string> run() {
    if (Error error = alternatives(/*depth=*/0))
      return std::move(error);
    if (!rest.empty())
      return fail("unmatched ')'");
    return std::move(out);
  }

private:
  Error alternatives(unsigned depth);
  Error group(unsigned depth);
  Error escape();
  Error quantifier(size_t atom);
  Expected<CodePointSet> classSet(bool &negated, unsigned depth);
  /// One element of a class: a set (true) or a single character.
  Expected<bool> classElement(CodePointSet &set, uint32_t &character,
                              unsigned depth);
  /// The set of a shorthand or property escape, whose backslash is consumed;
  /// nothing when it is another escape.
  Expected<std::optional<CodePointSet>> setEscape(bool inClass);
  Expected<uint32_t> characterEscape();
  Error writeSet(const CodePointSet &set, bool negated);
  void literal(uint32_t character);

  Error fail(const Twine &what) const {
    return createStringError("pattern '" + pattern + "', byte " +
                             Twine(pattern.size() - rest.size()) + ": " + what);
  }

  StringRef pattern;
  StringRef rest;
  std::string out;
  bool ignoreCase = false;
};

} // namespace

void Translator::literal(uint32_t character) {
  if (character < 0x80 && !isAlnum(static_cast<char>(character)) &&
      character != ' ') {
    out += "\\x{" + utohexstr(character, /*LowerCase=*/true) + "}";
    return;
  }
  appendUtf8(out, character);
}

Error Translator::writeSet(const CodePointSet &set, bool negated) {
  if (ignoreCase) {
    // PCRE2 closes a class under case before it negates it, as written.
    out += set.toPattern(negated);
    return Error::success();
  }
  out += negated ? set.complement().toShortPattern() : set.toShortPattern();
  return Error::success();
}

Expected<uint32_t> Translator::characterEscape() {
  char letter = rest.front();
  auto hexadecimal = [&](StringRef digits) -> Expected<uint32_t> {
    uint32_t character;
    if (digits.empty() || digits.getAsInteger(16, character) ||
        character > CodePointSet::last ||
        (character >= 0xD800 && character < 0xE000))
      return fail("'" + digits + "' is no character");
    return character;
  };
  if (letter == 'x' && rest.starts_with("x{")) {
    size_t end = rest.find('}');
    if (end == StringRef::npos)
      return fail("'\\x{' without '}'");
    StringRef digits = rest.slice(2, end);
    rest = rest.drop_front(end + 1);
    return hexadecimal(digits);
  }
  if (letter == 'x' || letter == 'u') {
    size_t width = letter == 'x' ? 2 : 4;
    StringRef digits = rest.substr(1, width);
    if (digits.size() != width)
      return fail("a hexadecimal escape is cut short");
    rest = rest.drop_front(1 + width);
    return hexadecimal(digits);
  }
  static constexpr StringLiteral letters = "nrtfvae0";
  static constexpr char values[] = {'\n', '\r', '\t', '\f',
                                    '\v', '\a', 0x1B, 0};
  size_t at = letters.find(letter);
  if (at != StringRef::npos) {
    rest = rest.drop_front();
    return static_cast<unsigned char>(values[at]);
  }
  if (isAlnum(letter))
    return fail("'\\" + Twine(letter) + "' is not supported");
  return takeCharacter(rest);
}

Expected<std::optional<CodePointSet>> Translator::setEscape(bool inClass) {
  char letter = rest.front();
  CodePointSet set;
  switch (letter) {
  case 's':
  case 'S':
    set = CodePointSet::space();
    break;
  case 'd':
  case 'D':
    set = CodePointSet::digit();
    break;
  case 'w':
  case 'W':
    set = inClass ? CodePointSet::wordInClass() : CodePointSet::word();
    break;
  case 'h':
  case 'H':
    set.add('0', '9');
    set.add('a', 'f');
    set.add('A', 'F');
    break;
  case 'p':
  case 'P': {
    size_t end = rest.find('}');
    if (!rest.drop_front().starts_with("{") || end == StringRef::npos)
      return fail("a property wants braces");
    StringRef name = rest.slice(2, end);
    bool negated = name.consume_front("^") != (letter == 'P');
    std::optional<CodePointSet> property = CodePointSet::property(name);
    if (!property)
      return fail("the property '" + name + "' is not supported");
    if (ignoreCase && (name == "Lu" || name == "Ll" || name == "Lt"))
      return fail("the property '" + name + "' where case is ignored");
    rest = rest.drop_front(end + 1);
    return negated ? property->complement() : *property;
  }
  default:
    return std::nullopt;
  }
  rest = rest.drop_front();
  return isUpper(letter) ? set.complement() : set;
}

Expected<bool> Translator::classElement(CodePointSet &set, uint32_t &character,
                                        unsigned depth) {
  if (rest.starts_with("[:"))
    return fail("POSIX classes are not supported");
  if (rest.consume_front("[")) {
    bool negated;
    Expected<CodePointSet> inner = classSet(negated, depth + 1);
    if (!inner)
      return inner.takeError();
    if (negated && ignoreCase)
      return fail("a negated class inside a class where case is ignored");
    set = negated ? inner->complement() : *inner;
    return true;
  }
  if (!rest.consume_front("\\")) {
    character = takeCharacter(rest);
    return false;
  }
  if (rest.empty())
    return fail("the pattern ends in a backslash");
  if (rest.consume_front("b")) {
    character = '\b';
    return false;
  }
  Expected<std::optional<CodePointSet>> escaped = setEscape(/*inClass=*/true);
  if (!escaped)
    return escaped.takeError();
  if (*escaped) {
    set = **escaped;
    return true;
  }
  Expected<uint32_t> single = characterEscape();
  if (!single)
    return single.takeError();
  character = *single;
  return false;
}

/// The class whose '[' is consumed, up to its ']'.
Expected<CodePointSet> Translator::classSet(bool &negated, unsigned depth) {
  if (depth > 50)
    return fail("classes are nested too deeply");
  negated = rest.consume_front("^");
  CodePointSet current;
  std::optional<CodePointSet> before;
  bool empty = true;
  while (true) {
    if (rest.empty())
      return fail("a class without ']'");
    if (rest.consume_front("]")) {
      if (empty)
        return fail("an empty class");
      return before ? before->intersect(current) : current;
    }
    if (rest.consume_front("&&")) {
      before = before ? before->intersect(current) : current;
      current = CodePointSet();
      continue;
    }
    empty = false;
    CodePointSet set;
    uint32_t low = 0;
    Expected<bool> isSet = classElement(set, low, depth);
    if (!isSet)
      return isSet.takeError();
    if (*isSet) {
      current.unite(set);
      continue;
    }
    uint32_t high = low;
    // A '-' before the ']' is itself.
    if (rest.starts_with("-") && !rest.starts_with("-]")) {
      rest = rest.drop_front();
      Expected<bool> endIsSet = classElement(set, high, depth);
      if (!endIsSet)
        return endIsSet.takeError();
      if (*endIsSet || high < low)
        return fail("a range without an end, or with one before its beginning");
    }
    current.add(low, high);
  }
}

/// The atom begins at out[atom].
Error Translator::quantifier(size_t atom) {
  while (!rest.empty()) {
    char sign = rest.front();
    if (sign == '*' || sign == '+' || sign == '?') {
      out += sign;
      rest = rest.drop_front();
      // Reluctant or possessive: the same in both.
      if (rest.starts_with("?") || rest.starts_with("+")) {
        out += rest.front();
        rest = rest.drop_front();
      }
    } else if (sign == '{') {
      size_t end = rest.find('}');
      auto [low, high] = rest.slice(1, end).split(',');
      bool exact = end != StringRef::npos && !rest.slice(1, end).contains(',');
      unsigned number;
      if (end == StringRef::npos || (low.empty() && high.empty()) ||
          (!low.empty() && low.getAsInteger(10, number)) ||
          (!high.empty() && high.getAsInteger(10, number)))
        return Error::success(); // a brace like any other character
      out += "{" + (low.empty() ? "0" : low).str();
      out += exact ? "}" : "," + high.str() + "}";
      rest = rest.drop_front(end + 1);
      // Oniguruma: {n,m}+ repeats, {n}? makes optional.
      bool again = rest.starts_with("+") || (exact && rest.starts_with("?"));
      if (again) {
        out.insert(atom, "(?:");
        out += ")";
        continue;
      }
      if (rest.consume_front("?"))
        out += "?";
    } else {
      return Error::success();
    }
    // A quantified atom may be quantified again.
    if (!rest.empty() && StringRef("*+?{").contains(rest.front())) {
      out.insert(atom, "(?:");
      out += ")";
    }
  }
  return Error::success();
}

/// The group whose '(' is consumed.
Error Translator::group(unsigned depth) {
  static constexpr StringLiteral openings[] = {"?:",  "?=",  "?!",
                                               "?<=", "?<!", "?>"};
  bool before = ignoreCase;
  out += "(";
  bool known = !rest.starts_with("?");
  if (known)
    out += "?:"; // what a group captured is not used
  for (StringRef opening : openings)
    if (!known && rest.consume_front(opening)) {
      out += opening;
      known = true;
    }
  if (!known) {
    bool on = rest.starts_with("?i");
    if (!rest.consume_front("?i") && !rest.consume_front("?-i"))
      return fail("the group '(" + rest.take_front(2) + "' is not supported");
    ignoreCase = on;
    out += on ? "?i" : "?-i";
    if (rest.consume_front(")")) {
      // Until the end of the group around it, which restores the flag.
      out += ")";
      return Error::success();
    }
    if (!rest.consume_front(":"))
      return fail("options other than i are not supported");
    out += ":";
  }
  if (Error error = alternatives(depth + 1))
    return error;
  if (!rest.consume_front(")"))
    return fail("a group without ')'");
  out += ")";
  ignoreCase = before;
  return Error::success();
}

/// An escape outside a class, its backslash consumed.
Error Translator::escape() {
  if (rest.empty())
    return fail("the pattern ends in a backslash");
  char letter = rest.front();
  if (letter == 'A' || letter == 'z' || letter == 'Z') {
    out += '\\';
    out += letter;
    rest = rest.drop_front();
    return Error::success();
  }
  if (letter == 'b' || letter == 'B') {
    std::string word = CodePointSet::word().toShortPattern();
    rest = rest.drop_front();
    bool boundary = letter == 'b';
    out += "(?:(?<=" + word + ")" + (boundary ? "(?!" : "(?=") + word +
           ")|(?<!" + word + ")" + (boundary ? "(?=" : "(?!") + word + "))";
    return Error::success();
  }
  bool upper = letter == 'P' || letter == 'S' || letter == 'W' ||
               letter == 'D' || letter == 'H';
  Expected<std::optional<CodePointSet>> set = setEscape(/*inClass=*/false);
  if (!set)
    return set.takeError();
  if (*set)
    return upper ? writeSet((*set)->complement(), true)
                 : writeSet(**set, false);
  Expected<uint32_t> character = characterEscape();
  if (!character)
    return character.takeError();
  literal(*character);
  return Error::success();
}

Error Translator::alternatives(unsigned depth) {
  if (depth > 100)
    return fail("groups are nested too deeply");
  bool before = ignoreCase;
  while (!rest.empty() && rest.front() != ')') {
    size_t atom = out.size();
    char front = rest.front();
    if (front == '|') {
      out += '|';
      rest = rest.drop_front();
      continue;
    }
    if (StringRef("*+?").contains(front))
      return fail("'" + Twine(front) + "' has nothing to repeat");
    if (front == '^' || front == '$' || front == '.') {
      out += front;
      rest = rest.drop_front();
    } else if (rest.consume_front("(")) {
      if (Error error = group(depth))
        return error;
    } else if (rest.consume_front("[")) {
      bool negated;
      Expected<CodePointSet> set = classSet(negated, 0);
      if (!set)
        return set.takeError();
      if (Error error = writeSet(*set, negated))
        return error;
    } else if (rest.consume_front("\\")) {
      if (Error error = escape())
        return error;
    } else {
      literal(takeCharacter(rest));
    }
    if (Error error = quantifier(atom))
      return error;
  }
  ignoreCase = before;
  return Error::success();
}

Expected<std::string> sdc::translatePattern(StringRef pattern) {
  const auto *begin = reinterpret_cast<const UTF8 *>(pattern.data());
  if (!isLegalUTF8String(&begin, begin + pattern.size()))
    return createStringError("a pattern is not UTF-8");
  return Translator(pattern).run();
}
