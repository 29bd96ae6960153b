// Plain graphs: run by the names of their inputs and outputs.

#include "test/runtime/Handles.h"

using namespace sdc;
using namespace sdc::test;

namespace {
class Plain : public ::testing::Test {
protected:
  Plain()
      : file(makeToyPlain()), bytes(file.write()), a(100), b(100), sum(100) {
    kernels = linkedKernels(file);
    sdc_open_options options = {};
    options.kernels = kernels.data();
    options.kernel_count = 1;
    model = openModel(bytes, options);
    sdc_session_options session = {};
    session.threads = 3;
    this->session = makeSession(model, session);
    for (int i = 0; i < 100; ++i) {
      a[i] = float(i);
      b[i] = float(1000 * i);
    }
  }

  sdc_tensor tensor(const char *name, std::vector<float> &values) {
    return {name,   SDC_F32,       1,
            &shape, values.data(), values.size() * sizeof(float)};
  }

  ToyFile file;
  AlignedBytes bytes;
  std::vector<sdc_kernel> kernels;
  Model model;
  Session session;
  std::vector<float> a, b, sum;
  const int64_t shape = 100;
};
} // namespace

TEST_F(Plain, Runs) {
  sdc_tensor inputs[] = {tensor("b", b), tensor("a", a)};
  sdc_tensor output = tensor("sum", sum);
  EXPECT_OK(sdc_run(session.get(), inputs, 2, &output, 1, &error));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(sum[i], float(1001 * i));
  EXPECT_OK(sdc_run(session.get(), inputs, 2, nullptr, 0, &error));
  sdc_session_cancel(session.get());
  EXPECT_FAILURE(sdc_run(session.get(), inputs, 2, &output, 1, &error),
                 SDC_CANCELLED, "cancelled");
}

TEST_F(Plain, RefusesWhatDoesNotFit) {
  sdc_tensor inputs[] = {tensor("a", a), tensor("b", b)};
  sdc_tensor output = tensor("sum", sum);
  auto run = [&](size_t count, sdc_error *error) {
    return sdc_run(session.get(), inputs, count, &output, 1, error);
  };
  EXPECT_FAILURE(run(1, &error), SDC_BAD_TENSOR, "input 'b' is given 0 times");
  inputs[1].name = "a";
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR, "input 'a' is given 2 times");
  inputs[1].name = "c";
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR, "the graph has no input 'c'");
  inputs[1] = tensor("b", b);
  inputs[1].element = SDC_I32;
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR,
                 "input 'b' is of type i32, expected f32");
  inputs[1] = tensor("b", b);
  inputs[1].rank = 0;
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR,
                 "input 'b' has rank 0, expected 1");
  int64_t other = 99;
  inputs[1] = tensor("b", b);
  inputs[1].shape = &other;
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR,
                 "dimension 0 of input 'b' is 99, expected 100");
  inputs[1] = tensor("b", b);
  inputs[1].bytes = 396;
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR,
                 "input 'b' has 396 bytes, expected 400");
  inputs[1] = tensor("b", b);
  output.name = "a";
  EXPECT_FAILURE(run(2, &error), SDC_BAD_TENSOR, "the graph has no output 'a'");
}

TEST_F(Plain, HasNoSlots) {
  int32_t token = 0;
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, &token, 1, &error),
                 SDC_NOT_COMPILED, "a plain graph has no slots");
  EXPECT_FAILURE(sdc_decode(session.get(), &token, &error), SDC_NOT_COMPILED,
                 "a plain graph has no slots");
  EXPECT_EQ(sdc_slot_logits(session.get(), 0), nullptr);
  EXPECT_EQ(sdc_session_last_step(session.get()), nullptr);
  Toy toy;
  Session decoder = makeSession(toy.model);
  EXPECT_FAILURE(sdc_run(decoder.get(), nullptr, 0, nullptr, 0, &error),
                 SDC_NOT_COMPILED, "not a plain graph");
}
