// Sessions on a CUDA device say what an independent computation says, to the
// bit: the toy decoder's sums are exact.

#include "test/runtime/CudaToy.h"
#include "test/runtime/Sequences.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sdc;
using namespace sdc::test;

namespace {
struct Cuda {
  explicit Cuda(const ToyCudaOptions &options = toyCuda())
      : file(makeToyCuda(options)), bytes(file.write()),
        model(openModel(bytes)) {}

  ToyFile file;
  AlignedBytes bytes;
  Model model;
};

/// Greedy tokens after a prompt, computed by hand.
Tokens greedyAfter(Tokens tokens, size_t count) {
  Tokens written;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> logits = toyLogitsAfter(tokens);
    auto best = std::max_element(logits.begin(), logits.end());
    written.push_back(int32_t(best - logits.begin()));
    tokens.push_back(written.back());
  }
  return written;
}

/// Takes tokens, and stops after some.
struct Listener {
  Tokens tokens;
  size_t enough = 1000;
  sdc_session *cancel = nullptr;

  static bool take(void *user, int32_t token) {
    auto &self = *static_cast<Listener *>(user);
    self.tokens.push_back(token);
    if (self.cancel && self.tokens.size() == self.enough)
      sdc_session_cancel(self.cancel);
    return self.cancel || self.tokens.size() < self.enough;
  }
};

sdc_generate_result generate(const Session &session, uint32_t slot,
                             const Tokens &prompt, Listener &listener,
                             sdc_generate_options options = {}) {
  options.struct_size = sizeof(options);
  options.on_token = Listener::take;
  options.on_token_user = &listener;
  sdc_generate_result result = {sizeof(result)};
  EXPECT_OK(sdc_generate(session.get(), slot, prompt.data(), prompt.size(),
                         &options, &result, &error));
  return result;
}
} // namespace

TEST(Cuda, SaysWhatItIsFor) {
  NEEDS_CUDA();
  Cuda cuda;
  sdc_model_info info = {sizeof(info)};
  sdc_model_query(cuda.model.get(), &info);
  EXPECT_EQ(info.device, SDC_DEVICE_CUDA);
  EXPECT_EQ(info.level, cuda.file.root.images[0]->level);
}

TEST(Cuda, PrefillsAndDecodesEachSlot) {
  NEEDS_CUDA();
  Cuda cuda;
  Session session = makeSession(cuda.model, onCuda());
  Tokens a = makeTokens(9, 1), b = makeTokens(2, 2);
  prefill(session, 0, a);
  prefill(session, 2, b);
  EXPECT_EQ(logits(session, 0), toyLogitsAfter(a));
  EXPECT_EQ(logits(session, 2), toyLogitsAfter(b));
  for (int32_t step = 0; step < 5; ++step) {
    Tokens feed = {step + 3, SDC_NO_TOKEN, 30 - step};
    EXPECT_OK(sdc_decode(session.get(), feed.data(), &error));
    a.push_back(feed[0]);
    b.push_back(feed[2]);
    EXPECT_EQ(logits(session, 0), toyLogitsAfter(a));
    EXPECT_EQ(logits(session, 2), toyLogitsAfter(b));
    EXPECT_TRUE(logits(session, 1).empty());
  }
}

TEST(Cuda, GivesAllLogitsAndTaps) {
  NEEDS_CUDA();
  ToyCudaOptions options = toyCuda();
  options.decoder.allLogits = options.decoder.recording = true;
  Cuda cuda(options);
  Session session = makeSession(cuda.model, onCuda());
  Tokens tokens = makeTokens(6, 3);
  std::vector<float> all(tokens.size() * kVocabulary);
  EXPECT_OK(sdc_prefill_all_logits(session.get(), 1, tokens.data(),
                                   tokens.size(), all.data(), &error));
  for (size_t i = 0; i < tokens.size(); ++i) {
    Tokens upTo(tokens.begin(), tokens.begin() + long(i) + 1);
    EXPECT_EQ(std::vector<float>(all.begin() + long(i) * kVocabulary,
                                 all.begin() + long(i + 1) * kVocabulary),
              toyLogitsAfter(upTo));
  }
  const sdc_step *step = sdc_session_last_step(session.get());
  ASSERT_EQ(step->tap_count, 1u);
  std::vector<float> hidden = toyHiddenAfter(tokens);
  EXPECT_EQ(memcmp(step->taps[0].values + kHidden, hidden.data(),
                   kHidden * sizeof(float)),
            0);
}

TEST(Cuda, WritesGreedyTokensOnTheDevice) {
  NEEDS_CUDA();
  Cuda cuda;
  Session session = makeSession(cuda.model, onCuda());
  Tokens prompt = makeTokens(5, 4);
  Tokens expected = greedyAfter(prompt, 20);
  Listener listener;
  sdc_generate_options options = {};
  options.max_new = 20;
  sdc_generate_result result = generate(session, 1, prompt, listener, options);
  EXPECT_EQ(listener.tokens, expected);
  EXPECT_EQ(result.reason, SDC_STOP_LENGTH);
  EXPECT_EQ(result.written, 20u);
  EXPECT_EQ(result.chosen_on, SDC_DEVICE_CUDA);
  // The last token is not fed, and the slot can go on.
  EXPECT_EQ(sdc_slot_length(session.get(), 1), 24u);
  Tokens fed = prompt;
  fed.insert(fed.end(), expected.begin(), expected.end() - 1);
  EXPECT_EQ(logits(session, 1), toyLogitsAfter(fed));
  EXPECT_EQ(
      memcmp(sdc_slot_tokens(session.get(), 1), fed.data(), 24 * sizeof(int)),
      0);
  Listener more;
  options.max_new = 3;
  generate(session, 1, {}, more, options);
  EXPECT_EQ(more.tokens[0], expected.back());
}

TEST(Cuda, StopsAsTheHostDoes) {
  NEEDS_CUDA();
  Cuda cuda;
  Session session = makeSession(cuda.model, onCuda());
  Tokens prompt = makeTokens(5, 5);
  Tokens expected = greedyAfter(prompt, 27);
  auto check = [&](size_t fed) {
    Tokens tokens = prompt;
    tokens.insert(tokens.end(), expected.begin(), expected.begin() + long(fed));
    EXPECT_EQ(sdc_slot_length(session.get(), 0), tokens.size());
    EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens));
    EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
  };
  // By the listener, with steps under way that go too far.
  Listener some;
  some.enough = 4;
  EXPECT_EQ(generate(session, 0, prompt, some).reason, SDC_STOP_CALLBACK);
  EXPECT_EQ(some.tokens, Tokens(expected.begin(), expected.begin() + 4));
  check(3);
  // By a stop token, the first of its kind.
  Tokens stops = {expected[6]};
  size_t at = size_t(std::find(expected.begin(), expected.end(), stops[0]) -
                     expected.begin());
  sdc_generate_options options = {};
  options.stop_tokens = stops.data();
  options.stop_token_count = 1;
  Listener until;
  sdc_generate_result result = generate(session, 0, prompt, until, options);
  EXPECT_EQ(result.reason, SDC_STOP_TOKEN);
  EXPECT_EQ(result.stop_token, stops[0]);
  EXPECT_EQ(until.tokens.size(), at);
  check(at);
  // At the end of the context.
  Listener full;
  EXPECT_EQ(generate(session, 0, prompt, full).reason, SDC_STOP_CONTEXT);
  EXPECT_EQ(full.tokens.size(), kContext - prompt.size() + 1);
  check(kContext - prompt.size());
  // By a request, which is then spent.
  Listener cancelled;
  cancelled.enough = 2;
  cancelled.cancel = session.get();
  EXPECT_EQ(generate(session, 0, prompt, cancelled).reason, SDC_STOP_CANCELLED);
  EXPECT_EQ(cancelled.tokens.size(), 2u);
  check(1);
}

TEST(Cuda, SamplesOnTheHost) {
  NEEDS_CUDA();
  Cuda cuda;
  Toy toy;
  sdc_generate_options options = {};
  options.sampling.struct_size = sizeof(options.sampling);
  options.sampling.temperature = 20;
  options.sampling.seed = 7;
  options.max_new = 12;
  Tokens prompt = makeTokens(3, 6);
  Listener here, there;
  Session onCpu = makeSession(toy.model);
  Session onGpu = makeSession(cuda.model, onCuda());
  generate(onCpu, 0, prompt, here, options);
  EXPECT_EQ(generate(onGpu, 0, prompt, there, options).chosen_on,
            SDC_DEVICE_CPU);
  EXPECT_EQ(there.tokens, here.tokens);
}

TEST(Cuda, ChoosesOnTheHostWithoutAFunction) {
  NEEDS_CUDA();
  ToyCudaOptions options = toyCuda();
  options.greedy = false;
  Cuda cuda(options);
  Session session = makeSession(cuda.model, onCuda());
  Tokens prompt = makeTokens(5, 4);
  Listener listener;
  listener.enough = 6;
  EXPECT_EQ(generate(session, 0, prompt, listener).chosen_on, SDC_DEVICE_CPU);
  EXPECT_EQ(listener.tokens, greedyAfter(prompt, 6));
}

TEST(Cuda, ForksSavesAndReadsSlots) {
  NEEDS_CUDA();
  Cuda cuda;
  Session session = makeSession(cuda.model, onCuda());
  Tokens tokens = makeTokens(7, 8);
  prefill(session, 0, tokens);
  EXPECT_OK(sdc_slot_fork(session.get(), 0, 2, &error));
  std::vector<uint8_t> saved(sdc_slot_save_size(session.get(), 0));
  EXPECT_OK(
      sdc_slot_save(session.get(), 0, saved.data(), saved.size(), &error));
  Session other = makeSession(cuda.model, onCuda());
  EXPECT_OK(sdc_slot_load(other.get(), 1, saved.data(), saved.size(), &error));
  Tokens feed = {SDC_NO_TOKEN, 9, 9};
  Tokens longer = tokens;
  longer.push_back(9);
  EXPECT_OK(sdc_decode(session.get(), Tokens{-1, -1, 9}.data(), &error));
  EXPECT_OK(sdc_decode(other.get(), Tokens{-1, 9, -1}.data(), &error));
  EXPECT_EQ(logits(session, 2), toyLogitsAfter(longer));
  EXPECT_EQ(logits(other, 1), toyLogitsAfter(longer));
  // Number, position and their sum of positions 2 and 3.
  uint16_t rows[2][3];
  EXPECT_OK(sdc_slot_read_state(session.get(), 2, 1, 2, 2, rows, sizeof(rows),
                                &error));
  EXPECT_EQ(rows[1][0], tokens[3]);
  EXPECT_EQ(rows[1][1], 3);
  rows[1][2] = 1000;
  EXPECT_OK(sdc_slot_write_state(session.get(), 2, 1, 2, 2, rows, sizeof(rows),
                                 &error));
  EXPECT_OK(sdc_decode(session.get(), Tokens{-1, -1, 9}.data(), &error));
  longer.push_back(9);
  EXPECT_NE(logits(session, 2), toyLogitsAfter(longer));
}

TEST(Cuda, GeneratesWeights) {
  NEEDS_CUDA();
  ToyCudaOptions options = toyCuda();
  options.generated = true;
  Cuda cuda(options);
  sdc_weight_info weight = {sizeof(weight)};
  ASSERT_TRUE(sdc_model_weight(cuda.model.get(), 1, &weight));
  EXPECT_EQ(weight.data, nullptr);
  EXPECT_OK(sdc_model_verify_weights(cuda.model.get(), &error));
  Session session = makeSession(cuda.model, onCuda());
  prefill(session, 0, {2});
  // Seed 11; embedding is weight 0, head weight 1. Token 2 at position 0 counts
  // three times.
  auto value = [](uint64_t index, uint64_t i) {
    return float((i * 7 + 11 * 3 + index * 5) % 16) - 8;
  };
  float expected = 0;
  for (uint64_t i = 0; i < kHidden; ++i)
    expected += 3 * value(0, 2 * kHidden + i) * value(1, 30 * kHidden + i);
  EXPECT_EQ(logits(session, 0)[30], expected);
}

TEST(Cuda, MeasuresLaunches) {
  NEEDS_CUDA();
  Cuda cuda;
  sdc_session_options options = onCuda();
  options.profile = true;
  Session session = makeSession(cuda.model, options);
  Tokens tokens = makeTokens(9, 1);
  prefill(session, 0, tokens);
  EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens));
  sdc_launch_time time = {sizeof(time)};
  ASSERT_TRUE(sdc_session_launch_time(session.get(), 1, 2, &time));
  EXPECT_EQ(time.runs, 3u);
  EXPECT_GT(time.nanoseconds, 0u);
  sdc_session_clear_profile(session.get());
  ASSERT_TRUE(sdc_session_launch_time(session.get(), 1, 2, &time));
  EXPECT_EQ(time.runs, 0u);
}

TEST(Cuda, SaysItsMemoryBefore) {
  NEEDS_FAKE_CUDA();
  FakeCuda &fake = *fakeCuda();
  Cuda cuda;
  sdc_session_options options = onCuda();
  sdc_memory memory = {sizeof(memory)};
  EXPECT_OK(sdc_session_memory(cuda.model.get(), &options, &memory, &error));
  EXPECT_EQ(fake.used, 0u);
  EXPECT_GT(memory.states, 0u);
  EXPECT_LT(memory.states + memory.arena, memory.device);
  Allocations host;
  sdc_allocator allocator = host.allocator();
  options.allocator = &allocator;
  Session session = makeSession(cuda.model, options);
  EXPECT_EQ(fake.used, memory.device + memory.device_weights);
  EXPECT_EQ(host.bytes, memory.total);
  EXPECT_GE(memory.device_weights, memory.weights);
}

TEST(Cuda, UploadsOnceAndFreesAll) {
  NEEDS_FAKE_CUDA();
  FakeCuda &fake = *fakeCuda();
  {
    Cuda cuda;
    Session first = makeSession(cuda.model, onCuda());
    size_t uploaded = fake.uploaded, held = fake.used;
    Session second = makeSession(cuda.model, onCuda());
    EXPECT_LT(fake.uploaded - uploaded, cuda.file.segments[0].size());
    EXPECT_LT(fake.used - held, held);
    first.reset();
    prefill(second, 0, {1, 2});
    EXPECT_EQ(logits(second, 0), toyLogitsAfter({1, 2}));
    // The model may go first.
    cuda.model.reset();
    prefill(second, 0, {3});
    EXPECT_EQ(logits(second, 0), toyLogitsAfter({1, 2, 3}));
  }
  EXPECT_EQ(fake.live, 0);
  EXPECT_EQ(fake.used, 0u);
}

TEST(Cuda, RunsAStepAsOneGraph) {
  NEEDS_FAKE_CUDA();
  FakeCuda &fake = *fakeCuda();
  Cuda cuda;
  Session session = makeSession(cuda.model, onCuda());
  // Three launches each of decode, prefill and the loop, which chooses too; a
  // graph's first has no kernel before it.
  EXPECT_EQ(fake.launches, 10u);
  EXPECT_EQ(fake.programmatic, 7u);
  unsigned before = fake.graphLaunches;
  prefill(session, 0, makeTokens(4, 1));
  EXPECT_EQ(fake.graphLaunches, before + 1);
  EXPECT_EQ(fake.launches, 10u);
  Listener listener;
  sdc_generate_options options = {};
  options.max_new = 12;
  before = fake.graphLaunches;
  generate(session, 0, {}, listener, options);
  // The first token was there, and each step after it gives one.
  EXPECT_EQ(fake.graphLaunches, before + 11);
}

TEST(Cuda, UsesTheCallersStreamAndAllocator) {
  NEEDS_FAKE_CUDA();
  FakeCuda &fake = *fakeCuda();
  Cuda cuda;
  // The fake driver's streams hold two words.
  void *stream[2] = {};
  Allocations device;
  sdc_allocator allocator = {sizeof(allocator)};
  struct Memory {
    size_t bytes;
  } counted = {};
  allocator.user = &counted;
  allocator.allocate = [](void *user, size_t bytes, size_t alignment) {
    static_cast<Memory *>(user)->bytes += bytes;
    EXPECT_EQ(alignment, 256u);
    return static_cast<void *>(nullptr);
  };
  allocator.release = [](void *, void *, size_t, size_t) {};
  sdc_session_options options = onCuda();
  options.device_allocator = &allocator;
  sdc_session *refused = nullptr;
  EXPECT_FAILURE(
      sdc_session_create(cuda.model.get(), &options, &refused, &error),
      SDC_OUT_OF_MEMORY, "no memory for a session on cuda:0");
  sdc_memory memory = {sizeof(memory)};
  EXPECT_OK(sdc_session_memory(cuda.model.get(), &options, &memory, &error));
  EXPECT_EQ(counted.bytes, memory.device);
  options.device_allocator = nullptr;
  options.stream = stream;
  Session session = makeSession(cuda.model, options);
  prefill(session, 0, {1, 2});
  EXPECT_EQ(fake.lastStream, stream);
  EXPECT_EQ(logits(session, 0), toyLogitsAfter({1, 2}));
}
