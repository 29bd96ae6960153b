// Names of kernels: the grammar of the header, both ways. Each kind has one
// printer and one reader of the same fields in the same order.

#include "kernels/Spec/KernelSpec.h"

#include <charconv>
#include <cmath>

using namespace sdc;

namespace {

struct ActivationEntry {
  Activation act;
  std::string_view name;
};
constexpr ActivationEntry kActivations[] = {
    {Activation::Silu, "silu"},
    {Activation::GeluTanh, "gelu_tanh"},
    {Activation::GeluErf, "gelu_erf"},
    {Activation::Relu, "relu"},
    {Activation::QuickGelu, "quick_gelu"},
    {Activation::Relu2, "relu2"},
};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string number(double value) {
  char text[40];
  char *end = std::to_chars(text, text + sizeof(text), value).ptr;
  std::string result;
  for (const char *c = text; c != end; ++c)
    if (*c != '+')
      result += *c == '.' ? 'p' : *c == '-' ? 'm' : *c;
  return result;
}

std::string integer(std::string_view key, int64_t value) {
  return "." + std::string(key) + std::to_string(value);
}

std::string type(ElementType type) { return std::string(elementName(type)); }

std::string norm(const NormSpec &norm) {
  return std::string(norm.kind == NormSpec::Kind::Rms ? "rms" : "layer") +
         (norm.bias ? "_bias_" : "_") + type(norm.type) + "_" +
         number(norm.eps);
}

std::string print(const EmbedSpec &s) {
  return "embed" + integer("t", s.rows) + integer("v", s.vocabulary) +
         integer("h", s.hidden) + "." + type(s.type) +
         (s.tile ? "_" + s.tile->str() : "") +
         (s.scale == 1 ? "" : ".scale" + number(s.scale));
}

std::string print(const LinearPart &part, char key) {
  std::string text = "." + std::string(1, key) + std::to_string(part.rows);
  if (part.pattern.isDense())
    text += "_dense_";
  else
    text += "_" + std::to_string(part.pattern.n) + "of" +
            std::to_string(part.pattern.m) + "_";
  text += type(part.type) + "_" + part.tile.str();
  if (part.bias)
    text += "_bias" + type(part.biasType);
  if (part.act != Activation::None)
    text += "_" + std::string(activationName(part.act));
  return text;
}

std::string print(const LinearSpec &s) {
  std::string text = "linear" + integer("t", s.rows) + integer("k", s.columns);
  if (s.norm.present())
    text += "." + norm(s.norm);
  if (s.select != LinearSpec::Select::All)
    text += s.select == LinearSpec::Select::Last ? ".last" : ".active";
  for (size_t i = 0; i < s.parts.size(); ++i)
    text += print(s.parts[i], !s.pair ? 'w' : i == 0 ? 'g' : 'u');
  return text + (s.residual ? ".add" : "");
}

std::string print(const RotarySpec &s) {
  std::string text = "rotary" + integer("t", s.rows);
  if (s.queryHeads)
    text += integer("q", s.queryHeads) + "_" + std::to_string(s.querySize);
  if (s.keyHeads)
    text += integer("k", s.keyHeads) + "_" + std::to_string(s.keySize) + "_" +
            type(s.keyType);
  if (s.valueHeads)
    text += integer("v", s.valueHeads) + "_" + std::to_string(s.valueSize) +
            "_" + type(s.valueType);
  if (s.rotated)
    text += integer("r", s.rotated) + (s.interleaved ? "_pairs" : "_half");
  if (s.scale != 1)
    text += ".scale" + number(s.scale);
  if (s.queryNorm.present())
    text += ".qnorm_" + norm(s.queryNorm);
  if (s.keyNorm.present())
    text += ".knorm_" + norm(s.keyNorm);
  return text;
}

std::string print(const AttentionSpec &s) {
  std::string text = "attention" + integer("t", s.rows) +
                     integer("q", s.heads) + "_" + std::to_string(s.size) +
                     integer("k", s.cacheHeads) + "_" + type(s.keyType) +
                     integer("v", s.valueSize) + "_" + type(s.valueType) +
                     ".scale" + number(s.scale);
  if (s.window)
    text += integer("window", s.window);
  if (s.softcap != 0)
    text += ".cap" + number(s.softcap);
  if (s.splits > 1)
    text += integer("split", s.splits) + "_" + std::to_string(s.chunk);
  return text;
}

std::string print(const CombineSpec &s) {
  return "combine" + integer("t", s.rows) + integer("q", s.heads) + "_" +
         std::to_string(s.valueSize) + integer("split", s.splits);
}

std::string print(const RowNormSpec &s) {
  return "norm" + integer("t", s.rows) + integer("k", s.columns) + "." +
         norm(s.norm);
}

std::string print(const LastRowSpec &s) {
  return "last_row" + integer("t", s.rows) + integer("k", s.columns);
}

std::string print(const ElementwiseSpec &s) {
  using Kind = ElementwiseSpec::Kind;
  std::string text = s.kind == Kind::Activate ? "activate"
                     : s.kind == Kind::Gate   ? "gate"
                                              : "add";
  text += integer("t", s.rows) + integer("k", s.columns);
  if (s.kind != Kind::Add)
    text += "." + std::string(activationName(s.act));
  else if (s.rowwise)
    text += ".row_" + type(s.type);
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads a name from left to right. After the first failure everything fails,
/// and the place of it stays.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  bool ok() const { return expected.empty(); }
  bool atEnd() const { return pos == text.size(); }
  std::string problem() const {
    return "kernel name '" + std::string(text) + "': expected " + expected +
           " at '" + std::string(text.substr(pos)) + "'";
  }

  void fail(std::string what) {
    if (ok())
      expected = std::move(what);
  }

  /// Eats `word` if it is next.
  bool eat(std::string_view word) {
    if (!ok() || text.substr(pos, word.size()) != word)
      return false;
    pos += word.size();
    return true;
  }
  void want(std::string_view word) {
    if (!eat(word))
      fail("'" + std::string(word) + "'");
  }
  /// Eats ".key" when a digit follows it.
  bool eatKey(std::string_view key) {
    std::string field = "." + std::string(key);
    size_t after = pos + field.size();
    if (!ok() || text.substr(pos, field.size()) != field ||
        after >= text.size() || text[after] < '0' || text[after] > '9')
      return false;
    pos = after;
    return true;
  }

  int64_t integer() {
    int64_t value = 0;
    const char *begin = text.data() + pos, *end = text.data() + text.size();
    auto [next, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || value < 0) {
      fail("an integer");
      return 0;
    }
    pos += next - begin;
    return value;
  }
  int64_t integer(std::string_view key) {
    want("." + std::string(key));
    return integer();
  }

  double number() {
    std::string spelled;
    size_t end = pos;
    for (; end < text.size() && text[end] != '.' && text[end] != '_'; ++end)
      spelled += text[end] == 'p' ? '.' : text[end] == 'm' ? '-' : text[end];
    double value = 0;
    const char *last = spelled.data() + spelled.size();
    auto [next, error] = std::from_chars(spelled.data(), last, value);
    if (error != std::errc() || next != last || !std::isfinite(value)) {
      fail("a number");
      return 0;
    }
    pos = end;
    return value;
  }

  ElementType type() {
    for (ElementType type :
         {ElementType::F32, ElementType::F16, ElementType::BF16})
      if (eat(elementName(type)))
        return type;
    fail("f32, f16 or bf16");
    return ElementType::F32;
  }

  /// The name of an activation, if one is next. Longer names first.
  Activation activation() {
    Activation found = Activation::None;
    size_t length = 0;
    for (const ActivationEntry &entry : kActivations)
      if (text.substr(pos, entry.name.size()) == entry.name &&
          entry.name.size() > length) {
        found = entry.act;
        length = entry.name.size();
      }
    if (length == 0)
      fail("an activation");
    pos += length;
    return found;
  }

  /// A normalisation, if one is next after `prefix`.
  NormSpec norm(const std::string &prefix) {
    NormSpec norm;
    if (eat(prefix + "rms"))
      norm.kind = NormSpec::Kind::Rms;
    else if (eat(prefix + "layer"))
      norm.kind = NormSpec::Kind::Layer;
    else
      return norm;
    norm.bias = eat("_bias");
    want("_");
    norm.type = type();
    want("_");
    norm.eps = number();
    return norm;
  }

private:
  std::string_view text;
  size_t pos = 0;
  std::string expected;
};

Tile readTile(Reader &in) {
  if (in.eat("lanes32"))
    return Tile::lanes();
  if (in.eat("mma16"))
    return Tile::fragments();
  in.want("rows");
  return Tile::interleavedRows(static_cast<unsigned>(in.integer()));
}

EmbedSpec readEmbed(Reader &in) {
  EmbedSpec s;
  s.rows = in.integer("t");
  s.vocabulary = in.integer("v");
  s.hidden = in.integer("h");
  in.want(".");
  s.type = in.type();
  if (in.eat("_"))
    s.tile = readTile(in);
  if (in.eat(".scale"))
    s.scale = in.number();
  return s;
}

LinearPart readPart(Reader &in) {
  LinearPart part;
  part.rows = in.integer();
  in.want("_");
  if (!in.eat("dense")) {
    part.pattern.n = static_cast<unsigned>(in.integer());
    in.want("of");
    part.pattern.m = static_cast<unsigned>(in.integer());
  }
  in.want("_");
  part.type = in.type();
  in.want("_");
  part.tile = readTile(in);
  if (in.eat("_bias")) {
    part.bias = true;
    part.biasType = in.type();
  }
  if (in.eat("_"))
    part.act = in.activation();
  return part;
}

LinearSpec readLinear(Reader &in) {
  LinearSpec s;
  s.rows = in.integer("t");
  s.columns = in.integer("k");
  s.norm = in.norm(".");
  if (in.eat(".last"))
    s.select = LinearSpec::Select::Last;
  else if (in.eat(".active"))
    s.select = LinearSpec::Select::Active;
  if (in.eatKey("g")) {
    s.pair = true;
    s.parts.push_back(readPart(in));
    in.want(".u");
    s.parts.push_back(readPart(in));
  }
  while (!s.pair && in.eatKey("w"))
    s.parts.push_back(readPart(in));
  s.residual = in.eat(".add");
  return s;
}

RotarySpec readRotary(Reader &in) {
  RotarySpec s;
  s.rows = in.integer("t");
  if (in.eatKey("q")) {
    s.queryHeads = in.integer();
    in.want("_");
    s.querySize = in.integer();
  }
  if (in.eatKey("k")) {
    s.keyHeads = in.integer();
    in.want("_");
    s.keySize = in.integer();
    in.want("_");
    s.keyType = in.type();
  }
  if (in.eatKey("v")) {
    s.valueHeads = in.integer();
    in.want("_");
    s.valueSize = in.integer();
    in.want("_");
    s.valueType = in.type();
  }
  if (in.eatKey("r")) {
    s.rotated = in.integer();
    s.interleaved = in.eat("_pairs");
    if (!s.interleaved)
      in.want("_half");
  }
  if (in.eat(".scale"))
    s.scale = in.number();
  s.queryNorm = in.norm(".qnorm_");
  s.keyNorm = in.norm(".knorm_");
  return s;
}

AttentionSpec readAttention(Reader &in) {
  AttentionSpec s;
  s.rows = in.integer("t");
  s.heads = in.integer("q");
  in.want("_");
  s.size = in.integer();
  s.cacheHeads = in.integer("k");
  in.want("_");
  s.keyType = in.type();
  s.valueSize = in.integer("v");
  in.want("_");
  s.valueType = in.type();
  in.want(".scale");
  s.scale = in.number();
  if (in.eat(".window"))
    s.window = in.integer();
  if (in.eat(".cap"))
    s.softcap = in.number();
  if (in.eat(".split")) {
    s.splits = in.integer();
    in.want("_");
    s.chunk = in.integer();
  }
  return s;
}

CombineSpec readCombine(Reader &in) {
  CombineSpec s;
  s.rows = in.integer("t");
  s.heads = in.integer("q");
  in.want("_");
  s.valueSize = in.integer();
  s.splits = in.integer("split");
  return s;
}

RowNormSpec readRowNorm(Reader &in) {
  RowNormSpec s;
  s.rows = in.integer("t");
  s.columns = in.integer("k");
  s.norm = in.norm(".");
  if (!s.norm.present())
    in.fail("a norm");
  return s;
}

LastRowSpec readLastRow(Reader &in) {
  LastRowSpec s;
  s.rows = in.integer("t");
  s.columns = in.integer("k");
  return s;
}

ElementwiseSpec readElementwise(Reader &in, ElementwiseSpec::Kind kind) {
  ElementwiseSpec s;
  s.kind = kind;
  s.rows = in.integer("t");
  s.columns = in.integer("k");
  if (kind != ElementwiseSpec::Kind::Add) {
    in.want(".");
    s.act = in.activation();
  } else if (in.eat(".row_")) {
    s.rowwise = true;
    s.type = in.type();
  }
  return s;
}

} // namespace

std::string_view sdc::activationName(Activation act) {
  for (const ActivationEntry &entry : kActivations)
    if (entry.act == act)
      return entry.name;
  return "none";
}

std::string KernelSpec::name() const {
  return std::visit([](const auto &s) { return print(s); }, spec);
}

std::optional<KernelSpec> KernelSpec::parse(std::string_view name,
                                            std::string &problem) {
  Reader in(name);
  KernelSpec result;
  if (in.eat("embed"))
    result.spec = readEmbed(in);
  else if (in.eat("linear"))
    result.spec = readLinear(in);
  else if (in.eat("rotary"))
    result.spec = readRotary(in);
  else if (in.eat("attention"))
    result.spec = readAttention(in);
  else if (in.eat("combine"))
    result.spec = readCombine(in);
  else if (in.eat("norm"))
    result.spec = readRowNorm(in);
  else if (in.eat("last_row"))
    result.spec = readLastRow(in);
  else if (in.eat("activate"))
    result.spec = readElementwise(in, ElementwiseSpec::Kind::Activate);
  else if (in.eat("gate"))
    result.spec = readElementwise(in, ElementwiseSpec::Kind::Gate);
  else if (in.eat("add"))
    result.spec = readElementwise(in, ElementwiseSpec::Kind::Add);
  else
    in.fail("a kind of kernel");
  if (in.ok() && !in.atEnd())
    in.fail("the end or another field");
  if (!in.ok()) {
    problem = in.problem();
    return std::nullopt;
  }
  // Only one spelling of each name is accepted, so that names can be compared.
  if (std::string canonical = result.name(); canonical != name) {
    problem = "kernel name '" + std::string(name) +
              "': expected the spelling '" + canonical + "'";
    return std::nullopt;
  }
  return result;
}
