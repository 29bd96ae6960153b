// Value types of weights, and their exact conversions: widening to f32 loses
// nothing, narrowing rounds to nearest, ties to even. No dependence on the
// host's rounding mode or on its half-precision instructions.

#ifndef SDC_KERNELS_FORMAT_ELEMENTTYPE_H
#define SDC_KERNELS_FORMAT_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sdc {

/// The type of a stored value. New types go to the end.
enum class ElementType : uint8_t { F32, F16, BF16 };

/// Bytes of one value.
constexpr unsigned elementBytes(ElementType type) {
  return type == ElementType::F32 ? 4 : 2;
}

/// "f32", "f16" or "bf16"; and back.
std::string_view elementName(ElementType type);
std::optional<ElementType> parseElementType(std::string_view name);

/// f32 to bf16. A NaN stays a (quiet) NaN; what is beyond the largest bf16
/// after rounding becomes infinite.
uint16_t toBF16(float value);
float fromBF16(uint16_t bits);

/// f32 to IEEE half, subnormals included.
uint16_t toF16(float value);
float fromF16(uint16_t bits);

/// `value` rounded to `type` and widened again.
float roundTo(ElementType type, float value);

/// roundTo for `count` values; `out` may be `values`.
void roundValues(ElementType type, const float *values, int64_t count,
                 float *out);

/// Reads or writes `count` values of `type` at `bytes`, which need not be
/// aligned. `out` and `bytes` must not overlap.
void loadValues(ElementType type, const void *bytes, int64_t count, float *out);
void storeValues(ElementType type, const float *values, int64_t count,
                 void *bytes);

} // namespace sdc

#endif // SDC_KERNELS_FORMAT_ELEMENTTYPE_H
