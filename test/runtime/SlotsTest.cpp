// What can be done to slots between steps: rewind, fork, save, load, and raw
// access to their states.

#include "test/runtime/Handles.h"

using namespace sdc;
using namespace sdc::test;

using Tokens = std::vector<int32_t>;

static const Tokens kPrompt = {5, 36, 0, 17, 17, 2, 30, 8, 9, 1};

namespace {
class Slots : public ::testing::Test {
protected:
  Slots() : session(makeSession(toy.model)) {
    EXPECT_OK(
        sdc_prefill(session.get(), 0, kPrompt.data(), kPrompt.size(), &error));
  }

  std::vector<float> logits(uint32_t slot) {
    const float *values = sdc_slot_logits(session.get(), slot);
    return values ? std::vector<float>(values, values + kVocabulary)
                  : std::vector<float>();
  }

  /// The logits of `slot` after `tokens` more.
  std::vector<float> feed(uint32_t slot, Tokens tokens) {
    EXPECT_OK(
        sdc_prefill(session.get(), slot, tokens.data(), tokens.size(), &error));
    return logits(slot);
  }

  std::vector<uint8_t> save(uint32_t slot) {
    std::vector<uint8_t> bytes(sdc_slot_save_size(session.get(), slot));
    EXPECT_OK(
        sdc_slot_save(session.get(), slot, bytes.data(), bytes.size(), &error));
    return bytes;
  }

  Toy toy;
  Session session;
};
} // namespace

static Tokens firstOf(size_t count, Tokens more = {}) {
  Tokens tokens(kPrompt.begin(), kPrompt.begin() + count);
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

TEST_F(Slots, Rewind) {
  EXPECT_FAILURE(sdc_slot_rewind(session.get(), 0, 11, &error),
                 SDC_BAD_ARGUMENT,
                 "holds 10 tokens and cannot be rewound to 11");
  EXPECT_OK(sdc_slot_rewind(session.get(), 0, 10, &error));
  EXPECT_EQ(logits(0), toyLogitsAfter(kPrompt));
  EXPECT_OK(sdc_slot_rewind(session.get(), 0, 4, &error));
  EXPECT_EQ(sdc_slot_logits(session.get(), 0), nullptr);
  EXPECT_EQ(feed(0, {7, 8}), toyLogitsAfter(firstOf(4, {7, 8})));
}

TEST_F(Slots, Fork) {
  EXPECT_OK(sdc_slot_fork(session.get(), 0, 2, &error));
  EXPECT_EQ(logits(2), toyLogitsAfter(kPrompt));
  EXPECT_EQ(sdc_slot_length(session.get(), 2), 10u);
  EXPECT_EQ(feed(2, {3}), toyLogitsAfter(firstOf(10, {3})));
  EXPECT_EQ(feed(0, {4}), toyLogitsAfter(firstOf(10, {4})));
  EXPECT_OK(sdc_slot_fork(session.get(), 1, 2, &error));
  EXPECT_EQ(sdc_slot_length(session.get(), 2), 0u);
  EXPECT_EQ(sdc_slot_logits(session.get(), 2), nullptr);
  EXPECT_OK(sdc_slot_fork(session.get(), 0, 0, &error));
  EXPECT_FAILURE(sdc_slot_fork(session.get(), 0, 3, &error), SDC_BAD_ARGUMENT,
                 "slot 3");
}

TEST_F(Slots, SaveAndLoad) {
  std::vector<uint8_t> bytes = save(0);
  // Header, tokens, f32 [10, 2, 4], f16 [10, 1, 3].
  EXPECT_EQ(bytes.size(), 64u + 10 * (4 + 32 + 6));
  EXPECT_OK(
      sdc_slot_load(session.get(), 1, bytes.data(), bytes.size(), &error));
  EXPECT_EQ(sdc_slot_length(session.get(), 1), 10u);
  EXPECT_EQ(sdc_slot_logits(session.get(), 1), nullptr);
  EXPECT_EQ(feed(1, {6}), toyLogitsAfter(firstOf(10, {6})));

  // Into a session of another shape, from bytes at an odd address.
  sdc_session_options options = {sizeof(options)};
  options.slots = 1;
  options.context = 12;
  Session other = makeSession(toy.model, options);
  std::vector<uint8_t> shifted(bytes.size() + 1);
  memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  EXPECT_OK(
      sdc_slot_load(other.get(), 0, shifted.data() + 1, bytes.size(), &error));
  int32_t token = 6;
  EXPECT_OK(sdc_prefill(other.get(), 0, &token, 1, &error));
  std::vector<float> expected = toyLogitsAfter(firstOf(10, {6}));
  EXPECT_EQ(memcmp(sdc_slot_logits(other.get(), 0), expected.data(),
                   expected.size() * sizeof(float)),
            0);
}

TEST_F(Slots, SaveAndLoadAFile) {
  TemporaryFile file;
  EXPECT_OK(sdc_slot_save_file(session.get(), 0, file.path.c_str(), &error));
  EXPECT_OK(sdc_slot_load_file(session.get(), 2, file.path.c_str(), &error));
  EXPECT_EQ(feed(2, {6}), toyLogitsAfter(firstOf(10, {6})));
  std::vector<uint8_t> expected = save(0), found(expected.size() + 1);
  FILE *stream = fopen(file.path.c_str(), "rb");
  found.resize(fread(found.data(), 1, found.size(), stream));
  fclose(stream);
  EXPECT_EQ(found, expected);
  EXPECT_FAILURE(
      sdc_slot_save_file(session.get(), 0, "/nonexistent/slot", &error), SDC_IO,
      "/nonexistent/slot: no such file");
  EXPECT_FAILURE(
      sdc_slot_load_file(session.get(), 0, "/nonexistent/slot", &error), SDC_IO,
      "/nonexistent/slot: no such file");
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 10u);
}

TEST_F(Slots, EmptySlotsCanBeSaved) {
  std::vector<uint8_t> bytes = save(1);
  EXPECT_EQ(bytes.size(), 64u);
  EXPECT_OK(
      sdc_slot_load(session.get(), 0, bytes.data(), bytes.size(), &error));
  EXPECT_EQ(sdc_slot_length(session.get(), 0), 0u);
}

TEST_F(Slots, RefusesWhatWasNotSavedHere) {
  std::vector<uint8_t> bytes = save(0);
  EXPECT_FAILURE(
      sdc_slot_save(session.get(), 0, bytes.data(), bytes.size() - 1, &error),
      SDC_TOO_SMALL, "takes 484 bytes, the buffer has 483");
  // Every cut and every flipped bit.
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> part(bytes.begin(), bytes.begin() + size);
    EXPECT_NE(sdc_slot_load(session.get(), 0, part.data(), size, nullptr),
              SDC_OK)
        << size;
  }
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<uint8_t> flipped = bytes;
    flipped[i / 8] ^= uint8_t(1u << (i % 8));
    EXPECT_NE(sdc_slot_load(session.get(), 0, flipped.data(), flipped.size(),
                            nullptr),
              SDC_OK)
        << i;
  }
  // The slot is as before.
  EXPECT_EQ(logits(0), toyLogitsAfter(kPrompt));

  sdc_session_options options = {sizeof(options)};
  options.context = 9;
  Session small = makeSession(toy.model, options);
  EXPECT_FAILURE(
      sdc_slot_load(small.get(), 0, bytes.data(), bytes.size(), &error),
      SDC_CONTEXT_FULL, "holds 10 tokens, the session has room for 9");
  ToyOptions another;
  another.text = "another tokenizer";
  Toy stranger(another);
  Session strange = makeSession(stranger.model);
  EXPECT_FAILURE(
      sdc_slot_load(strange.get(), 0, bytes.data(), bytes.size(), &error),
      SDC_WRONG_MODEL, "was saved by executable");
}

TEST_F(Slots, StatesCanBeReadAndWritten) {
  // Keys of head 1, positions 2 to 4: the upper half of the embeddings.
  std::vector<float> keys(2 * 3 * 4);
  EXPECT_OK(sdc_slot_read_state(session.get(), 0, 0, 2, 3, keys.data(),
                                keys.size() * 4, &error));
  for (size_t head = 0; head < 2; ++head)
    for (size_t position = 0; position < 3; ++position)
      for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(
            keys[(head * 3 + position) * 4 + i],
            toyEmbedding()[kPrompt[2 + position] * kHidden + head * 4 + i]);
  EXPECT_FAILURE(sdc_slot_read_state(session.get(), 0, 0, 30, 3, keys.data(),
                                     keys.size() * 4, &error),
                 SDC_BAD_ARGUMENT,
                 "positions 30 to 33 are beyond the context of 32");
  EXPECT_FAILURE(sdc_slot_read_state(session.get(), 0, 2, 0, 3, keys.data(),
                                     keys.size() * 4, &error),
                 SDC_BAD_ARGUMENT, "state 2 is out of range");
  EXPECT_FAILURE(sdc_slot_read_state(session.get(), 0, 0, 2, 2, keys.data(),
                                     keys.size() * 4, &error),
                 SDC_BAD_ARGUMENT, "take 64 bytes, the buffer has 96");

  // A slot made of the states of another, as a past given from outside.
  for (uint32_t state : {0, 1}) {
    std::vector<uint8_t> rows(10 * (state == 0 ? 32 : 6));
    EXPECT_OK(sdc_slot_read_state(session.get(), 0, state, 0, 10, rows.data(),
                                  rows.size(), &error));
    EXPECT_OK(sdc_slot_write_state(session.get(), 1, state, 0, 10, rows.data(),
                                   rows.size(), &error));
  }
  EXPECT_OK(sdc_slot_set_tokens(session.get(), 1, nullptr, 10, &error));
  EXPECT_EQ(feed(1, {7}), toyLogitsAfter(firstOf(10, {7})));
  EXPECT_FAILURE(sdc_slot_set_tokens(session.get(), 1, nullptr, 33, &error),
                 SDC_CONTEXT_FULL, "33 tokens do not fit");
  int32_t bad = 37;
  EXPECT_FAILURE(sdc_slot_set_tokens(session.get(), 1, &bad, 1, &error),
                 SDC_BAD_TOKEN, "token 37 at 0");
}
