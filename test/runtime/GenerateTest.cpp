// The loop of sdc_generate: what it writes, and each reason to stop.

#include "test/runtime/Sequences.h"

#include <algorithm>

using namespace sdc;
using namespace sdc::test;

static int32_t greedyOracle(const std::vector<float> &values) {
  return int32_t(std::max_element(values.begin(), values.end()) -
                 values.begin());
}

namespace {
struct Written {
  Tokens tokens;
  size_t limit = ~size_t{0};
  sdc_session *cancels = nullptr;

  sdc_generate_options options() {
    sdc_generate_options options = {sizeof(options)};
    options.on_token_user = this;
    options.on_token = [](void *user, int32_t token) {
      auto &self = *static_cast<Written *>(user);
      self.tokens.push_back(token);
      if (self.cancels)
        sdc_session_cancel(self.cancels);
      return self.tokens.size() < self.limit;
    };
    return options;
  }
};
} // namespace

/// What greedy decoding writes, by the oracle alone.
static Tokens writeGreedily(Tokens sequence, size_t count) {
  Tokens written;
  while (written.size() < count) {
    written.push_back(greedyOracle(toyLogitsAfter(sequence)));
    sequence.push_back(written.back());
  }
  return written;
}

TEST(Generate, StopsForEachReason) {
  Toy toy;
  Session session = makeSession(toy.model);
  Tokens prompt = makeTokens(5, 21), expected = writeGreedily(prompt, 28);
  sdc_generate_result result = {sizeof(result)};
  auto run = [&](sdc_generate_options options) {
    EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
    EXPECT_OK(sdc_generate(session.get(), 0, prompt.data(), prompt.size(),
                           &options, &result, &error));
  };
  {
    Written written;
    sdc_generate_options options = written.options();
    options.max_new = 7;
    run(options);
    EXPECT_EQ(result.reason, SDC_STOP_LENGTH);
    EXPECT_EQ(result.written, 7u);
    EXPECT_EQ(result.stop_token, SDC_NO_TOKEN);
    EXPECT_EQ(written.tokens, Tokens(expected.begin(), expected.begin() + 7));
    // The last token is not fed.
    EXPECT_EQ(sdc_slot_length(session.get(), 0), 5u + 6);
  }
  {
    Written written;
    run(written.options());
    EXPECT_EQ(result.reason, SDC_STOP_CONTEXT);
    EXPECT_EQ(written.tokens, expected);
  }
  {
    Written written;
    sdc_generate_options options = written.options();
    Tokens stops = {99, expected[4]};
    options.stop_tokens = stops.data();
    options.stop_token_count = stops.size();
    run(options);
    auto first = std::find(expected.begin(), expected.end(), expected[4]);
    EXPECT_EQ(result.reason, SDC_STOP_TOKEN);
    EXPECT_EQ(result.stop_token, expected[4]);
    EXPECT_EQ(written.tokens, Tokens(expected.begin(), first));
  }
  {
    Written written;
    written.limit = 3;
    run(written.options());
    EXPECT_EQ(result.reason, SDC_STOP_CALLBACK);
    EXPECT_EQ(result.written, 3u);
  }
  {
    Written written;
    written.cancels = session.get();
    run(written.options());
    EXPECT_EQ(result.reason, SDC_STOP_CANCELLED);
    EXPECT_EQ(result.written, 1u);
  }
}

TEST(Generate, GoesOnWithoutAPrompt) {
  Toy toy;
  Session session = makeSession(toy.model);
  sdc_generate_options options = {sizeof(options)};
  EXPECT_FAILURE(
      sdc_generate(session.get(), 0, nullptr, 0, &options, nullptr, &error),
      SDC_NO_LOGITS, "there is no prompt");
  Tokens prompt = makeTokens(5, 22);
  prefill(session, 0, prompt);
  Written written;
  options = written.options();
  options.max_new = 4;
  EXPECT_OK(
      sdc_generate(session.get(), 0, nullptr, 0, &options, nullptr, &error));
  EXPECT_EQ(written.tokens, writeGreedily(prompt, 4));
}

TEST(Generate, SamplesTheSameWhateverTheSlotAndTheThreads) {
  Toy toy;
  Tokens prompt = makeTokens(4, 23);
  std::vector<Tokens> runs;
  for (uint32_t threads : {1, 2})
    for (uint32_t slot : {0, 2}) {
      sdc_session_options sessionOptions = {sizeof(sessionOptions)};
      sessionOptions.threads = threads;
      Session session = makeSession(toy.model, sessionOptions);
      prefill(session, 1, makeTokens(7, threads));
      Written written;
      sdc_generate_options options = written.options();
      options.sampling.struct_size = sizeof(options.sampling);
      options.sampling.temperature = 40;
      options.sampling.seed = 99;
      options.sampling.prompt = 3;
      options.max_new = 20;
      EXPECT_OK(sdc_generate(session.get(), slot, prompt.data(), prompt.size(),
                             &options, nullptr, &error));
      runs.push_back(written.tokens);
    }
  for (const Tokens &run : runs)
    EXPECT_EQ(run, runs[0]);
  EXPECT_NE(runs[0], writeGreedily(prompt, 20));
}

// A size that is forgotten must not turn what was asked for into the defaults.
TEST(Generate, RefusesStructsWithoutASize) {
  Toy toy;
  sdc_session *made = nullptr;
  sdc_session_options options = {};
  options.threads = 1;
  EXPECT_FAILURE(sdc_session_create(toy.model.get(), &options, &made, &error),
                 SDC_BAD_ARGUMENT,
                 "struct_size of sdc_session_options is not set");
  Session session = makeSession(toy.model);
  Tokens prompt = makeTokens(3, 1);
  sdc_generate_options generate = {sizeof(generate)};
  generate.sampling.temperature = 1;
  EXPECT_FAILURE(sdc_generate(session.get(), 0, prompt.data(), 3, &generate,
                              nullptr, &error),
                 SDC_BAD_ARGUMENT, "struct_size of sdc_sampling is not set");
  generate.sampling.struct_size = sizeof(generate.sampling);
  generate.sampling.reserved[3] = 1;
  EXPECT_FAILURE(sdc_generate(session.get(), 0, prompt.data(), 3, &generate,
                              nullptr, &error),
                 SDC_BAD_ARGUMENT, "reserved");
}
