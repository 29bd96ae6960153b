// What follows from a specification: whether it makes sense, its units, its
// operands, its scratch.

#include "kernels/Spec/KernelSpec.h"

#include <algorithm>
#include <cmath>

using namespace sdc;

namespace {

constexpr int64_t kLimit = int64_t(1) << 31;

bool inRange(int64_t value) { return value >= 1 && value < kLimit; }
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

std::string size(const char *what, int64_t value) {
  return std::string(what) + " of " + std::to_string(value) +
         " is out of range, expected 1 to 2^31 - 1";
}

std::string normProblem(const NormSpec &norm) {
  if (norm.bias && norm.kind != NormSpec::Kind::Layer)
    return "only a layer norm has a bias";
  if (!(norm.eps >= 0) || !std::isfinite(norm.eps))
    return "eps of a norm is not a finite number of at least 0";
  return "";
}

//===----------------------------------------------------------------------===//
// problem
//===----------------------------------------------------------------------===//

std::string check(const EmbedSpec &s) {
  if (!inRange(s.vocabulary))
    return size("a vocabulary", s.vocabulary);
  if (!inRange(s.hidden))
    return size("a hidden size", s.hidden);
  return s.tile ? s.layout().problem() : "";
}

std::string check(const LinearSpec &s) {
  if (!inRange(s.columns))
    return size("a K", s.columns);
  if (std::string text = normProblem(s.norm); !text.empty())
    return text;
  if (s.parts.empty() || (s.pair && s.parts.size() != 2))
    return s.pair ? "a pair has two parts, gate and up"
                  : "a linear has at least one part";
  if (s.residual && s.numOutputs() != 1)
    return "a residual needs exactly one output";
  for (size_t i = 0; i < s.parts.size(); ++i) {
    if (!inRange(s.parts[i].rows))
      return size("a part", s.parts[i].rows);
    if (std::string text = s.layout(i).problem(); !text.empty())
      return text;
  }
  if (s.pair && (s.parts[0].rows != s.parts[1].rows ||
                 s.parts[0].tile != s.parts[1].tile))
    return "gate and up differ in rows or tile";
  if (s.pair && s.parts[1].act != Activation::None)
    return "the up part of a pair has no activation";
  return "";
}

std::string check(const RotarySpec &s) {
  if (!s.queryHeads && !s.keyHeads && !s.valueHeads)
    return "a rotary kernel has queries, keys or values";
  if (s.queryHeads && (!inRange(s.queryHeads) || !inRange(s.querySize)))
    return "queries have at least one head and a head size";
  if (s.keyHeads && (!inRange(s.keyHeads) || !inRange(s.keySize)))
    return "keys have at least one head and a head size";
  if (s.valueHeads && (!inRange(s.valueHeads) || !inRange(s.valueSize)))
    return "values have at least one head and a head size";
  if (s.rotated % 2 != 0 || s.rotated < 0)
    return "the rotated size " + std::to_string(s.rotated) + " is not even";
  if ((s.queryHeads && s.rotated > s.querySize) ||
      (s.keyHeads && s.rotated > s.keySize))
    return "the rotated size exceeds the head size";
  for (const NormSpec &norm : {s.queryNorm, s.keyNorm})
    if (std::string text = normProblem(norm); !text.empty())
      return text;
  if ((s.queryNorm.present() && !s.queryHeads) ||
      (s.keyNorm.present() && !s.keyHeads))
    return "a head norm without heads";
  return "";
}

std::string check(const AttentionSpec &s) {
  if (!inRange(s.heads) || !inRange(s.cacheHeads) || !inRange(s.size) ||
      !inRange(s.valueSize))
    return "attention has at least one head and a head size";
  if (s.heads % s.cacheHeads != 0)
    return std::to_string(s.heads) + " heads are no multiple of " +
           std::to_string(s.cacheHeads) + " cache heads";
  if (!std::isfinite(s.scale) || !std::isfinite(s.softcap) || s.softcap < 0)
    return "scale or softcap is not a finite number";
  if (s.window < 0)
    return "a window is at least 1";
  if (s.splits < 1 || (s.splits > 1 && (s.chunk < 16 || s.chunk % 16 != 0)))
    return "the chunk of a split attention is no multiple of 16 positions";
  return "";
}

std::string check(const CombineSpec &s) {
  return inRange(s.heads) && inRange(s.valueSize) && s.splits >= 2
             ? ""
             : "combine has heads, a value size and at least two splits";
}

std::string check(const RowNormSpec &s) {
  if (!s.norm.present())
    return "a norm is missing";
  if (!inRange(s.columns))
    return size("a K", s.columns);
  return normProblem(s.norm);
}

std::string check(const LastRowSpec &s) {
  return inRange(s.columns) ? "" : size("a K", s.columns);
}

std::string check(const ElementwiseSpec &s) {
  if (!inRange(s.columns))
    return size("a K", s.columns);
  bool needsAct = s.kind != ElementwiseSpec::Kind::Add;
  if (needsAct != (s.act != Activation::None))
    return needsAct ? "an activation is missing" : "an addition has none";
  return "";
}

//===----------------------------------------------------------------------===//
// units
//===----------------------------------------------------------------------===//

int64_t units(const EmbedSpec &s) { return s.rows; }

int64_t units(const LinearSpec &s) {
  if (s.pair)
    return s.layout(0).numBlocks();
  int64_t blocks = 0;
  for (size_t i = 0; i < s.parts.size(); ++i)
    blocks += s.layout(i).numBlocks();
  return blocks;
}

int64_t units(const RotarySpec &s) {
  return s.rows * (s.queryHeads + std::max(s.keyHeads, s.valueHeads));
}

int64_t units(const AttentionSpec &s) { return s.rows * s.heads * s.splits; }
int64_t units(const CombineSpec &s) { return s.rows * s.heads; }
int64_t units(const RowNormSpec &s) { return s.rows; }
int64_t units(const LastRowSpec &) { return 1; }

int64_t units(const ElementwiseSpec &s) {
  return s.rows * ceilDiv(s.columns, 1024);
}

//===----------------------------------------------------------------------===//
// operands
//===----------------------------------------------------------------------===//

int64_t normOperands(const NormSpec &norm) {
  return norm.present() ? 1 + norm.bias : 0;
}

int64_t operands(const EmbedSpec &) { return 3; }

int64_t operands(const LinearSpec &s) {
  int64_t count = 1 + normOperands(s.norm) +
                  (s.select != LinearSpec::Select::All) + s.residual +
                  static_cast<int64_t>(s.numOutputs());
  for (const LinearPart &part : s.parts)
    count += 1 + part.bias;
  return count;
}

int64_t operands(const RotarySpec &s) {
  bool cached = s.keyHeads || s.valueHeads;
  int64_t tensors = (s.queryHeads > 0) + (s.keyHeads > 0) + (s.valueHeads > 0);
  return 1 + (cached ? 2 : 0) + (s.rotated > 0) + normOperands(s.queryNorm) +
         normOperands(s.keyNorm) + 2 * tensors;
}

int64_t operands(const AttentionSpec &) { return 7; }
int64_t operands(const CombineSpec &) { return 2; }
int64_t operands(const RowNormSpec &s) { return 2 + normOperands(s.norm); }
int64_t operands(const LastRowSpec &) { return 3; }

int64_t operands(const ElementwiseSpec &s) {
  return s.kind == ElementwiseSpec::Kind::Activate ? 2 : 3;
}

//===----------------------------------------------------------------------===//
// scratch
//===----------------------------------------------------------------------===//

template <typename T> int64_t scratch(const T &) { return 0; }

/// x, normed and in the order that the weights want, padded to whole words and
/// whole groups of rows; the indices of its rows; one block of expanded
/// weights for each part of a unit.
int64_t scratch(const LinearSpec &s) {
  int64_t words = ceilDiv(s.columns, kWordColumns);
  int64_t row = words * kWordColumns * 4;
  if (s.outputRows() == 1)
    return row;
  int64_t tileRows = 0;
  for (const LinearPart &part : s.parts)
    tileRows = std::max<int64_t>(tileRows, part.tile.rows);
  int64_t rows = roundUp(s.rows, 8);
  // Sums of one block of each part, before they are combined.
  int64_t sums = rows * tileRows * 4 * (s.pair ? 2 : 1);
  return rows * row + roundUp(rows * 8, 64) + tileRows * row +
         roundUp(sums, 64);
}

/// One head of the larger size, and cosines and sines.
int64_t scratch(const RotarySpec &s) {
  int64_t head = std::max(s.querySize, s.keySize);
  return roundUp(head * 4, 64) + 2 * roundUp(s.rotated / 2 * 4, 64) + 128;
}

/// One query in the order that the keys want, and the sum of values.
int64_t scratch(const AttentionSpec &s) {
  return (roundUp(s.size, 32) + roundUp(s.valueSize, 32)) * 4 + 256;
}

} // namespace

PackedLayout EmbedSpec::layout() const {
  return {vocabulary, hidden, type, Pattern::dense(), *tile};
}

PackedLayout LinearSpec::layout(size_t part) const {
  PackedLayout layout;
  layout.rows = parts[part].rows;
  layout.columns = columns;
  layout.type = parts[part].type;
  layout.pattern = parts[part].pattern;
  layout.tile = parts[part].tile;
  return layout;
}

std::string KernelSpec::problem() const {
  int64_t rows = std::visit([](const auto &s) { return s.rows; }, spec);
  if (!inRange(rows))
    return name() + ": " + size("a number of rows", rows);
  std::string text = std::visit([](const auto &s) { return check(s); }, spec);
  return text.empty() ? "" : name() + ": " + text;
}

int64_t KernelSpec::unitCount() const {
  return std::visit([](const auto &s) { return units(s); }, spec);
}

int64_t KernelSpec::numOperands() const {
  return std::visit([](const auto &s) { return operands(s); }, spec);
}

int64_t KernelSpec::scratchSize() const {
  return std::visit([](const auto &s) { return roundUp(scratch(s), 64); },
                    spec);
}
