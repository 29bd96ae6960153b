// The lexer of chat templates.
#include "compiler/Emit/TemplateLexer.h"

#include "compiler/Emit/CodePointSet.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;
using namespace sdc;

namespace {

constexpr StringLiteral blanks = " \t\n\r\f\v";

class Lexer {
public:
  Lexer(StringRef source, StringRef name) : source(source), name(name) {}

  Expected<std::vector<TemplateToken>> run();

private:
  Error tag(StringRef close, TemplateToken::Kind end);
  Error comment();
  Expected<bool> raw();
  Error string(char quote);
  Error number();
  Error insideToken();
  void text(StringRef piece) {
    if (!piece.empty())
      push(TemplateToken::Text, piece);
  }
  void push(TemplateToken::Kind kind, const Twine &text) {
    tokens.push_back({kind, line, text.str()});
  }
  /// Moves over `size` bytes and counts their lines.
  void skip(size_t size) {
    line += source.substr(at, size).count('\n');
    at += size;
  }
  void afterBlock(bool strips, bool keeps);
  StringRef rest() const { return source.drop_front(at); }
  Error fail(const Twine &what) const {
    return createStringError(name + ":" + Twine(line) + ": error: " + what);
  }

  StringRef source;
  StringRef name;
  size_t at = 0;
  unsigned line = 1;
  /// Whether the tag at hand may be the first thing of its line.
  bool lineStarts = true;
  std::vector<TemplateToken> tokens;
};

} // namespace

/// White space behind a tag: `-` takes all of it, else a block takes one
/// newline, unless `+` keeps it.
void Lexer::afterBlock(bool strips, bool keeps) {
  size_t begin = at;
  if (strips)
    skip(rest().size() - rest().ltrim(blanks).size());
  else if (!keeps && rest().starts_with("\n"))
    skip(1);
  lineStarts = at > begin && source[at - 1] == '\n';
}

Error Lexer::comment() {
  size_t end = rest().find("#}");
  if (end == StringRef::npos)
    return fail("a comment without '#}'");
  char sign = end > 2 ? source[at + end - 1] : ' ';
  skip(end + 2);
  afterBlock(sign == '-', sign == '+');
  return Error::success();
}

/// {% raw %} to {% endraw %}, at the '{%'; false when it is another tag.
Expected<bool> Lexer::raw() {
  auto match = [](StringRef text, StringRef word, StringRef &begin,
                  StringRef &end) {
    StringRef rest = text;
    if (!rest.consume_front("{%"))
      return size_t(0);
    begin =
        rest.starts_with("-") || rest.starts_with("+") ? rest.take_front() : "";
    rest = rest.drop_front(begin.size()).ltrim(blanks);
    if (!rest.consume_front(word))
      return size_t(0);
    rest = rest.ltrim(blanks);
    end =
        rest.starts_with("-") || rest.starts_with("+") ? rest.take_front() : "";
    rest = rest.drop_front(end.size());
    return rest.consume_front("%}") ? text.size() - rest.size() : size_t(0);
  };
  StringRef begin, end;
  size_t size = match(rest(), "raw", begin, end);
  if (size == 0)
    return false;
  skip(size);
  afterBlock(end == "-", end == "+");
  for (size_t place = rest().find("{%"); place != StringRef::npos;
       place = rest().find("{%", place + 2)) {
    size = match(rest().drop_front(place), "endraw", begin, end);
    if (size == 0)
      continue;
    StringRef piece = rest().take_front(place);
    if (begin == "-") {
      piece = piece.rtrim(blanks);
    } else if (begin != "+") {
      size_t start = piece.rfind('\n') + 1;
      if (piece.drop_front(start).trim(blanks).empty() &&
          (start > 0 || lineStarts))
        piece = piece.take_front(start);
    }
    text(piece);
    skip(place + size);
    afterBlock(end == "-", end == "+");
    return true;
  }
  return fail("{% raw %} without {% endraw %}");
}

Error Lexer::string(char quote) {
  std::string value;
  skip(1);
  while (true) {
    if (at == source.size())
      return fail("a string without its closing quote");
    char front = source[at];
    if (front == quote)
      break;
    if (front != '\\') {
      value += front;
      skip(1);
      continue;
    }
    skip(1);
    if (at == source.size())
      continue;
    char letter = source[at];
    size_t width = letter == 'x'   ? 2
                   : letter == 'u' ? 4
                   : letter == 'U' ? 8
                                   : 0;
    static constexpr StringLiteral letters = "abfnrtv0\\'\"";
    static constexpr char values[] = {'\a', '\b', '\f', '\n', '\r', '\t',
                                      '\v', '\0', '\\', '\'', '"'};
    size_t known = letters.find(letter);
    if (width != 0) {
      uint32_t character;
      StringRef digits = source.substr(at + 1, width);
      if (digits.size() != width || digits.getAsInteger(16, character) ||
          character > CodePointSet::last ||
          (character >= 0xD800 && character < 0xE000))
        return fail("'\\" + Twine(letter) + digits + "' is no character");
      appendUtf8(value, character);
      skip(1 + width);
    } else if (known != StringRef::npos) {
      if (letter != '\n')
        value += values[known];
      skip(1);
    } else if (letter == '\n') {
      skip(1); // the line goes on
    } else {
      value += '\\'; // as Python keeps what it does not know
    }
  }
  push(TemplateToken::String, value);
  skip(1);
  return Error::success();
}

Error Lexer::number() {
  StringRef digits =
      rest().take_while([](char c) { return isDigit(c) || c == '_'; });
  StringRef tail = rest().drop_front(digits.size());
  size_t size = digits.size();
  bool isFloat = false;
  if (tail.size() > 1 && tail[0] == '.' && isDigit(tail[1])) {
    isFloat = true;
    size += 1 + tail.drop_front().take_while(isDigit).size();
    tail = rest().drop_front(size);
  }
  if (tail.size() > 1 && (tail[0] == 'e' || tail[0] == 'E')) {
    size_t sign = tail[1] == '+' || tail[1] == '-';
    size_t count = tail.drop_front(1 + sign).take_while(isDigit).size();
    if (count != 0) {
      isFloat = true;
      size += 1 + sign + count;
    }
  }
  std::string value = rest().take_front(size).str();
  llvm::erase(value, '_');
  push(isFloat ? TemplateToken::Float : TemplateToken::Integer, value);
  skip(size);
  return Error::success();
}

Error Lexer::insideToken() {
  char front = source[at];
  if (front == '\'' || front == '"')
    return string(front);
  if (isDigit(front))
    return number();
  if (isAlpha(front) || front == '_') {
    StringRef word =
        rest().take_while([](char c) { return isAlnum(c) || c == '_'; });
    push(TemplateToken::Name, word);
    skip(word.size());
    return Error::success();
  }
  static constexpr StringLiteral operators[] = {
      "//", "**", "==", "!=", "<=", ">=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (StringRef candidate : operators)
    if (rest().starts_with(candidate)) {
      push(TemplateToken::Operator, candidate);
      skip(candidate.size());
      return Error::success();
    }
  return fail("unexpected '" + rest().take_front() + "' in a tag");
}

/// What is inside {{ }} or {% %}, up to and with its end.
Error Lexer::tag(StringRef close, TemplateToken::Kind end) {
  unsigned brackets = 0;
  while (true) {
    skip(rest().size() - rest().ltrim(blanks).size());
    if (at == source.size())
      return fail("a tag without '" + close + "'");
    StringRef here = rest();
    bool strips = here.starts_with("-") && here.drop_front().starts_with(close);
    bool keeps = end == TemplateToken::BlockEnd && here.starts_with("+") &&
                 here.drop_front().starts_with(close);
    // In an open bracket '}}' may be two ends of mappings.
    if (brackets == 0 && (strips || keeps || here.starts_with(close))) {
      push(end, "");
      skip(close.size() + (strips || keeps));
      if (end == TemplateToken::BlockEnd)
        afterBlock(strips, keeps);
      else
        afterBlock(strips, /*keeps=*/true);
      return Error::success();
    }
    if (Error error = insideToken())
      return error;
    const TemplateToken &token = tokens.back();
    if (token.kind != TemplateToken::Operator)
      continue;
    if (StringRef("([{").contains(token.text))
      ++brackets;
    else if (StringRef(")]}").contains(token.text)) {
      if (brackets == 0)
        return fail("unexpected '" + token.text + "'");
      --brackets;
    }
  }
}

Expected<std::vector<TemplateToken>> Lexer::run() {
  while (at < source.size()) {
    size_t open = at;
    // The next of {{, {% and {#.
    for (open = source.find('{', at); open != StringRef::npos;
         open = source.find('{', open + 1))
      if (open + 1 < source.size() &&
          StringRef("{%#").contains(source[open + 1]))
        break;
    if (open == StringRef::npos) {
      text(rest());
      skip(rest().size());
      break;
    }
    StringRef piece = source.slice(at, open);
    char kind = source[open + 1];
    char sign = open + 2 < source.size() ? source[open + 2] : ' ';
    if (sign == '-') {
      piece = piece.rtrim(blanks);
    } else if (kind != '{' && sign != '+') {
      // A block or comment alone in front of its line takes the indentation.
      size_t start = piece.rfind('\n') + 1;
      if (piece.drop_front(start).trim(blanks).empty() &&
          (start > 0 || lineStarts))
        piece = piece.take_front(start);
    }
    text(piece);
    skip(open - at);
    if (kind == '#') {
      if (Error error = comment())
        return std::move(error);
      continue;
    }
    if (kind == '%') {
      Expected<bool> isRaw = raw();
      if (!isRaw)
        return isRaw.takeError();
      if (*isRaw)
        continue;
    }
    bool print = kind == '{';
    push(print ? TemplateToken::PrintBegin : TemplateToken::BlockBegin, "");
    skip(2 + (sign == '-' || (!print && sign == '+')));
    if (Error error = tag(print ? "}}" : "%}", print ? TemplateToken::PrintEnd
                                                     : TemplateToken::BlockEnd))
      return std::move(error);
  }
  push(TemplateToken::End, "");
  return std::move(tokens);
}

Expected<std::vector<TemplateToken>> sdc::lexTemplate(StringRef source,
                                                      StringRef name) {
  // All newlines are \n, and the last one is no text.
  std::string normal;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      normal += source[i];
      continue;
    }
    normal += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n')
      ++i;
  }
  if (!normal.empty() && normal.back() == '\n')
    normal.pop_back();
  const auto *begin = reinterpret_cast<const UTF8 *>(normal.data());
  if (!isLegalUTF8String(&begin, begin + normal.size()))
    return createStringError(name + ": error: not UTF-8");
  return Lexer(normal, name).run();
}
