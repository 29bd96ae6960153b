// The parser of chat templates: writes the nodes of runtime/schema/text.fbs
// as it reads, children before parents.
#ifndef SDC_COMPILER_EMIT_TEMPLATEPARSER_H
#define SDC_COMPILER_EMIT_TEMPLATEPARSER_H

#include "compiler/Emit/TemplateLexer.h"

#include "schema/text_generated.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <optional>
#include <utility>

namespace sdc {

class TemplateParser {
public:
  TemplateParser(std::vector<TemplateToken> tokens, llvm::StringRef name);

  llvm::Expected<std::unique_ptr<fb::ChatTemplateT>> run();

private:
  using Node = llvm::Expected<uint32_t>;
  using Nodes = llvm::SmallVector<uint32_t, 8>;
  static constexpr uint32_t none = 0xFFFFFFFF;

  // TemplateParser.cpp: statements.
  /// Statements up to a block whose word is one of `ends`, or to the end.
  Node parseBody(llvm::ArrayRef<llvm::StringRef> ends);
  Node parseStatement();
  Node parseFor();
  Node parseIf();
  Node parseSet();
  Node parseMacro();
  Node parsePrint();
  Node parseGeneration();
  llvm::Error parseTargets(Nodes &names);
  llvm::Error expectBlockEnd();

  // TemplateExpression.cpp
  Node parseTuple(bool withCondition, bool mayBeEmpty = false);
  Node parseExpression();
  Node parseCondition();
  Node parseOr();
  Node parseAnd();
  Node parseNot();
  Node parseCompare();
  Node parseBinary(unsigned level);
  Node parseUnary(bool withFilter = true);
  Node parsePrimary();
  Node parseList();
  Node parseDict();
  Node parsePostfix(uint32_t object);
  Node parseFilters(uint32_t object);
  Node parseFilter(uint32_t object);
  Node parseTest(uint32_t object);
  Node parseSubscript(uint32_t object);
  Node parseCall(uint32_t callee);

  struct Arguments {
    Nodes positional;
    llvm::SmallVector<std::pair<std::string, uint32_t>, 4> named;
  };
  /// From behind the '(' to behind the ')'.
  llvm::Error parseArguments(Arguments &arguments);
  /// Puts arguments in the order of the parameters.
  Node placeArguments(const Arguments &arguments, llvm::StringRef parameters,
                      const llvm::Twine &what, unsigned line);
  Node selectFilter(fb::Filter filter, uint32_t object, Arguments &arguments,
                    unsigned line);
  Node mapFilter(uint32_t object, Arguments &arguments, unsigned line);
  uint32_t keywords(const Arguments &arguments);
  std::optional<llvm::StringRef> constantString(uint32_t node) const;

  const TemplateToken &token() const { return tokens[at]; }
  const TemplateToken &next() const {
    return tokens[at + 1 < tokens.size() ? at + 1 : at];
  }
  bool isOperator(llvm::StringRef text) const {
    return token().is(TemplateToken::Operator, text);
  }
  bool isName(llvm::StringRef text) const {
    return token().is(TemplateToken::Name, text);
  }
  void advance() {
    if (at + 1 < tokens.size())
      ++at;
  }
  bool take(llvm::StringRef operatorText);
  bool takeName(llvm::StringRef name);
  llvm::Error expect(llvm::StringRef operatorText);
  llvm::Error fail(unsigned line, const llvm::Twine &what) const;
  llvm::Error unexpected(const llvm::Twine &expected) const;

  uint32_t string(llvm::StringRef text);
  uint32_t list(llvm::ArrayRef<uint32_t> items);
  uint32_t node(fb::NodeKind kind, unsigned line, uint32_t a = none,
                uint32_t b = none, uint32_t c = none, uint32_t d = none,
                uint8_t op = 0);
  bool isAssigned(llvm::StringRef name) const {
    return assigned.contains(name);
  }
  void assign(uint32_t name) { assigned.insert(tree->strings[name]); }

  /// Counts nested calls of the parser.
  struct Nesting {
    explicit Nesting(TemplateParser &parser) : parser(parser) {
      ++parser.depth;
    }
    ~Nesting() { --parser.depth; }
    TemplateParser &parser;
  };
  static constexpr unsigned deepest = 150;

  std::vector<TemplateToken> tokens;
  std::string name;
  size_t at = 0;
  unsigned depth = 0;
  unsigned loops = 0;
  std::unique_ptr<fb::ChatTemplateT> tree;
  llvm::StringMap<uint32_t> strings;
  /// Names that hide functions.
  llvm::StringSet<> assigned;
  /// Names that are called as macros, and the first line of that.
  std::vector<std::pair<std::string, unsigned>> called;
};

} // namespace sdc

#endif // SDC_COMPILER_EMIT_TEMPLATEPARSER_H
