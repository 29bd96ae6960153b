// Reads the levels of CUDA images.

#include "runtime/src/cuda/architecture.h"

#include <cstring>

using namespace sdc;
using namespace sdc::rt;
using namespace sdc::rt::cuda;

/// How well a level suits a device: 0 not at all.
static uint32_t rate(const char *level, Capability device) {
  if (strncmp(level, "sm_", 3) != 0)
    return 0;
  // The last digit is the minor version.
  uint32_t number = 0;
  const char *at = level + 3;
  for (; *at >= '0' && *at <= '9' && number < 10000; ++at)
    number = number * 10 + uint32_t(*at - '0');
  uint32_t major = number / 10, minor = number % 10;
  if (major != device.major || minor > device.minor)
    return 0;
  bool exact = at[0] == 'a', family = at[0] == 'f';
  if (at[0] != '\0' && ((!exact && !family) || at[1] != '\0'))
    return 0;
  if (exact && minor != device.minor)
    return 0;
  return 1 + 3 * minor + (exact ? 2 : family ? 1 : 0);
}

const fb::Image *cuda::chooseImage(const fb::Executable &root,
                                   Capability device) {
  const fb::Image *best = nullptr;
  uint32_t highest = 0;
  for (const fb::Image *image : *root.images()) {
    uint32_t rating = rate(image->level()->c_str(), device);
    if (rating > highest) {
      highest = rating;
      best = image;
    }
  }
  return best;
}
