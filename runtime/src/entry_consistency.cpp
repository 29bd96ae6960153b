// Meaning of entries: their bindings and their launches.

#include "runtime/src/entry_consistency.h"

#include "runtime/src/arithmetic.h"
#include "runtime/src/executable.h"
#include "runtime/src/ranges.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>

using namespace sdc;
using namespace sdc::rt;

namespace {
/// The checks of one entry.
class EntryChecker {
public:
  EntryChecker(const fb::Executable &root, uint32_t index,
               const Allocator &allocator, sdc_error *error)
      : root(root), entry(*root.entries()->Get(index)), index(index),
        allocator(allocator), error(error) {}

  sdc_status check();

private:
  sdc_status checkNumbers();
  sdc_status checkBindings();
  sdc_status checkBinding(uint32_t number, uint64_t &bytes);
  sdc_status checkRole(uint32_t number);
  sdc_status checkRoles();
  sdc_status checkLaunches();
  sdc_status checkOperand(uint32_t launch, uint32_t number);

  bool isPlain() const { return entry.kind() == fb::EntryKind::Plain; }
  /// Rows of the entry; checkNumbers has seen that they fit.
  int64_t rows() const { return int64_t{entry.batch()} * entry.rows(); }

  const fb::Executable &root;
  const fb::Entry &entry;
  uint32_t index;
  const Allocator &allocator;
  sdc_error *error;
};
} // namespace

sdc_status EntryChecker::check() {
  SDC_TRY(checkNumbers());
  SDC_TRY(checkBindings());
  SDC_TRY(checkRoles());
  return checkLaunches();
}

sdc_status EntryChecker::checkNumbers() {
  const fb::Model &model = *root.model();
  if (entry.kind() > fb::EntryKind::MAX)
    return fail(error, SDC_MALFORMED, "entries[%u]: unknown kind %u", index,
                static_cast<unsigned>(entry.kind()));
  if (entry.arena_size() > INT64_MAX)
    return fail(error, SDC_MALFORMED,
                "entries[%u] asks for an arena of %" PRIu64 " bytes", index,
                entry.arena_size());
  if (isPlain())
    return SDC_OK;
  if (entry.batch() == 0 || entry.rows() == 0)
    return fail(error, SDC_MALFORMED,
                "entries[%u] has %u sequences of %u rows, neither may be 0",
                index, entry.batch(), entry.rows());
  if (Size rows = Size(entry.batch()) * Size(entry.rows());
      !rows.isAtMost(INT32_MAX))
    return fail(error, SDC_MALFORMED,
                "entries[%u] has %u sequences of %u rows, which overflows",
                index, entry.batch(), entry.rows());
  if (model.batch() == 0 || model.context() == 0 || model.vocabulary() == 0)
    return fail(error, SDC_MALFORMED,
                "the model has a batch of %u, a context of %u and a "
                "vocabulary of %u, none may be 0",
                model.batch(), model.context(), model.vocabulary());
  if (model.context() > INT32_MAX || model.vocabulary() > INT32_MAX ||
      model.batch() > INT32_MAX)
    return fail(error, SDC_MALFORMED,
                "the model has a batch of %u, a context of %u and a "
                "vocabulary of %u, which overflows",
                model.batch(), model.context(), model.vocabulary());
  bool decode = entry.kind() == fb::EntryKind::Decode;
  if (decode && entry.rows() != 1)
    return fail(error, SDC_MALFORMED,
                "entries[%u] decodes %u rows of a sequence, expected 1", index,
                entry.rows());
  if (!decode && entry.batch() != 1)
    return fail(error, SDC_MALFORMED,
                "entries[%u] prefills %u sequences, expected 1", index,
                entry.batch());
  return SDC_OK;
}

sdc_status EntryChecker::checkBindings() {
  uint32_t count = entry.bindings()->size();
  Array<Range> inputs(allocator, count), outputs(allocator, count);
  Array<Name> names(allocator, count);
  if (!inputs.valid() || !outputs.valid() || !names.valid())
    return fail(error, SDC_OUT_OF_MEMORY, "no memory to check the bindings");
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t bytes = 0;
    SDC_TRY(checkBinding(i, bytes));
    const fb::Binding &binding = *entry.bindings()->Get(i);
    Range range = {binding.offset(), binding.offset() + bytes, i};
    bool output = binding.role() == fb::Role::Logits ||
                  binding.role() == fb::Role::Output ||
                  binding.role() == fb::Role::Tap;
    if (output)
      outputs.add(range);
    else
      inputs.add(range);
    bool named = binding.role() == fb::Role::Input ||
                 binding.role() == fb::Role::Output ||
                 binding.role() == fb::Role::Tap;
    if (!named)
      continue;
    if (!binding.name() || binding.name()->size() == 0)
      return fail(error, SDC_MALFORMED, "entries[%u].bindings[%u] has no name",
                  index, i);
    names.add({binding.name()->c_str(), i});
  }
  // All inputs are there before the first launch and all outputs after the
  // last; an input may die and leave its bytes to an output. Two names of one
  // value share its bytes.
  for (Array<Range> *list : {&inputs, &outputs})
    if (Pair pair = findOverlap(*list, list == &outputs); pair.found)
      return fail(error, SDC_MALFORMED,
                  "entries[%u].bindings[%u] and bindings[%u] overlap", index,
                  pair.first, pair.second);
  if (Pair pair = findDuplicate(names); pair.found) {
    // A graph may hand an input through: one name, two roles.
    const fb::Binding &first = *entry.bindings()->Get(pair.first);
    const fb::Binding &second = *entry.bindings()->Get(pair.second);
    if (first.role() == second.role())
      return fail(error, SDC_MALFORMED,
                  "entries[%u].bindings[%u] and bindings[%u] are both named "
                  "'%s'",
                  index, pair.first, pair.second, first.name()->c_str());
  }
  return SDC_OK;
}

sdc_status EntryChecker::checkBinding(uint32_t number, uint64_t &bytes) {
  const fb::Binding &binding = *entry.bindings()->Get(number);
  if (binding.role() > fb::Role::MAX)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: unknown role %u", index, number,
                static_cast<unsigned>(binding.role()));
  ShapeProblem problem;
  if (!shapeBytes(binding.shape(), binding.element(), bytes, problem))
    return fail(error, SDC_MALFORMED, "entries[%u].bindings[%u]: %s", index,
                number, problem.text);
  if (binding.offset() % kAlignment != 0)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u] starts at byte %" PRIu64
                " of the arena, which is not a multiple of %" PRIu64,
                index, number, binding.offset(), kAlignment);
  if (!isInside(binding.offset(), bytes, entry.arena_size()))
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u] ends at byte %" PRIu64 " + %" PRIu64
                " of the arena, which has %" PRIu64,
                index, number, binding.offset(), bytes, entry.arena_size());
  return checkRole(number);
}

sdc_status EntryChecker::checkRole(uint32_t number) {
  const fb::Binding &binding = *entry.bindings()->Get(number);
  const char *role = fb::EnumNameRole(binding.role());
  bool tensor =
      binding.role() == fb::Role::Input || binding.role() == fb::Role::Output;
  if (tensor != isPlain())
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u] has role %s, which %s entry has not",
                index, number, role, isPlain() ? "a plain" : "a decoder's");
  if (tensor)
    return SDC_OK;

  bool logits = binding.role() == fb::Role::Logits;
  bool tap = binding.role() == fb::Role::Tap;
  fb::Element element = logits || tap ? fb::Element::F32 : fb::Element::I32;
  if (binding.element() != element)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: %s are of type %s, expected %s",
                index, number, role,
                sdc_element_name(static_cast<sdc_element>(binding.element())),
                sdc_element_name(static_cast<sdc_element>(element)));
  bool allRows =
      !logits || entry.all_logits() || entry.kind() == fb::EntryKind::Decode;
  int64_t expectedRows = allRows ? rows() : 1;
  uint32_t expectedRank = logits || tap ? 2 : 1;
  uint32_t rank = binding.shape() ? binding.shape()->size() : 0;
  if (rank != expectedRank)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: %s have rank %u, expected %u", index,
                number, role, rank, expectedRank);
  if (binding.shape()->Get(0) != expectedRows)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: %s have %" PRId64
                " rows, expected %" PRId64,
                index, number, role, binding.shape()->Get(0), expectedRows);
  if (logits && binding.shape()->Get(1) != root.model()->vocabulary())
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: logits have %" PRId64
                " columns, the vocabulary is %u",
                index, number, binding.shape()->Get(1),
                root.model()->vocabulary());
  if (tap && binding.shape()->Get(1) > INT32_MAX)
    return fail(error, SDC_MALFORMED,
                "entries[%u].bindings[%u]: a tap of %" PRId64 " columns", index,
                number, binding.shape()->Get(1));
  return SDC_OK;
}

sdc_status EntryChecker::checkRoles() {
  if (isPlain())
    return SDC_OK;
  for (fb::Role role : {fb::Role::Tokens, fb::Role::Positions, fb::Role::Slots,
                        fb::Role::Logits}) {
    unsigned count = 0;
    for (const fb::Binding *binding : *entry.bindings())
      count += binding->role() == role;
    if (count != 1)
      return fail(error, SDC_MALFORMED,
                  "entries[%u] has %u bindings of role %s, expected 1", index,
                  count, fb::EnumNameRole(role));
  }
  return SDC_OK;
}

sdc_status EntryChecker::checkLaunches() {
  if (entry.launches()->size() == 0)
    return fail(error, SDC_MALFORMED, "entries[%u] has no launches", index);
  for (uint32_t i = 0; i < entry.launches()->size(); ++i) {
    const fb::Launch &launch = *entry.launches()->Get(i);
    if (launch.kernel() >= root.kernels()->size())
      return fail(error, SDC_MALFORMED,
                  "entries[%u].launches[%u]: kernel %u is out of range, the "
                  "file has %u",
                  index, i, launch.kernel(), root.kernels()->size());
    if (launch.units() == 0)
      return fail(error, SDC_MALFORMED, "entries[%u].launches[%u] has no units",
                  index, i);
    for (uint32_t j = 0; j < launch.operands()->size(); ++j)
      SDC_TRY(checkOperand(i, j));
  }
  return SDC_OK;
}

sdc_status EntryChecker::checkOperand(uint32_t launch, uint32_t number) {
  const fb::Operand &operand =
      *entry.launches()->Get(launch)->operands()->Get(number);
  uint64_t limit = 1;
  uint32_t count = 1;
  const char *what = "";
  switch (operand.kind()) {
  case fb::OperandKind::Arena:
    limit = entry.arena_size();
    what = "arena";
    break;
  case fb::OperandKind::Weight:
    count = root.weights()->size();
    what = "weight";
    if (operand.index() < count)
      limit = root.weights()->Get(operand.index())->size();
    break;
  case fb::OperandKind::State:
    count = root.states()->size();
    what = "state";
    break;
  case fb::OperandKind::Params:
    what = "params";
    break;
  default:
    return fail(error, SDC_MALFORMED,
                "entries[%u].launches[%u].operands[%u]: unknown kind %u", index,
                launch, number, static_cast<unsigned>(operand.kind()));
  }
  if (operand.index() >= count)
    return fail(error, SDC_MALFORMED,
                "entries[%u].launches[%u].operands[%u]: %s %u is out of range, "
                "the file has %u",
                index, launch, number, what, operand.index(), count);
  // An empty weight has no byte, and an operand that points at its end.
  if (operand.offset() >= limit && operand.offset() != 0)
    return fail(error, SDC_MALFORMED,
                "entries[%u].launches[%u].operands[%u]: byte %" PRIu64
                " is outside the %s, which allows %" PRIu64,
                index, launch, number, operand.offset(), what, limit);
  return SDC_OK;
}

sdc_status sdc::rt::checkEntries(const fb::Executable &root,
                                 const Allocator &allocator, sdc_error *error) {
  uint32_t plain = 0;
  for (uint32_t i = 0; i < root.entries()->size(); ++i) {
    SDC_TRY(EntryChecker(root, i, allocator, error).check());
    plain += root.entries()->Get(i)->kind() == fb::EntryKind::Plain;
  }
  if (plain != 0 && (plain > 1 || root.entries()->size() > 1))
    return fail(error, SDC_MALFORMED,
                "the file has %u plain entries among %u, a plain graph has one "
                "alone",
                plain, root.entries()->size());
  return SDC_OK;
}
