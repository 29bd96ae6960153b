// Conversions between f32, f16 and bf16 in integer arithmetic.

#include "kernels/Format/ElementType.h"

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

uint16_t sdc::toBF16(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  // Adding just less than half, plus the lowest bit that stays, rounds ties to
  // even; the carry runs into the exponent as it should.
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>(bits >> 16);
}

float sdc::fromBF16(uint16_t bits) {
  return floatOf(static_cast<uint32_t>(bits) << 16);
}

uint16_t sdc::toF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  // 65520 is the first value that rounds beyond the largest half, 65504.
  if (magnitude >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {
    // Normal: rebias the exponent from 127 to 15 and drop 13 bits.
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
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

float sdc::fromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31)
    return floatOf(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return floatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormals are exact products in f32.
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

float sdc::roundTo(ElementType type, float value) {
  switch (type) {
  case ElementType::F32:
    return value;
  case ElementType::F16:
    return fromF16(toF16(value));
  case ElementType::BF16:
    return fromBF16(toBF16(value));
  }
  return value;
}

void sdc::loadValues(ElementType type, const void *bytes, int64_t count,
                     float *out) {
  if (type == ElementType::F32) {
    std::memcpy(out, bytes, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const auto *source = static_cast<const uint8_t *>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, source + 2 * i, sizeof(bits));
    out[i] = type == ElementType::F16 ? fromF16(bits) : fromBF16(bits);
  }
}

void sdc::storeValues(ElementType type, const float *values, int64_t count,
                      void *bytes) {
  if (type == ElementType::F32) {
    std::memcpy(bytes, values, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  auto *target = static_cast<uint8_t *>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits =
        type == ElementType::F16 ? toF16(values[i]) : toBF16(values[i]);
    std::memcpy(target + 2 * i, &bits, sizeof(bits));
  }
}
