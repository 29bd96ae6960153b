// Element types and shapes of tensors: how many bytes they take, and whether
// they may be at all.

#ifndef SDC_RUNTIME_SRC_SHAPES_H
#define SDC_RUNTIME_SRC_SHAPES_H

#include "schema/executable_generated.h"

namespace sdc::rt {

constexpr uint32_t kMaxRank = 16;

/// Bytes of one element; 0 for a number that names none.
constexpr uint64_t elementSize(fb::Element element) {
  switch (element) {
  case fb::Element::I8:
  case fb::Element::U8:
  case fb::Element::Bool:
    return 1;
  case fb::Element::F16:
  case fb::Element::BF16:
  case fb::Element::I16:
    return 2;
  case fb::Element::F32:
  case fb::Element::I32:
    return 4;
  case fb::Element::I64:
  case fb::Element::F64:
    return 8;
  }
  return 0;
}

/// What is wrong with a shape, as the end of a message.
struct ShapeProblem {
  char text[96];
};

/// Computes the bytes of a row-major tensor; a null shape is a scalar's. False,
/// with `problem`, for an unknown element, a rank above kMaxRank, a dimension
/// below 1 and a size beyond int64.
bool shapeBytes(const flatbuffers::Vector<int64_t> *shape, fb::Element element,
                uint64_t &bytes, ShapeProblem &problem);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_SHAPES_H
