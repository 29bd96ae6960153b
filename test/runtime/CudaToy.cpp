// Finds out which driver the tests run on.

#include "test/runtime/CudaToy.h"

#include <dlfcn.h>
#include <fstream>

using namespace sdc::test;

FakeCuda *sdc::test::fakeCuda() {
  static FakeCudaFn function = [] {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<FakeCudaFn>(dlsym(library, "fake_cuda"))
                   : nullptr;
  }();
  return function ? function() : nullptr;
}

void sdc::test::resetFakeCuda() {
  static const FakeCuda fresh = fakeCuda() ? *fakeCuda() : FakeCuda();
  if (FakeCuda *fake = fakeCuda()) {
    int live = fake->live;
    size_t used = fake->used;
    *fake = fresh;
    fake->live = live;
    fake->used = used;
  }
}

/// Of the file beside the program; empty if there is none.
static std::vector<uint8_t> readCubin() {
  char path[4096] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  std::string name(path, length > 0 ? size_t(length) : 0);
  name.resize(name.find_last_of('/') + 1);
  std::ifstream file(name + "toy.cubin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool sdc::test::canRunCuda(std::string &reason) {
  if (fakeCuda())
    return true;
  uint32_t count = 0;
  sdc_error error = {};
  if (sdc_cuda_count(&count, &error) != SDC_OK) {
    reason = error.message;
    return false;
  }
  if (readCubin().empty()) {
    reason = "no toy.cubin beside the test: test/cuda/run-device.sh makes it";
    return false;
  }
  return true;
}

ToyCudaOptions sdc::test::toyCuda() {
  ToyCudaOptions options;
  if (fakeCuda())
    return options;
  options.cubin = readCubin();
  sdc_cuda_info info = {};
  info.struct_size = sizeof(info);
  sdc_error error = {};
  EXPECT_EQ(sdc_cuda_query(0, &info, &error), SDC_OK) << error.message;
  options.levels = {"sm_" + std::to_string(info.major) +
                    std::to_string(info.minor)};
  return options;
}
