// Offsets of the drawings in the header.

#include "kernels/Format/CudaTile.h"

#include <cstring>

using namespace sdc;

namespace {

constexpr int64_t kPlane = 512, kChunk = 16, kCodes = 256;

int64_t maskPlane(const PackedLayout &layout) {
  return layout.pattern.isDense() ? 0 : kPlane;
}

/// Where the code of a row's word lies, for column half `half` of the word.
int64_t codeOffset(const PackedLayout &layout, int64_t lane, int64_t word,
                   int64_t half) {
  return word / kUnitWords * unitBytes(layout) + kUnitWords * kPlane +
         ((lane % 8) * 2 + half) * kChunk + word % kUnitWords * 4 +
         lane / 8 * 2;
}

} // namespace

int64_t sdc::unitBytes(const PackedLayout &layout) {
  if (layout.tile.kind == Tile::Kind::Fragments)
    return layout.pattern.isDense() ? 8 * kPlane : kUnitWords * kPlane + kCodes;
  int64_t bytes =
      kUnitWords * layout.valuesPerWord() * elementBytes(layout.type);
  return maskPlane(layout) + (bytes + kChunk - 1) / kChunk * kPlane;
}

int64_t sdc::unitValueOffset(const PackedLayout &layout, int64_t lane,
                             int64_t word, int64_t index) {
  int64_t unit = word / kUnitWords * unitBytes(layout);
  int64_t width = elementBytes(layout.type);
  word %= kUnitWords;
  if (layout.tile.kind == Tile::Kind::Lanes) {
    int64_t stored = layout.valuesPerWord();
    if (!layout.pattern.isDense())
      index = stored - 1 - index;
    int64_t at = (word * stored + index) * width;
    return unit + maskPlane(layout) + at / kChunk * kPlane + lane * kChunk +
           at % kChunk;
  }
  int64_t fragment = word, half, t;
  if (layout.pattern.isDense()) {
    fragment = 2 * word + index / 16;
    half = index % 16 / 8;
    t = index % 8 / 2;
  } else {
    half = index / 8;
    t = index / 2 % 4;
  }
  return unit + fragment * kPlane + (lane % 8 * 4 + t) * kChunk +
         (2 * half + lane / 8) * 4 + index % 2 * width;
}

uint32_t sdc::loadUnitMask(const PackedLayout &layout, const uint8_t *block,
                           int64_t lane, int64_t word) {
  uint32_t mask = 0;
  if (layout.tile.kind == Tile::Kind::Lanes) {
    const uint8_t *at = block + word / kUnitWords * unitBytes(layout) +
                        lane * kChunk + word % kUnitWords * 4;
    for (unsigned i = 0; i < 4; ++i)
      mask |= uint32_t(at[i]) << (8 * i);
    return mask;
  }
  for (int64_t half = 0; half < 2; ++half) {
    const uint8_t *at = block + codeOffset(layout, lane, word, half);
    uint32_t codes = at[0] | uint32_t(at[1]) << 8;
    for (int64_t t = 0; t < 4; ++t) {
      unsigned base = static_cast<unsigned>(16 * half + 4 * t);
      mask |= 1u << (base + (codes >> (4 * t) & 3));
      mask |= 1u << (base + (codes >> (4 * t + 2) & 3));
    }
  }
  return mask;
}

void sdc::storeUnitMask(const PackedLayout &layout, uint8_t *block,
                        int64_t lane, int64_t word, uint32_t mask) {
  if (layout.tile.kind == Tile::Kind::Lanes) {
    uint8_t *at = block + word / kUnitWords * unitBytes(layout) +
                  lane * kChunk + word % kUnitWords * 4;
    for (unsigned i = 0; i < 4; ++i)
      at[i] = static_cast<uint8_t>(mask >> (8 * i));
    return;
  }
  for (int64_t half = 0; half < 2; ++half) {
    uint32_t codes = 0;
    for (int64_t t = 0; t < 4; ++t) {
      uint32_t group = mask >> (16 * half + 4 * t) & 15;
      uint32_t low = static_cast<uint32_t>(__builtin_ctz(group));
      uint32_t high = static_cast<uint32_t>(__builtin_ctz(group & (group - 1)));
      codes |= (low | high << 2) << (4 * t);
    }
    uint8_t *at = block + codeOffset(layout, lane, word, half);
    at[0] = static_cast<uint8_t>(codes);
    at[1] = static_cast<uint8_t>(codes >> 8);
  }
}
