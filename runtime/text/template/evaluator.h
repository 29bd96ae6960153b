// Walks the tree of a chat template. Nothing here throws: every function says
// whether it could, and the scope knows why not.
#ifndef SDC_RUNTIME_TEXT_TEMPLATE_EVALUATOR_H
#define SDC_RUNTIME_TEXT_TEMPLATE_EVALUATOR_H

#include "runtime/text/template/value.h"

namespace sdc::text {

struct Variable {
  uint32_t name;
  Value value;
  Variable *next;
};

/// A scope of names: the template, one round of a loop, a macro's call.
struct Frame {
  Frame *parent;
  Variable *variables;
};

class Evaluator {
public:
  Evaluator(Scope &scope, const fb::ChatTemplate &tree, int64_t now);

  bool run(Buffer<char> &out);

  /// Sets a variable of the outermost scope; one that the template does not
  /// name is of no use and dropped.
  bool define(Span name, const Value &value);

  /// A list or a dictionary of no entries yet.
  bool newList(size_t count, Value &out, Kind kind = Kind::List);
  bool newDict(Value &out, Kind kind = Kind::Dict);
  bool put(Value &dict, Span key, const Value &value);

private:
  enum class Flow { Next, Break, Continue, Failed };

  // evaluator.cpp: statements.
  Flow execute(uint32_t index, Buffer<char> &out);
  Flow executeList(uint32_t list, Buffer<char> &out);
  Flow executeFor(const fb::Node &node, Buffer<char> &out);
  bool filterItems(const fb::Node &node, List &items);
  bool bindTargets(uint32_t targets, const Value &value, uint32_t line);
  bool setAttribute(const fb::Node &node);
  bool setVariable(uint32_t name, const Value &value);
  Variable *findHere(uint32_t name);

  // expression.cpp
  bool evaluate(uint32_t index, Value &out);
  bool evaluateItems(const fb::Node &node, Value &out);
  bool evaluateDict(const fb::Node &node, Value &out);
  bool evaluateBinary(const fb::Node &node, Value &out);
  bool evaluateCompare(const fb::Node &node, Value &out);
  bool evaluateItem(const fb::Node &node, Value &out);
  bool evaluateSlice(const fb::Node &node, Value &out);
  bool evaluateCall(const fb::Node &node, Value &out);
  bool lookUpName(uint32_t name, Value &out);
  bool getAttribute(const Value &object, Span name, uint32_t line, Value &out);
  bool getLoopAttribute(const Loop &loop, Span name, Value &out);
  bool arithmetic(fb::Binary op, const Value &a, const Value &b, uint32_t line,
                  Value &out);
  bool repeat(const Value &value, int64_t times, uint32_t line, Value &out);
  bool concatenate(const Value &a, const Value &b, Value &out);
  bool contains(const Value &container, const Value &item, uint32_t line,
                bool &out);
  bool sliceBounds(const fb::Node &node, int64_t size, int64_t &start,
                   int64_t &step, int64_t &count);

  // function.cpp
  bool callFunction(const fb::Node &node, Value &out);
  bool callRange(const Value *args, uint32_t line, Value &out);
  bool callStrftime(const Value &format, uint32_t line, Value &out);
  bool callMethod(const fb::Node &node, Value &out);
  bool callStringMethod(fb::Method method, Span text, const Value *args,
                        uint32_t line, Value &out);
  bool callDictMethod(fb::Method method, const Value &dict, const Value *args,
                      uint32_t line, Value &out);
  bool splitString(fb::Method method, Span text, const Value *args,
                   uint32_t line, Value &out);

  // filter.cpp
  bool callFilter(const fb::Node &node, Value &out);
  bool applyFilter(fb::Filter filter, const Value &value, const Value *args,
                   const fb::Node &node, Value &out);
  bool filterList(fb::Filter filter, const Value &value, const Value *args,
                  const fb::Node &node, Value &out);
  bool filterString(fb::Filter filter, const Value &value, const Value *args,
                    uint32_t line, Value &out);
  bool filterSelect(fb::Filter filter, const List &items, const Value *args,
                    const fb::Node &node, Value &out);
  bool filterMap(const List &items, const Value *args, const fb::Node &node,
                 Value &out);
  bool filterNumber(fb::Filter filter, const Value &value, const Value *args,
                    uint32_t line, Value &out);
  bool sortItems(List &items, bool reverse, bool caseSensitive,
                 const Value &attribute, uint32_t line);
  bool getPath(const Value &object, const Value &path, uint32_t line,
               Value &out);

  // test.cpp
  bool callTest(const fb::Node &node, Value &out);
  bool applyTest(fb::Test test, const Value &value, const Value *args,
                 uint32_t line, bool &out);

  // Both sides.
  /// The items of what can be iterated.
  bool iterate(const Value &value, uint32_t line, List &out);
  bool stringOf(const Value &value, Span &out);
  bool keep(const Buffer<char> &text, Value &out);
  bool keep(Span text, Value &out);
  static constexpr size_t mostArguments = 8;
  /// Evaluates a list of arguments; absent ones are undefined.
  bool arguments(uint32_t list, Value *out, size_t &count);
  bool failAt(uint32_t line, const char *what);
  bool failAt(uint32_t line, const char *what, Span name);

  const fb::Node &node(uint32_t index) const {
    return *tree.nodes()->Get(index);
  }
  uint32_t listSize(uint32_t list) const { return tree.lists()->Get(list); }
  uint32_t listItem(uint32_t list, uint32_t i) const {
    return tree.lists()->Get(list + 1 + i);
  }
  Span string(uint32_t index) const {
    return text::spanOf(tree.strings()->Get(index));
  }

  /// Nested evaluations, and all of them: a template ends.
  static constexpr uint32_t deepest = 400;
  static constexpr uint64_t mostSteps = 10000000;

  Scope &scope;
  const fb::ChatTemplate &tree;
  Arena arena;
  int64_t now;
  Frame outermost = {nullptr, nullptr};
  Frame *frame = &outermost;
  uint32_t loopName = text::none;
  uint32_t depth = 0;
  uint64_t steps = 0;
  size_t loopDepth = 0;
};

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_TEMPLATE_EVALUATOR_H
