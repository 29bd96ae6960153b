// The tests of the template language: `is defined` and its kin.
#include "runtime/text/template/evaluator.h"

using namespace sdc;
using namespace sdc::text;

bool Evaluator::callTest(const fb::Node &node, Value &out) {
  Value value, args[mostArguments];
  size_t count;
  bool holds;
  if (!evaluate(node.a(), value) || !arguments(node.b(), args, count) ||
      !applyTest(static_cast<fb::Test>(node.op()), value, args, node.line(),
                 holds))
    return false;
  out = Value::of(holds);
  return true;
}

bool Evaluator::applyTest(fb::Test test, const Value &value, const Value *args,
                          uint32_t line, bool &out) {
  int order = 0;
  switch (test) {
  case fb::Test::Boolean:
    out = value.kind == Kind::Bool;
    return true;
  case fb::Test::Callable:
    out = value.kind == Kind::Macro || value.kind == Kind::Function ||
          value.kind == Kind::Loop;
    return true;
  case fb::Test::Defined:
    out = value.kind != Kind::Undefined;
    return true;
  case fb::Test::Undefined:
    out = value.kind == Kind::Undefined;
    return true;
  case fb::Test::None:
    out = value.kind == Kind::None;
    return true;
  case fb::Test::True:
    out = value.kind == Kind::Bool && value.boolean;
    return true;
  case fb::Test::False:
    out = value.kind == Kind::Bool && !value.boolean;
    return true;
  case fb::Test::String:
    out = value.isString();
    return true;
  case fb::Test::Number:
    out = value.isNumber();
    return true;
  case fb::Test::Integer:
    out = value.kind == Kind::Int;
    return true;
  case fb::Test::Float:
    out = value.kind == Kind::Float;
    return true;
  case fb::Test::Mapping:
    out = value.kind == Kind::Dict;
    return true;
  case fb::Test::Iterable:
  case fb::Test::Sequence:
    // An undefined value is an empty sequence to Jinja.
    out = value.isString() || value.isSequence() || value.kind == Kind::Dict ||
          value.kind == Kind::Undefined ||
          (value.kind == Kind::Loop && test == fb::Test::Iterable);
    return true;
  case fb::Test::Even:
  case fb::Test::Odd:
  case fb::Test::Divisibleby: {
    int64_t by = test == fb::Test::Divisibleby ? args[0].asInteger() : 2;
    if (!value.isInteger() || by == 0 ||
        (test == fb::Test::Divisibleby && !args[0].isInteger()))
      return failAt(line, "the test wants integers other than 0");
    bool divides = by == -1 || value.asInteger() % by == 0;
    out = divides != (test == fb::Test::Odd);
    return true;
  }
  case fb::Test::Eq:
    out = isEqual(value, args[0]);
    return true;
  case fb::Test::Ne:
    out = !isEqual(value, args[0]);
    return true;
  case fb::Test::Sameas:
    out = value.kind == args[0].kind && isEqual(value, args[0]);
    return true;
  case fb::Test::In:
    return contains(args[0], value, line, out);
  case fb::Test::Lower:
  case fb::Test::Upper: {
    Value text;
    auto method =
        test == fb::Test::Lower ? fb::Method::Islower : fb::Method::Isupper;
    Span span;
    if (!stringOf(value, span) ||
        !callStringMethod(method, span, args, line, text))
      return false;
    out = text.boolean;
    return true;
  }
  case fb::Test::Lt:
  case fb::Test::Le:
  case fb::Test::Gt:
  case fb::Test::Ge:
    if (!compare(value, args[0], order))
      return failAt(line, "no order between the values of a test");
    out = test == fb::Test::Lt   ? order < 0
          : test == fb::Test::Le ? order <= 0
          : test == fb::Test::Gt ? order > 0
                                 : order >= 0;
    return true;
  }
  return failAt(line, "no such test");
}
