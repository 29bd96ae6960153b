// XXH3-64, the digest of everything in a file.

#ifndef SDC_RUNTIME_SRC_DIGEST_H
#define SDC_RUNTIME_SRC_DIGEST_H

#include <cstdint>

namespace sdc::rt {

uint64_t digest(const void *bytes, uint64_t size);

/// The digest of bytes that come piece by piece.
class DigestStream {
public:
  DigestStream();
  void add(const void *bytes, uint64_t size);
  uint64_t finish() const;

private:
  /// Room for the state of xxHash, which needs its alignment.
  alignas(64) unsigned char state[640];
};

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_DIGEST_H
