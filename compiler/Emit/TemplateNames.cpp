// The tables of filters, tests, methods and functions. Parameters are those
// of Jinja 3.1 and Python, but for tojson, which Hugging Face replaces.
#include "compiler/Emit/TemplateNames.h"

using namespace llvm;
using namespace sdc;

static constexpr TemplateWord<fb::Filter> filters[] = {
    {"abs", fb::Filter::Abs, ""},
    {"capitalize", fb::Filter::Capitalize, ""},
    {"count", fb::Filter::Length, ""},
    {"d", fb::Filter::Default, "default_value boolean"},
    {"default", fb::Filter::Default, "default_value boolean"},
    {"dictsort", fb::Filter::Dictsort, "case_sensitive by reverse"},
    {"first", fb::Filter::First, ""},
    {"float", fb::Filter::Float, "default"},
    {"indent", fb::Filter::Indent, "width first blank"},
    {"int", fb::Filter::Int, "default"},
    {"items", fb::Filter::Items, ""},
    {"join", fb::Filter::Join, "d attribute"},
    {"last", fb::Filter::Last, ""},
    {"length", fb::Filter::Length, ""},
    {"list", fb::Filter::List, ""},
    {"lower", fb::Filter::Lower, ""},
    {"map", fb::Filter::Map, "attribute default"},
    {"max", fb::Filter::Max, "case_sensitive attribute"},
    {"min", fb::Filter::Min, "case_sensitive attribute"},
    {"reject", fb::Filter::Reject, "*"},
    {"rejectattr", fb::Filter::Rejectattr, "*"},
    {"replace", fb::Filter::Replace, "old new count"},
    {"reverse", fb::Filter::Reverse, ""},
    {"round", fb::Filter::Round, "precision method"},
    {"safe", fb::Filter::Safe, ""},
    {"select", fb::Filter::Select, "*"},
    {"selectattr", fb::Filter::Selectattr, "*"},
    {"sort", fb::Filter::Sort, "reverse case_sensitive attribute"},
    {"string", fb::Filter::String, ""},
    {"sum", fb::Filter::Sum, "attribute start"},
    {"title", fb::Filter::Title, ""},
    {"tojson", fb::Filter::Tojson, "ensure_ascii indent separators sort_keys"},
    {"trim", fb::Filter::Trim, "chars"},
    {"unique", fb::Filter::Unique, "case_sensitive attribute"},
    {"upper", fb::Filter::Upper, ""},
    {"wordcount", fb::Filter::Wordcount, ""},
};

static constexpr TemplateWord<fb::Test> tests[] = {
    {"boolean", fb::Test::Boolean, ""},
    {"callable", fb::Test::Callable, ""},
    {"defined", fb::Test::Defined, ""},
    {"divisibleby", fb::Test::Divisibleby, "num"},
    {"eq", fb::Test::Eq, "other"},
    {"equalto", fb::Test::Eq, "other"},
    {"==", fb::Test::Eq, "other"},
    {"even", fb::Test::Even, ""},
    {"false", fb::Test::False, ""},
    {"float", fb::Test::Float, ""},
    {"ge", fb::Test::Ge, "other"},
    {">=", fb::Test::Ge, "other"},
    {"greaterthan", fb::Test::Gt, "other"},
    {"gt", fb::Test::Gt, "other"},
    {">", fb::Test::Gt, "other"},
    {"in", fb::Test::In, "seq"},
    {"integer", fb::Test::Integer, ""},
    {"iterable", fb::Test::Iterable, ""},
    {"le", fb::Test::Le, "other"},
    {"<=", fb::Test::Le, "other"},
    {"lessthan", fb::Test::Lt, "other"},
    {"lower", fb::Test::Lower, ""},
    {"lt", fb::Test::Lt, "other"},
    {"<", fb::Test::Lt, "other"},
    {"mapping", fb::Test::Mapping, ""},
    {"ne", fb::Test::Ne, "other"},
    {"!=", fb::Test::Ne, "other"},
    {"none", fb::Test::None, ""},
    {"number", fb::Test::Number, ""},
    {"odd", fb::Test::Odd, ""},
    {"sameas", fb::Test::Sameas, "other"},
    {"sequence", fb::Test::Sequence, ""},
    {"string", fb::Test::String, ""},
    {"true", fb::Test::True, ""},
    {"undefined", fb::Test::Undefined, ""},
    {"upper", fb::Test::Upper, ""},
};

static constexpr TemplateWord<fb::Method> methods[] = {
    {"startswith", fb::Method::Startswith, "prefix"},
    {"endswith", fb::Method::Endswith, "suffix"},
    {"strip", fb::Method::Strip, "chars"},
    {"lstrip", fb::Method::Lstrip, "chars"},
    {"rstrip", fb::Method::Rstrip, "chars"},
    {"split", fb::Method::Split, "sep maxsplit"},
    {"rsplit", fb::Method::Rsplit, "sep maxsplit"},
    {"splitlines", fb::Method::Splitlines, "keepends"},
    {"replace", fb::Method::Replace, "old new count"},
    {"upper", fb::Method::Upper, ""},
    {"lower", fb::Method::Lower, ""},
    {"title", fb::Method::Title, ""},
    {"capitalize", fb::Method::Capitalize, ""},
    {"find", fb::Method::Find, "sub"},
    {"rfind", fb::Method::Rfind, "sub"},
    {"count", fb::Method::Count, "sub"},
    {"index", fb::Method::Index, "sub"},
    {"join", fb::Method::Join, "iterable"},
    {"isdigit", fb::Method::Isdigit, ""},
    {"isalpha", fb::Method::Isalpha, ""},
    {"isalnum", fb::Method::Isalnum, ""},
    {"isspace", fb::Method::Isspace, ""},
    {"isupper", fb::Method::Isupper, ""},
    {"islower", fb::Method::Islower, ""},
    {"removeprefix", fb::Method::Removeprefix, "prefix"},
    {"removesuffix", fb::Method::Removesuffix, "suffix"},
    {"get", fb::Method::Get, "key default"},
    {"items", fb::Method::Items, ""},
    {"keys", fb::Method::Keys, ""},
    {"values", fb::Method::Values, ""},
};

static constexpr TemplateWord<fb::Function> functions[] = {
    {"range", fb::Function::Range, "start stop step"},
    {"namespace", fb::Function::Namespace, "*"},
    {"dict", fb::Function::Dict, "*"},
    {"raise_exception", fb::Function::RaiseException, "message"},
    {"strftime_now", fb::Function::StrftimeNow, "format"},
};

template <typename Op, size_t N>
static const TemplateWord<Op> *findIn(const TemplateWord<Op> (&words)[N],
                                      StringRef name) {
  for (const TemplateWord<Op> &word : words)
    if (word.name == name)
      return &word;
  return nullptr;
}

const TemplateWord<fb::Filter> *sdc::findFilter(StringRef name) {
  return findIn(filters, name);
}
const TemplateWord<fb::Test> *sdc::findTest(StringRef name) {
  return findIn(tests, name);
}
const TemplateWord<fb::Method> *sdc::findMethod(StringRef name) {
  return findIn(methods, name);
}
const TemplateWord<fb::Function> *sdc::findFunction(StringRef name) {
  return findIn(functions, name);
}
