// The C++ wrapper: handles move and close themselves, callables write.

#include "sdc/sdc.hpp"

#include "test/runtime/Handles.h"

#include <type_traits>
#include <utility>

using namespace sdc::test;
namespace runtime = sdc::runtime;

static_assert(!std::is_copy_constructible_v<runtime::Model>);
static_assert(std::is_nothrow_move_constructible_v<runtime::Session>);

TEST(Wrapper, Writes) {
  ToyFile file = makeToyDecoder();
  AlignedBytes bytes = file.write();
  std::vector<sdc_kernel> kernels = linkedKernels(file);
  auto options = runtime::make<sdc_open_options>();
  options.kernels = kernels.data();
  options.kernel_count = uint32_t(kernels.size());
  runtime::Session session;
  {
    runtime::Model model;
    EXPECT_FALSE(model);
    EXPECT_OK(model.openMemory(bytes.data(), bytes.size(), &options, &error));
    EXPECT_STREQ(model.info().name, "toy");
    runtime::Model moved = std::move(model);
    EXPECT_FALSE(model);
    runtime::Session first;
    EXPECT_OK(first.create(moved, nullptr, &error));
    session = std::move(first);
  }
  const std::vector<int32_t> prompt = {1, 2, 3};
  std::vector<int32_t> written;
  auto generate = runtime::make<sdc_generate_options>();
  auto result = runtime::make<sdc_generate_result>();
  EXPECT_OK(session.generate(
      0, prompt.data(), prompt.size(), generate,
      [&](int32_t token) {
        written.push_back(token);
        return written.size() < 5;
      },
      &result, &error));
  EXPECT_EQ(written.size(), 5u);
  EXPECT_EQ(result.reason, SDC_STOP_CALLBACK);

  // The same by hand.
  EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
  EXPECT_OK(session.prefill(0, prompt.data(), prompt.size(), &error));
  for (uint32_t step = 0; step < 5; ++step) {
    std::vector<int32_t> tokens(kBatch, SDC_NO_TOKEN);
    EXPECT_OK(session.sample(0, nullptr, step, &tokens[0], &error));
    EXPECT_EQ(tokens[0], written[step]);
    EXPECT_OK(session.decode(tokens.data(), &error));
  }
  EXPECT_EQ(session.length(0), 8u);
  EXPECT_NE(session.logits(0), nullptr);
  runtime::Model absent;
  EXPECT_FAILURE(absent.open("/nonexistent", nullptr, &error), SDC_IO,
                 "no such file");
}
