// What a session on a CUDA device says when it cannot be, and that nothing is
// left of it.

#include "test/runtime/CudaToy.h"
#include "test/runtime/Sequences.h"

#include <gtest/gtest.h>

using namespace sdc;
using namespace sdc::test;

namespace {
struct CudaFailure : ::testing::Test {
  void SetUp() override {
    NEEDS_FAKE_CUDA();
    fake = fakeCuda();
  }

  void open(const ToyCudaOptions &options = {}) {
    bytes = makeToyCuda(options).write();
    model = openModel(bytes);
  }

  /// Expects that no session can be made, and why.
  void refuses(sdc_status status, const std::string &part,
               sdc_session_options options = {}) {
    options = onCuda(options);
    sdc_session *session = nullptr;
    EXPECT_FAILURE(sdc_session_create(model.get(), &options, &session, &error),
                   status, part);
    EXPECT_EQ(session, nullptr);
  }

  FakeCuda *fake = nullptr;
  AlignedBytes bytes{0};
  Model model;
};
} // namespace

// First of all tests here: once the driver is open, it stays so.
TEST_F(CudaFailure, ADriverThatIsTooOld) {
  open();
  fake->missing = "cuGraphInstantiateWithFlags";
  refuses(SDC_NO_DEVICE, "the CUDA driver has no function "
                         "cuGraphInstantiateWithFlags: it must know CUDA 12.3");
  fake->missing = nullptr;
  fake->version = 12020;
  refuses(SDC_NO_DEVICE,
          "the CUDA driver knows CUDA 12.2, this runtime needs 12.3 or newer");
  fake->version = 13000;
  fake->devices = -1;
  refuses(SDC_NO_DEVICE, "the CUDA driver finds no device");
}

TEST_F(CudaFailure, NoSuchDevice) {
  open();
  sdc_session_options options = {};
  options.device_index = 3;
  refuses(SDC_NO_DEVICE, "no device cuda:3: this machine has 1, from cuda:0 on",
          options);
  fake->devices = 0;
  refuses(SDC_NO_DEVICE, "the CUDA driver finds no device");
  uint32_t count = 0;
  EXPECT_FAILURE(sdc_cuda_count(&count, &error), SDC_NO_DEVICE,
                 "the CUDA driver finds no device");
}

TEST_F(CudaFailure, NoImageForTheDevice) {
  ToyCudaOptions options;
  options.levels = {"sm_80", "sm_90a"};
  open(options);
  fake->major = 12;
  refuses(SDC_NO_IMAGE, "no code in the file for cuda:0 (Fake GPU), which is "
                        "sm_120; the file has: sm_80, sm_90a");
  fake->major = 7;
  fake->minor = 5;
  refuses(SDC_NO_IMAGE, "which is sm_75");
  // 8.6 runs what is made for 8.0; the first and not the second.
  fake->major = 8;
  fake->minor = 6;
  EXPECT_TRUE(makeSession(model, onCuda()));
}

TEST_F(CudaFailure, TheWrongFamily) {
  open();
  sdc_session_options onCpu = {sizeof(onCpu)};
  sdc_session *session = nullptr;
  EXPECT_FAILURE(sdc_session_create(model.get(), &onCpu, &session, &error),
                 SDC_NO_IMAGE,
                 "the executable is for CUDA (sm_90a), the device is the CPU");
  Toy toy;
  sdc_session_options options = onCuda();
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_NO_IMAGE, "the executable is for the CPU, the device is cuda:0");
}

TEST_F(CudaFailure, NotEnoughMemory) {
  open();
  sdc_session_options options = onCuda();
  sdc_memory memory = {sizeof(memory)};
  EXPECT_OK(sdc_session_memory(model.get(), &options, &memory, &error));
  size_t needed = memory.device + memory.device_weights;
  fake->memory = needed - 1;
  refuses(SDC_OUT_OF_MEMORY,
          "not enough memory on cuda:0: " + std::to_string(needed) +
              " bytes are needed (" + std::to_string(memory.device_weights) +
              " for weights, " + std::to_string(memory.device) +
              " for the session), " + std::to_string(needed - 1) + " of " +
              std::to_string(needed - 1) + " are free");
  EXPECT_EQ(fake->used, 0u);
  fake->memory = needed;
  Session session = makeSession(model, onCuda());
  prefill(session, 0, {1});
  EXPECT_EQ(logits(session, 0), toyLogitsAfter({1}));
}

TEST_F(CudaFailure, AnImageWithoutItsFunction) {
  ToyFile file = makeToyCuda();
  file.root.images[0]->functions[1]->symbol = "missing";
  file.layOut();
  bytes = file.write();
  model = openModel(bytes);
  refuses(SDC_MALFORMED, "the image sm_90a has no function 'missing'");
}

TEST_F(CudaFailure, AStepThatFails) {
  open();
  Session session = makeSession(model, onCuda());
  prefill(session, 0, {1, 2});
  fake->failing = "cuGraphLaunch";
  fake->failure = 700;
  EXPECT_FAILURE(sdc_decode(session.get(), Tokens{4, -1, -1}.data(), &error),
                 SDC_DEVICE_FAILED,
                 "cuGraphLaunch: an illegal address was met "
                 "(CUDA_ERROR_ILLEGAL_ADDRESS, 700)");
  // In the middle of a loop.
  fake->failing = nullptr;
  prefill(session, 1, {1, 2});
  fake->failing = "cuGraphLaunch";
  fake->skip = 10;
  sdc_generate_options options = {sizeof(options)};
  fakeCuda();
  EXPECT_FAILURE(
      sdc_generate(session.get(), 1, nullptr, 0, &options, nullptr, &error),
      SDC_DEVICE_FAILED, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/// Whatever call fails, and whenever, a session fails with a message or is
/// there, and nothing leaks.
TEST_F(CudaFailure, AnyCall) {
  const char *names[] = {"cuDevicePrimaryCtxRetain",
                         "cuCtxPushCurrent",
                         "cuMemGetInfo",
                         "cuMemAlloc",
                         "cuMemHostAlloc",
                         "cuMemcpyHtoDAsync",
                         "cuMemcpyDtoHAsync",
                         "cuMemsetD8Async",
                         "cuStreamCreate",
                         "cuStreamSynchronize",
                         "cuModuleLoadData",
                         "cuModuleGetFunction",
                         "cuFuncSetAttribute",
                         "cuLaunchKernelEx",
                         "cuStreamBeginCapture",
                         "cuStreamEndCapture",
                         "cuEventCreate",
                         "cuEventRecord",
                         "cuEventSynchronize",
                         "cuGraphInstantiateWithFlags"};
  for (const char *name : names)
    for (unsigned skip = 0; skip < 12; ++skip) {
      SCOPED_TRACE(std::string(name) + " after " + std::to_string(skip));
      open();
      fake->failing = name;
      fake->failure = 999;
      fake->skip = skip;
      fakeCuda();
      sdc_session_options options = onCuda();
      sdc_session *session = nullptr;
      sdc_error error = {};
      sdc_status status =
          sdc_session_create(model.get(), &options, &session, &error);
      if (status != SDC_OK) {
        EXPECT_EQ(status, SDC_DEVICE_FAILED) << error.message;
        EXPECT_NE(std::string(error.message).find("999"), std::string::npos)
            << error.message;
      }
      fake->failing = nullptr;
      sdc_session_destroy(session);
      model.reset();
      ASSERT_EQ(fake->live, 0);
      ASSERT_EQ(fake->used, 0u);
    }
}

TEST_F(CudaFailure, ListsDevices) {
  fake->devices = 2;
  sdc_cuda_info info = {sizeof(info)};
  EXPECT_OK(sdc_cuda_query(1, &info, &error));
  EXPECT_STREQ(info.name, "Fake GPU");
  EXPECT_EQ(info.major, 9u);
  EXPECT_EQ(info.multiprocessors, 132u);
  EXPECT_EQ(info.driver_major, 13u);
  EXPECT_FAILURE(sdc_cuda_query(2, &info, &error), SDC_NO_DEVICE,
                 "no device cuda:2: this machine has 2");
}

TEST(CudaFile, EveryContradictionIsNamed) {
  struct Fault {
    void (*spoil)(fb::ExecutableT &root);
    const char *message;
  };
  const Fault faults[] = {
      {[](auto &r) { r.target = fb::TargetFamily(5); },
       "unknown target family 5"},
      {[](auto &r) { r.target = fb::TargetFamily::Cpu; },
       "images[0] has CUDA functions, the target is the CPU"},
      {[](auto &r) { r.images[0]->functions.pop_back(); },
       "images[0] has 5 functions, expected 6"},
      {[](auto &r) { r.images[0]->kernel_offsets = {0}; },
       "images[0] has kernel_offsets, a CUDA image has functions"},
      {[](auto &r) { r.images[0]->functions[2]->symbol = ""; },
       "images[0].functions[2] has no symbol"},
      {[](auto &r) { r.images[0]->functions[1]->block = 1025; },
       "images[0].functions[1] has blocks of 1025 threads"},
      {[](auto &r) { r.images[0]->functions[1]->grid_y = 0; },
       "images[0].functions[1] has a grid of"},
      {[](auto &r) { r.images[0]->greedy->block = 0; },
       "images[0].greedy has blocks of 0 threads"},
      {[](auto &r) { r.segments[0]->kind = fb::SegmentKind::Generated; },
       "segments[0] is generated and has offset"}};
  for (const Fault &fault : faults) {
    ToyFile file = makeToyCuda();
    fault.spoil(file.root);
    AlignedBytes bytes = file.write();
    sdc_open_options options = {sizeof(options)};
    sdc_model *model = nullptr;
    EXPECT_FAILURE(sdc_model_open_memory(bytes.data(), bytes.size(), &options,
                                         &model, &error),
                   SDC_MALFORMED, fault.message);
  }
  ToyCudaOptions options;
  options.generated = true;
  ToyFile file = makeToyCuda(options);
  file.root.images[0]->generators.pop_back();
  AlignedBytes bytes = file.write();
  sdc_model *model = nullptr;
  EXPECT_FAILURE(sdc_model_open_memory(bytes.data(), bytes.size(), nullptr,
                                       &model, &error),
                 SDC_MALFORMED, "images[0] has 1 generators, expected 2");
}

/// On whatever driver the loader finds.
TEST(CudaDriver, MayBeMissing) {
  uint32_t count = 0;
  sdc_error error = {};
  if (sdc_cuda_count(&count, &error) == SDC_OK)
    GTEST_SKIP() << "there is a driver here, and " << count << " devices";
  EXPECT_EQ(error.code, SDC_NO_DEVICE);
  EXPECT_NE(std::string(error.message).find("CUDA driver"), std::string::npos)
      << error.message;
  AlignedBytes bytes = makeToyCuda().write();
  Model model = openModel(bytes);
  sdc_session_options options = onCuda();
  sdc_session *session = nullptr;
  EXPECT_FAILURE(sdc_session_create(model.get(), &options, &session, &error),
                 SDC_NO_DEVICE, "CUDA driver");
}
