// Element types and shapes of tensors, and their names for the host.

#include "runtime/src/shapes.h"

#include "runtime/src/arithmetic.h"
#include "sdc/sdc.h"

#include <cinttypes>
#include <cstdio>

using namespace sdc;
using namespace sdc::rt;

bool sdc::rt::shapeBytes(const flatbuffers::Vector<int64_t> *shape,
                         fb::Element element, uint64_t &bytes,
                         ShapeProblem &problem) {
  if (elementSize(element) == 0) {
    snprintf(problem.text, sizeof(problem.text), "unknown element type %u",
             static_cast<unsigned>(element));
    return false;
  }
  uint32_t rank = shape ? shape->size() : 0;
  if (rank > kMaxRank) {
    snprintf(problem.text, sizeof(problem.text),
             "a shape of rank %u, at most %u is allowed", rank, kMaxRank);
    return false;
  }
  Size size = elementSize(element);
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t dim = shape->Get(i);
    if (dim < 1) {
      snprintf(problem.text, sizeof(problem.text),
               "dimension %u is %" PRId64 ", expected at least 1", i, dim);
      return false;
    }
    size = size * Size(dim);
  }
  if (!size.isAtMost(INT64_MAX)) {
    snprintf(problem.text, sizeof(problem.text),
             "the product of its dimensions overflows");
    return false;
  }
  bytes = size.value;
  return true;
}

const char *sdc_element_name(sdc_element element) {
  switch (element) {
  case SDC_F32:
    return "f32";
  case SDC_F16:
    return "f16";
  case SDC_BF16:
    return "bf16";
  case SDC_I8:
    return "i8";
  case SDC_U8:
    return "u8";
  case SDC_I32:
    return "i32";
  case SDC_I64:
    return "i64";
  case SDC_BOOL:
    return "bool";
  case SDC_F64:
    return "f64";
  case SDC_I16:
    return "i16";
  }
  return "unknown";
}

size_t sdc_element_size(sdc_element element) {
  return elementSize(static_cast<fb::Element>(element));
}
