// XXH3-64, the digest of everything in a file.

#ifndef SDC_RUNTIME_SRC_DIGEST_H
#define SDC_RUNTIME_SRC_DIGEST_H

#include <cstdint>

namespace sdc::rt {

uint64_t digest(const void *bytes, uint64_t size);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_DIGEST_H
