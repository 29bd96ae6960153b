// Conversions between f32, f16 and bf16 in integer arithmetic.

#include "kernels/Format/ElementType.h"

#include <algorithm>
#include <cstring>

using namespace sdc;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

} // namespace

std::string_view sdc::elementName(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  }
  return "";
}

std::optional<ElementType> sdc::parseElementType(std::string_view name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (name == elementName(type))
      return type;
  return std::nullopt;
}

namespace {

// The conversions as selects, so that loops over them become vector code.

uint16_t narrowBF16(float value) {
  uint32_t bits = bitsOf(value);
  // Adding just less than half, plus the lowest bit that stays, rounds ties to
  // even; the carry runs into the exponent as it should.
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>(isNaN ? quiet : rounded);
}

float widenBF16(uint16_t bits) {
  return floatOf(static_cast<uint32_t>(bits) << 16);
}

float widenF16(uint16_t half) {
  uint32_t bits = half;
  uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  // The exponent moves from 15 to 127; that of infinity and NaN from 31 to 255.
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t special = normal + (112u << 23);
  // Subnormals are exact products in f32, and zero is one of them.
  uint32_t small =
      bitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  uint32_t wide = magnitude >= 0x7c00u ? special : normal;
  return floatOf((magnitude < 0x400u ? small : wide) | sign);
}

/// Of a magnitude that a normal half has, or of zero.
uint16_t narrowNormalF16(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffffu;
  // Rebias the exponent from 127 to 15 and drop 13 bits.
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  uint32_t half = (rounded - 0x38000000u) >> 13;
  return static_cast<uint16_t>((magnitude ? half : 0) |
                               ((bits >> 16) & 0x8000u));
}

/// 65520 is the first value that rounds beyond the largest half, 65504.
constexpr uint32_t kBeyondF16 = 0x477ff000u, kNormalF16 = 0x38800000u;

/// Values that are narrowed together.
constexpr int64_t kChunk = 16;

/// Whether narrowNormalF16 does for all of a chunk.
bool allNormalF16(const float *values) {
  uint32_t other = 0;
  for (int64_t i = 0; i < kChunk; ++i) {
    uint32_t magnitude = bitsOf(values[i]) & 0x7fffffffu;
    other |= uint32_t(magnitude - kNormalF16 >= kBeyondF16 - kNormalF16) &
             uint32_t(magnitude != 0);
  }
  return other == 0;
}

void narrowF16(const float *values, int64_t count, uint8_t *target) {
  auto store = [&](int64_t i, uint16_t bits) {
    std::memcpy(target + 2 * i, &bits, sizeof(bits));
  };
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    int64_t end = std::min(begin + kChunk, count);
    if (end - begin == kChunk && allNormalF16(values + begin))
      for (int64_t i = begin; i < begin + kChunk; ++i)
        store(i, narrowNormalF16(bitsOf(values[i])));
    else
      for (int64_t i = begin; i < end; ++i)
        store(i, toF16(values[i]));
  }
}

} // namespace

uint16_t sdc::toBF16(float value) { return narrowBF16(value); }
float sdc::fromBF16(uint16_t bits) { return widenBF16(bits); }
float sdc::fromF16(uint16_t bits) { return widenF16(bits); }

uint16_t sdc::toF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= kBeyondF16)
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= kNormalF16)
    return narrowNormalF16(bits);
  // Subnormal: multiples of 2^-24. Anything up to 2^-25 rounds to zero.
  if (magnitude <= 0x33000000u)
    return static_cast<uint16_t>(sign);
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t shift = 126 - (magnitude >> 23);
  uint32_t quotient = mantissa >> shift;
  uint32_t rest = mantissa & ((1u << shift) - 1);
  uint32_t half = 1u << (shift - 1);
  if (rest > half || (rest == half && (quotient & 1u)))
    ++quotient;
  return static_cast<uint16_t>(sign | quotient);
}

float sdc::roundTo(ElementType type, float value) {
  switch (type) {
  case ElementType::F32:
    return value;
  case ElementType::F16:
    return widenF16(toF16(value));
  case ElementType::BF16:
    return widenBF16(narrowBF16(value));
  }
  return value;
}

void sdc::roundValues(ElementType type, const float *values, int64_t count,
                      float *out) {
  constexpr int64_t piece = 256;
  uint8_t narrow[2 * piece];
  if (type == ElementType::F32) {
    if (values != out)
      std::memcpy(out, values, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t first = 0; first < count; first += piece) {
    int64_t some = std::min(piece, count - first);
    storeValues(type, values + first, some, narrow);
    loadValues(type, narrow, some, out + first);
  }
}

void sdc::loadValues(ElementType type, const void *bytes, int64_t count,
                     float *out) {
  const auto *source = static_cast<const uint8_t *>(bytes);
  auto load = [&](int64_t i) {
    uint16_t bits;
    std::memcpy(&bits, source + 2 * i, sizeof(bits));
    return bits;
  };
  switch (type) {
  case ElementType::F32:
    std::memcpy(out, bytes, static_cast<size_t>(count) * sizeof(float));
    return;
  case ElementType::F16:
    for (int64_t i = 0; i < count; ++i)
      out[i] = widenF16(load(i));
    return;
  case ElementType::BF16:
    for (int64_t i = 0; i < count; ++i)
      out[i] = widenBF16(load(i));
    return;
  }
}

void sdc::storeValues(ElementType type, const float *values, int64_t count,
                      void *bytes) {
  auto *target = static_cast<uint8_t *>(bytes);
  switch (type) {
  case ElementType::F32:
    std::memcpy(bytes, values, static_cast<size_t>(count) * sizeof(float));
    return;
  case ElementType::F16:
    return narrowF16(values, count, target);
  case ElementType::BF16:
    for (int64_t i = 0; i < count; ++i) {
      uint16_t bits = narrowBF16(values[i]);
      std::memcpy(target + 2 * i, &bits, sizeof(bits));
    }
    return;
  }
}
