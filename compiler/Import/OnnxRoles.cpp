// What the inputs and outputs of a graph are to a decoder.

#include "compiler/Import/OnnxRoles.h"

#include "compiler/Import/OnnxOperators.h"
#include "compiler/Import/OnnxTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>

using namespace mlir;
using namespace sdc;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef roleStem(Role role) {
  switch (role) {
  case Role::Other:
    return "other";
  case Role::InputIds:
    return "input_ids";
  case Role::AttentionMask:
    return "attention_mask";
  case Role::PositionIds:
    return "position_ids";
  case Role::PastKey:
    return "past.key";
  case Role::PastValue:
    return "past.value";
  case Role::Logits:
    return "logits";
  case Role::PresentKey:
    return "present.key";
  case Role::PresentValue:
    return "present.value";
  }
  return "other";
}

std::string Port::roleName() const {
  std::string name = roleStem(role).str();
  if (isPast() || isPresent())
    name += "." + std::to_string(layer);
  return name;
}

const Port *OnnxRoles::findInput(Role role, unsigned layer) const {
  for (const Port &port : inputs)
    if (port.role == role && port.layer == layer)
      return &port;
  return nullptr;
}

const Port *OnnxRoles::findOutput(Role role, unsigned layer) const {
  for (const Port &port : outputs)
    if (port.role == role && port.layer == layer)
      return &port;
  return nullptr;
}

namespace {
/// What the name of a cache tensor says.
struct CacheName {
  enum { None, Past, Present } time = None;
  enum { Both, Key, Value } kind = Both;
  unsigned layer = 0;
};
} // namespace

/// Reads names such as past_key_values.0.key, past_key_values_key_cache_0,
/// past.0.value, past_key_0, present.0.key: a word for the time, a number for
/// the layer, and a word for keys or values.
static CacheName parseCacheName(StringRef name) {
  std::string text = name.lower();
  CacheName result;
  // "key_values" names both; it must not be taken for one of them.
  for (StringRef phrase : {"key_values", "key_value"})
    if (size_t at = text.find(phrase); at != std::string::npos) {
      text.replace(at, phrase.size(), "kv");
      break;
    }
  SmallVector<StringRef> words;
  llvm::SplitString(text, words, "._/:-");
  bool hasLayer = false;
  auto time = CacheName::None;
  for (StringRef word : words) {
    if (word.starts_with("past"))
      time = CacheName::Past;
    else if (word.starts_with("present"))
      time = CacheName::Present;
    else if (word == "key" || word == "k" || word == "keys")
      result.kind = CacheName::Key;
    else if (word == "value" || word == "v" || word == "values")
      result.kind = CacheName::Value;
    else if (!word.getAsInteger(10, result.layer))
      hasLayer = true;
  }
  if (hasLayer)
    result.time = time;
  return result;
}

static Role parseInputName(StringRef name) {
  return llvm::StringSwitch<Role>(name.lower())
      .Cases({"input_ids", "inputs_ids", "token_ids", "tokens", "ids"},
             Role::InputIds)
      .Cases({"attention_mask", "attn_mask"}, Role::AttentionMask)
      .Cases({"position_ids", "positions", "pos_ids"}, Role::PositionIds)
      .Default(Role::Other);
}

//===----------------------------------------------------------------------===//
// Types and use
//===----------------------------------------------------------------------===//

static bool isInteger(int type) {
  return type == TensorProto::INT64 || type == TensorProto::INT32;
}

static bool isFloat(int type) {
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16;
}

namespace {

/// Walks over the values of a graph.
class Uses {
public:
  explicit Uses(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      for (const std::string &output : node.output())
        makers[output] = &node;
      for (auto [index, input] : llvm::enumerate(node.input()))
        readers[input].push_back({&node, static_cast<int>(index)});
    }
  }

  /// Whether `value`, reshaped or cast, is the index of a table lookup.
  bool isLookedUp(StringRef value, unsigned depth = 8) const {
    auto found = readers.find(value);
    if (found == readers.end() || depth == 0)
      return false;
    for (auto [node, index] : found->second) {
      StringRef op = node->op_type();
      if (op == "Gather" && index == 1)
        return true;
      bool passes = op == "Cast" || op == "Identity" || op == "Reshape" ||
                    op == "Squeeze" || op == "Unsqueeze" || op == "Flatten" ||
                    op == "Expand" || op == "Where" || op == "Max" ||
                    op == "Min" || op == "Clip";
      if (passes && node->output_size() > 0 &&
          isLookedUp(node->output(0), depth - 1))
        return true;
    }
    return false;
  }

  /// Whether at most `depth` nodes lie between `value` and `target`.
  bool reaches(StringRef value, StringRef target, unsigned depth) const {
    if (value == target)
      return true;
    const onnx::NodeProto *maker = makers.lookup(value);
    if (!maker || depth == 0)
      return false;
    return llvm::any_of(maker->input(), [&](const std::string &input) {
      return reaches(input, target, depth - 1);
    });
  }

private:
  llvm::StringMap<const onnx::NodeProto *> makers;
  llvm::StringMap<SmallVector<std::pair<const onnx::NodeProto *, int>>> readers;
};

class RoleFinder {
public:
  RoleFinder(const onnx::GraphProto &graph, const llvm::StringSet<> &weights,
             ImportDiagnostics &diagnostics)
      : diagnostics(diagnostics), uses(graph) {
    for (const onnx::ValueInfoProto &input : graph.input())
      if (!weights.contains(input.name()))
        roles.inputs.push_back({&input});
    for (const onnx::ValueInfoProto &output : graph.output())
      roles.outputs.push_back({&output});
  }

  OnnxRoles find() {
    nameInputs();
    nameOutputs();
    if (roles.hasPast()) {
      checkCaches();
      checkOthers();
    } else {
      dropRepeatedRoles(roles.inputs);
      dropRepeatedRoles(roles.outputs);
    }
    return std::move(roles);
  }

private:
  void nameInputs();
  void nameOutputs();
  static void dropRepeatedRoles(std::vector<Port> &ports);
  void checkCaches();
  void checkOthers();
  bool hasType(const Port &port, bool (*test)(int), StringRef what, int rank);

  ImportDiagnostics &diagnostics;
  Uses uses;
  OnnxRoles roles;
};

} // namespace

/// Whether a port has a type that fits its role; reports it if not.
bool RoleFinder::hasType(const Port &port, bool (*test)(int), StringRef what,
                         int rank) {
  const onnx::TypeProto &type = port.value->type();
  int element = type.tensor_type().elem_type();
  int got = type.tensor_type().shape().dim_size();
  bool ranked = type.tensor_type().has_shape();
  if (type.has_tensor_type() && test(element) && (!ranked || got == rank))
    return true;
  diagnostics.errorAt(
      port.value->name(),
      "taken for " + port.roleName() + " by its name: expected " + what +
          " of rank " + Twine(rank) + ", got " + nameDataType(element) +
          " of rank " + (ranked ? Twine(got) : Twine("unknown")));
  return false;
}

void RoleFinder::nameInputs() {
  for (Port &port : roles.inputs) {
    StringRef name = port.value->name();
    port.role = parseInputName(name);
    CacheName cache = parseCacheName(name);
    if (cache.time != CacheName::Past)
      continue;
    if (cache.kind == CacheName::Both) {
      diagnostics.errorAt(name,
                          "a cache that holds keys and values in one tensor is "
                          "not supported",
                          "expected past_key_values.N.key and .value");
      continue;
    }
    port.role = cache.kind == CacheName::Key ? Role::PastKey : Role::PastValue;
    port.layer = cache.layer;
    roles.layers = std::max(roles.layers, cache.layer + 1);
  }
}

void RoleFinder::nameOutputs() {
  for (Port &port : roles.outputs) {
    StringRef name = port.value->name();
    CacheName cache = parseCacheName(name);
    if (name.contains_insensitive("logits")) {
      port.role = Role::Logits;
    } else if (cache.time == CacheName::Present &&
               cache.kind != CacheName::Both) {
      port.role =
          cache.kind == CacheName::Key ? Role::PresentKey : Role::PresentValue;
      port.layer = cache.layer;
    }
  }
}

/// In a graph without past a role is no more than a remark: one that two ports
/// would have is none.
void RoleFinder::dropRepeatedRoles(std::vector<Port> &ports) {
  std::map<std::string, unsigned> count;
  for (Port &port : ports)
    ++count[port.roleName()];
  for (Port &port : ports)
    if (count[port.roleName()] > 1)
      port.role = Role::Other;
}

void RoleFinder::checkCaches() {
  using Key = std::pair<Role, unsigned>;
  std::map<Key, const Port *> pasts, presents;
  auto collect = [&](std::vector<Port> &ports, auto isCache, auto &caches) {
    for (Port &port : ports)
      if (isCache(port) &&
          !caches.emplace(Key(port.role, port.layer), &port).second)
        diagnostics.errorAt(
            port.value->name(),
            "taken for " + port.roleName() + " by its name, like '" +
                caches[Key(port.role, port.layer)]->value->name() + "'");
  };
  collect(roles.inputs, [](Port &port) { return port.isPast(); }, pasts);
  collect(roles.outputs, [](Port &port) { return port.isPresent(); }, presents);
  if (roles.layers > pasts.size()) { // so many can't all be there
    diagnostics.error("expected past tensors of " + Twine(roles.layers) +
                      " layers, by the largest number in a name, got " +
                      Twine(pasts.size()) + " tensors");
    roles.layers = 0;
    return;
  }
  for (unsigned layer = 0; layer < roles.layers; ++layer) {
    for (auto [past, present] :
         {std::pair(Role::PastKey, Role::PresentKey),
          std::pair(Role::PastValue, Role::PresentValue)}) {
      const Port *in = pasts[Key(past, layer)];
      const Port *out = presents[Key(present, layer)];
      for (auto [port, role] : {std::pair(in, past), std::pair(out, present)})
        if (!port)
          diagnostics.error(
              "the graph has no " + Port{nullptr, role, layer}.roleName() +
                  (port == in ? " among its inputs" : " among its outputs"),
              "expected names such as past_key_values.0.key and present.0.key");
      if (!in || !out || !hasType(*in, isFloat, "a float tensor", 4))
        continue;
      // The new rows are appended by one node, casts and the like beside it.
      if (!uses.reaches(out->value->name(), in->value->name(), 4))
        diagnostics.errorAt(out->value->name(),
                            "taken for " + out->roleName() +
                                " by its name, but it is not '" +
                                in->value->name() + "' with new rows");
    }
  }
}

void RoleFinder::checkOthers() {
  const Port *ids = nullptr;
  for (Port &port : roles.inputs) {
    StringRef name = port.value->name();
    switch (port.role) {
    case Role::InputIds:
      ids = &port;
      if (hasType(port, isInteger, "an integer tensor", 2) &&
          !uses.isLookedUp(name))
        diagnostics.errorAt(name, "taken for input_ids by its name, but no "
                                  "Gather looks up rows by it");
      break;
    case Role::AttentionMask:
      hasType(
          port,
          [](int type) {
            return isInteger(type) || isFloat(type) ||
                   type == TensorProto::BOOL;
          },
          "a tensor", 2);
      break;
    case Role::PositionIds:
      hasType(port, isInteger, "an integer tensor", 2);
      break;
    case Role::Other:
      diagnostics.errorAt(
          name, "no role of a decoder's input is known for this name",
          name == "use_cache_branch"
              ? "this is a merged decoder; export one with past only"
          : name == "inputs_embeds"
              ? "export the decoder with its embedding, from input_ids"
              : "expected input_ids, attention_mask, position_ids and "
                "past_key_values.N.key and .value");
      break;
    default:
      break;
    }
  }
  std::map<Role, StringRef> holders;
  for (Port &port : roles.inputs)
    if (!port.isPast() && port.role != Role::Other)
      if (auto [it, isNew] = holders.emplace(port.role, port.value->name());
          !isNew)
        diagnostics.errorAt(port.value->name(), "taken for " + port.roleName() +
                                                    " by its name, like '" +
                                                    it->second + "'");
  if (!ids)
    diagnostics.error("the graph has past tensors but no input_ids");
  unsigned logits = 0;
  for (Port &port : roles.outputs)
    if (port.role == Role::Logits) {
      ++logits;
      hasType(port, isFloat, "a float tensor", 3);
    }
  if (logits != 1)
    diagnostics.error("expected one output named logits, got " + Twine(logits));
}

OnnxRoles sdc::findRoles(const onnx::GraphProto &graph,
                         const llvm::StringSet<> &weights,
                         ImportDiagnostics &diagnostics) {
  return RoleFinder(graph, weights, diagnostics).find();
}
