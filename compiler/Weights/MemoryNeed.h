// What takes the most memory at a time in a room that works weight by weight.

#ifndef SDC_COMPILER_WEIGHTS_MEMORYNEED_H
#define SDC_COMPILER_WEIGHTS_MEMORYNEED_H

#include <cstdint>
#include <string>

namespace sdc {

struct MemoryNeed {
  /// The weight.
  std::string name;
  int64_t bytes = 0;
};

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_MEMORYNEED_H
