// Sessions: memory, steps, threads, cancelling. What a slot says is
// compared with toyLogitsAfter, which knows nothing of the runtime.

#include "test/runtime/Sequences.h"

#include <atomic>
#include <malloc.h>
#include <thread>

using namespace sdc;
using namespace sdc::test;

//===- Memory -------------------------------------------------------------===//

TEST(Session, TakesWhatItSays) {
  Toy toy;
  for (uint32_t threads : {1, 2, 5})
    for (uint32_t slots : {0, 1, 2})
      for (uint32_t context : {0, 1, 17}) {
        Allocations allocations;
        sdc_allocator allocator = allocations.allocator();
        sdc_session_options options = {sizeof(options)};
        options.threads = threads;
        options.slots = slots;
        options.context = context;
        options.allocator = &allocator;
        options.profile = slots == 2;
        sdc_memory memory = {sizeof(memory)};
        EXPECT_OK(
            sdc_session_memory(toy.model.get(), &options, &memory, &error));
        EXPECT_EQ(allocations.calls, 0u);
        Session session = makeSession(toy.model, options);
        ASSERT_TRUE(session);
        EXPECT_EQ(allocations.bytes, memory.total);
        EXPECT_EQ(memory.total,
                  memory.states + memory.arena + memory.scratch + memory.other);
        EXPECT_EQ(memory.scratch, threads * 64u);
        // f32 [slots, 2, context, 4] and f16 [slots, 1, context, 3].
        uint64_t cells = uint64_t{slots ? slots : 3} * (context ? context : 32);
        auto upTo = [](uint64_t n, uint64_t m) { return (n + m - 1) / m * m; };
        EXPECT_EQ(memory.states,
                  upTo(upTo(cells * 32, 64) + upTo(cells * 6, 64), 4096));
        EXPECT_EQ(memory.weights, 2u * 37 * 8 * 4);
        session.reset();
        EXPECT_EQ(allocations.bytes, 0u);
      }
}

TEST(Session, AllocatesNothingAfterItIsMade) {
  Toy toy;
  Allocations allocations;
  sdc_allocator allocator = allocations.allocator();
  sdc_session_options options = {sizeof(options)};
  options.threads = 2;
  options.allocator = &allocator;
  Session session = makeSession(toy.model, options);
  uint64_t calls = allocations.calls;
  Tokens prompt = makeTokens(9, 1), next = {1, SDC_NO_TOKEN, SDC_NO_TOKEN};
  sdc_sampling sampling = {sizeof(sampling)};
  sampling.temperature = 1;
  sampling.top_p = 0.9f;
  sampling.repeat_penalty = 1.1f;
  int32_t token = 0;
  std::vector<uint8_t> saved(1 << 14);
  TemporaryFile file;
  size_t before = mallinfo2().uordblks;
  int failed = sdc_prefill(session.get(), 0, prompt.data(), 9, nullptr);
  failed |= sdc_decode(session.get(), next.data(), nullptr);
  failed |= sdc_slot_sample(session.get(), 0, &sampling, 0, &token, nullptr);
  failed |= sdc_slot_fork(session.get(), 0, 1, nullptr);
  failed |= sdc_slot_rewind(session.get(), 0, 3, nullptr);
  failed |=
      sdc_slot_save(session.get(), 1, saved.data(), saved.size(), nullptr);
  failed |= sdc_slot_load(session.get(), 2, saved.data(),
                          sdc_slot_save_size(session.get(), 1), nullptr);
  failed |= sdc_slot_save_file(session.get(), 1, file.path.c_str(), nullptr);
  failed |= sdc_slot_load_file(session.get(), 0, file.path.c_str(), nullptr);
  size_t after = mallinfo2().uordblks;
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(before, after);
  EXPECT_EQ(allocations.calls, calls);
}

TEST(Session, GivesBackAllMemoryWhateverFails) {
  Toy toy;
  for (uint64_t allowed : {0, 1}) {
    Allocations allocations;
    allocations.allowed = allowed;
    sdc_allocator allocator = allocations.allocator();
    sdc_session_options options = {sizeof(options)};
    options.allocator = &allocator;
    sdc_session *session = nullptr;
    EXPECT_FAILURE(
        sdc_session_create(toy.model.get(), &options, &session, &error),
        SDC_OUT_OF_MEMORY, "3 slots of 32 positions");
    EXPECT_EQ(allocations.bytes, 0u);
  }
}

TEST(Session, KeepsItsModelAlive) {
  Toy toy;
  Session session = makeSession(toy.model);
  toy.model.reset();
  Tokens prompt = makeTokens(3, 4);
  prefill(session, 0, prompt);
  EXPECT_EQ(logits(session, 0), toyLogitsAfter(prompt));
}

TEST(Session, RefusesWhatItCannotGive) {
  Toy toy;
  sdc_session *session = nullptr;
  sdc_session_options options = {sizeof(options)};
  options.slots = 4;
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_BAD_ARGUMENT,
      "4 slots are asked for, the executable was "
      "compiled for 3");
  options.slots = 0;
  options.context = 33;
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_BAD_ARGUMENT, "33 positions");
  options.context = 0;
  options.device = SDC_DEVICE_CUDA;
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_NO_IMAGE, "is for the CPU, the device is cuda:0");
  options.device = SDC_DEVICE_CPU;
  options.device_index = 1;
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_NO_DEVICE, "one CPU");
  options.device_index = 0;
  options.threads = 1 << 20;
  EXPECT_FAILURE(
      sdc_session_create(toy.model.get(), &options, &session, &error),
      SDC_BAD_ARGUMENT, "1048576 threads");
}

//===- Steps --------------------------------------------------------------===//

TEST(Session, PrefillsAnyNumberOfTokens) {
  Toy toy;
  for (uint32_t threads : {1, 2, 4}) {
    sdc_session_options options = {sizeof(options)};
    options.threads = threads;
    Session session = makeSession(toy.model, options);
    for (size_t count = 1; count <= kContext; ++count) {
      Tokens tokens = makeTokens(count, unsigned(count));
      EXPECT_OK(sdc_slot_rewind(session.get(), 1, 0, &error));
      prefill(session, 1, tokens);
      EXPECT_EQ(logits(session, 1), toyLogitsAfter(tokens)) << count;
      EXPECT_EQ(sdc_slot_length(session.get(), 1), count);
      EXPECT_EQ(memcmp(sdc_slot_tokens(session.get(), 1), tokens.data(),
                       count * sizeof(int32_t)),
                0);
    }
  }
}

TEST(Session, PrefillInPartsIsPrefillAtOnce) {
  Toy toy;
  Session session = makeSession(toy.model);
  Tokens tokens = makeTokens(23, 5);
  for (size_t first : {1, 3, 4, 5, 11, 22}) {
    EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
    prefill(session, 0, Tokens(tokens.begin(), tokens.begin() + first));
    prefill(session, 0, Tokens(tokens.begin() + first, tokens.end()));
    EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens)) << first;
  }
}

// The images in the file, mapped and copied, say what the linked kernels say.
TEST(Session, RunsTheImagesOfTheFile) {
  AlignedBytes bytes = makeToyDecoder().write();
  TemporaryFile file(bytes);
  Tokens tokens = makeTokens(10, 6);
  for (const char *level : {static_cast<const char *>(nullptr), "avx2"}) {
    sdc_open_options options = {sizeof(options)};
    options.level = level;
    sdc_model *mapped = nullptr;
    EXPECT_OK(sdc_model_open(file.path.c_str(), &options, &mapped, &error));
    for (Model *model :
         {new Model(mapped), new Model(openModel(bytes, options))}) {
      Session session = makeSession(*model);
      prefill(session, 2, tokens);
      EXPECT_EQ(logits(session, 2), toyLogitsAfter(tokens));
      session.reset();
      delete model;
    }
  }
}

TEST(Session, SlotsDoNotSeeEachOther) {
  Toy toy;
  for (uint32_t threads : {1, 2, 3}) {
    sdc_session_options options = {sizeof(options)};
    options.threads = threads;
    Session session = makeSession(toy.model, options);
    std::vector<Tokens> sequences(kBatch);
    // Slots join at different steps and sit some out.
    for (unsigned step = 0; step < 20; ++step) {
      for (uint32_t slot = 0; slot < kBatch; ++slot)
        if (step == slot * 3) {
          sequences[slot] = makeTokens(slot + 2, slot);
          prefill(session, slot, sequences[slot]);
          EXPECT_EQ(logits(session, slot), toyLogitsAfter(sequences[slot]));
        }
      Tokens next(kBatch, SDC_NO_TOKEN);
      for (uint32_t slot = 0; slot < kBatch; ++slot)
        if (!sequences[slot].empty() && (step + slot) % 4 != 0) {
          next[slot] = int32_t((step * 5 + slot * 11) % kVocabulary);
          sequences[slot].push_back(next[slot]);
        }
      if (next == Tokens(kBatch, SDC_NO_TOKEN))
        continue;
      EXPECT_OK(sdc_decode(session.get(), next.data(), &error));
      for (uint32_t slot = 0; slot < kBatch; ++slot) {
        if (next[slot] == SDC_NO_TOKEN)
          EXPECT_EQ(sdc_slot_logits(session.get(), slot), nullptr);
        else
          EXPECT_EQ(logits(session, slot), toyLogitsAfter(sequences[slot]));
        EXPECT_EQ(sdc_slot_length(session.get(), slot), sequences[slot].size());
      }
    }
  }
}

TEST(Session, OfFewerSlotsAndLessContext) {
  Toy toy;
  sdc_session_options options = {sizeof(options)};
  options.slots = 2;
  options.context = 9;
  Session session = makeSession(toy.model, options);
  EXPECT_EQ(sdc_session_slots(session.get()), 2u);
  EXPECT_EQ(sdc_session_context(session.get()), 9u);
  Tokens tokens = makeTokens(9, 8);
  prefill(session, 1, tokens);
  EXPECT_EQ(logits(session, 1), toyLogitsAfter(tokens));
  Tokens next = {3, 4};
  EXPECT_FAILURE(sdc_decode(session.get(), next.data(), &error),
                 SDC_CONTEXT_FULL, "slot 1 is full: it holds 9 tokens");
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 0u);
  EXPECT_FAILURE(sdc_prefill(session.get(), 2, tokens.data(), 1, &error),
                 SDC_BAD_ARGUMENT, "slot 2 is out of range");
  EXPECT_FAILURE(sdc_prefill(session.get(), 1, tokens.data(), 1, &error),
                 SDC_CONTEXT_FULL, "1 tokens do not fit into slot 1");
  // A step of a sequence on its own, in a slot that has never been fed.
  next[1] = SDC_NO_TOKEN;
  EXPECT_OK(sdc_decode(session.get(), next.data(), &error));
  EXPECT_EQ(logits(session, 0), toyLogitsAfter({3}));
}

TEST(Session, RefusesTokensThatAreNone) {
  Toy toy;
  Session session = makeSession(toy.model);
  Tokens bad = {1, 37}, negative = {-2}, none(kBatch, SDC_NO_TOKEN);
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, bad.data(), 2, &error),
                 SDC_BAD_TOKEN,
                 "token 37 at 1 is outside the vocabulary of 37");
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, negative.data(), 1, &error),
                 SDC_BAD_TOKEN, "token -2 at 0");
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, bad.data(), 0, &error),
                 SDC_BAD_ARGUMENT, "no tokens");
  EXPECT_FAILURE(sdc_decode(session.get(), none.data(), &error),
                 SDC_BAD_ARGUMENT, "no slot has a token");
  int32_t token;
  EXPECT_FAILURE(sdc_slot_sample(session.get(), 0, nullptr, 0, &token, &error),
                 SDC_NO_LOGITS, "slot 0 has no logits");
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 0u);
}

TEST(Session, GivesTheLogitsOfAllRows) {
  Toy lastOnly;
  Session without = makeSession(lastOnly.model);
  Tokens tokens = makeTokens(11, 9);
  std::vector<float> all(tokens.size() * kVocabulary);
  EXPECT_FAILURE(sdc_prefill_all_logits(without.get(), 0, tokens.data(), 11,
                                        all.data(), &error),
                 SDC_NOT_COMPILED, "--all-logits");
  ToyOptions options;
  options.allLogits = true;
  Toy toy(options);
  Session session = makeSession(toy.model);
  EXPECT_OK(sdc_prefill_all_logits(session.get(), 0, tokens.data(), 11,
                                   all.data(), &error));
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::vector<float> expected =
        toyLogitsAfter(Tokens(tokens.begin(), tokens.begin() + i + 1));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           all.begin() + i * kVocabulary))
        << i;
  }
  EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens));
}

//===- Taps and profiles --------------------------------------------------===//

namespace {
/// What a recording host keeps of each step: the tap's rows by position.
struct Recorded {
  std::vector<std::pair<int32_t, std::vector<float>>> rows;
  unsigned decodes = 0;
};
} // namespace

TEST(Session, HandsOutTapsAfterEachStep) {
  ToyOptions toyOptions;
  toyOptions.recording = true;
  Toy toy(toyOptions);
  Recorded recorded;
  sdc_session_options options = {sizeof(options)};
  options.on_step_user = &recorded;
  options.on_step = [](void *user, const sdc_step *step) {
    auto &recorded = *static_cast<Recorded *>(user);
    recorded.decodes += step->kind == SDC_ENTRY_DECODE;
    ASSERT_EQ(step->tap_count, 1u);
    EXPECT_STREQ(step->taps[0].key, "layers.0.attn_in");
    ASSERT_EQ(step->taps[0].columns, uint32_t(kHidden));
    for (uint32_t row = 0; row < step->rows; ++row) {
      const float *values = step->taps[0].values + row * kHidden;
      if (step->positions[row] >= 0)
        recorded.rows.push_back(
            {step->positions[row], {values, values + kHidden}});
    }
  };
  Session session = makeSession(toy.model, options);
  Tokens tokens = makeTokens(6, 10);
  prefill(session, 1, tokens);
  Tokens next = {SDC_NO_TOKEN, 5, SDC_NO_TOKEN};
  EXPECT_OK(sdc_decode(session.get(), next.data(), &error));
  tokens.push_back(5);
  ASSERT_EQ(recorded.rows.size(), 7u);
  EXPECT_EQ(recorded.decodes, 1u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(recorded.rows[i].first, int32_t(i));
    EXPECT_EQ(recorded.rows[i].second,
              toyHiddenAfter(Tokens(tokens.begin(), tokens.begin() + i + 1)));
  }
  const sdc_step *last = sdc_session_last_step(session.get());
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->tokens[1], 5);
  EXPECT_EQ(last->positions[0], -1);
}

TEST(Session, MeasuresLaunches) {
  Toy toy;
  sdc_session_options options = {sizeof(options)};
  options.profile = true;
  options.threads = 2;
  Session session = makeSession(toy.model, options);
  prefill(session, 0, makeTokens(10, 3));
  sdc_launch_time time = {sizeof(time)};
  ASSERT_TRUE(sdc_session_launch_time(session.get(), 1, 2, &time));
  EXPECT_EQ(time.runs, 3u);
  EXPECT_GT(time.nanoseconds, 0u);
  ASSERT_TRUE(sdc_session_launch_time(session.get(), 0, 2, &time));
  EXPECT_EQ(time.runs, 0u);
  EXPECT_FALSE(sdc_session_launch_time(session.get(), 1, 3, &time));
  EXPECT_FALSE(sdc_session_launch_time(session.get(), 2, 0, &time));
  sdc_session_clear_profile(session.get());
  ASSERT_TRUE(sdc_session_launch_time(session.get(), 1, 2, &time));
  EXPECT_EQ(time.runs, 0u);
  Session unmeasured = makeSession(toy.model);
  EXPECT_FALSE(sdc_session_launch_time(unmeasured.get(), 1, 2, &time));
}

//===- Cancelling ---------------------------------------------------------===//

TEST(Session, CancelIsSpentByOneCall) {
  Toy toy;
  Session session = makeSession(toy.model);
  Tokens tokens = makeTokens(3, 2);
  sdc_session_cancel(session.get());
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, tokens.data(), 3, &error),
                 SDC_CANCELLED, "cancelled");
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 0u);
  prefill(session, 0, tokens);
  sdc_session_cancel(session.get());
  sdc_session_clear_cancel(session.get());
  prefill(session, 0, tokens);
}

TEST(Session, CancelKeepsTheChunksThatWereDone) {
  Toy toy;
  sdc_session *self = nullptr;
  sdc_session_options options = {sizeof(options)};
  options.on_step_user = &self;
  options.on_step = [](void *user, const sdc_step *step) {
    if (step->positions[0] == 4)
      sdc_session_cancel(*static_cast<sdc_session **>(user));
  };
  Session session = makeSession(toy.model, options);
  self = session.get();
  Tokens tokens = makeTokens(15, 2);
  EXPECT_FAILURE(sdc_prefill(session.get(), 0, tokens.data(), 15, &error),
                 SDC_CANCELLED, "cancelled");
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 8u);
  EXPECT_EQ(sdc_slot_logits(session.get(), 0), nullptr);
  prefill(session, 0, Tokens(tokens.begin() + 8, tokens.end()));
  EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens));
}

TEST(Session, CancelFromAnotherThread) {
  Toy toy;
  for (uint32_t threads : {1, 2}) {
    sdc_session_options options = {sizeof(options)};
    options.threads = threads;
    Session session = makeSession(toy.model, options);
    for (unsigned round = 0; round < 20; ++round) {
      std::atomic<bool> started{false};
      std::thread other([&] {
        while (!started)
          std::this_thread::yield();
        sdc_session_cancel(session.get());
      });
      sdc_status status = SDC_OK;
      started = true;
      Tokens tokens = makeTokens(16, round);
      while (status == SDC_OK) {
        EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
        status = sdc_prefill(session.get(), 0, tokens.data(), 16, nullptr);
      }
      EXPECT_EQ(status, SDC_CANCELLED);
      other.join();
      EXPECT_OK(sdc_slot_rewind(session.get(), 0, 0, &error));
      prefill(session, 0, tokens);
      EXPECT_EQ(logits(session, 0), toyLogitsAfter(tokens));
    }
  }
}

TEST(Session, ManySessionsShareOneModel) {
  Toy toy;
  std::vector<std::thread> hosts;
  std::atomic<unsigned> right{0};
  for (unsigned host = 0; host < 4; ++host)
    hosts.emplace_back([&, host] {
      sdc_session_options options = {sizeof(options)};
      options.threads = 1 + host % 2;
      Session session = makeSession(toy.model, options);
      Tokens tokens = makeTokens(20, host);
      prefill(session, host % kBatch, tokens);
      right += logits(session, host % kBatch) == toyLogitsAfter(tokens);
    });
  for (std::thread &host : hosts)
    host.join();
  EXPECT_EQ(right, 4u);
}
