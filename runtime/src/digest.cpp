// The one place that instantiates xxHash.

#include "runtime/src/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc::rt;

uint64_t sdc::rt::digest(const void *bytes, uint64_t size) {
  return XXH3_64bits(bytes, size);
}

DigestStream::DigestStream() {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state));
  static_assert(alignof(XXH3_state_t) <= alignof(DigestStream));
  XXH3_INITSTATE(reinterpret_cast<XXH3_state_t *>(state));
  XXH3_64bits_reset(reinterpret_cast<XXH3_state_t *>(state));
}

void DigestStream::add(const void *bytes, uint64_t size) {
  XXH3_64bits_update(reinterpret_cast<XXH3_state_t *>(state), bytes, size);
}

uint64_t DigestStream::finish() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t *>(state));
}
