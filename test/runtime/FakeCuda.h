// A libcuda for tests on machines without a GPU: it keeps device memory on the
// host, runs the toy kernels there, counts what it is asked for, and fails on
// demand. It is strict: a call without a context, an address that is not the
// device's, memory that is copied beyond its end are errors.

#ifndef SDC_TEST_RUNTIME_FAKECUDA_H
#define SDC_TEST_RUNTIME_FAKECUDA_H

#include <cstddef>
#include <cstdint>

namespace sdc::test {

struct FakeCuda {
  // What it pretends to be.
  int devices;
  int major, minor;
  int version;
  size_t memory;
  /// A function that the driver does not have; null for none.
  const char *missing;
  /// A function that fails with `failure` after `skip` calls that do not.
  const char *failing;
  int failure;
  unsigned skip;

  // What it has seen.
  /// Objects and memory that are held.
  int live;
  size_t used;
  size_t uploaded;
  unsigned launches, programmatic, graphLaunches, measured;
  const void *lastStream;
};

/// Of the library, as fake_cuda().
using FakeCudaFn = FakeCuda *(*)();

} // namespace sdc::test

#endif // SDC_TEST_RUNTIME_FAKECUDA_H
