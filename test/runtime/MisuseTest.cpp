// Calls that break the rules of sdc.h as a host breaks them by mistake: nulls,
// numbers out of range, buffers of the wrong size. Each is an answer, and what
// the session held is untouched.

#include "test/runtime/Handles.h"

#include <climits>
#include <functional>

using namespace sdc;
using namespace sdc::test;

namespace {

struct Misuse {
  const char *name;
  std::function<sdc_status(sdc_model *, sdc_session *, sdc_error *)> call;
};

const int32_t kTokens[] = {1, 2, 3};
const int32_t kBad[] = {1, INT32_MAX, 2};
const int32_t kNegative[] = {INT32_MIN};
char kBuffer[64];

#define MISUSE(call)                                                           \
  {#call, [](sdc_model *m, sdc_session *s, sdc_error *e) -> sdc_status {       \
     (void)m, (void)s;                                                         \
     return call;                                                              \
   }}

const Misuse kMisuses[] = {
    MISUSE(sdc_model_open(nullptr, nullptr, nullptr, e)),
    MISUSE(sdc_model_open("x", nullptr, nullptr, e)),
    MISUSE(sdc_model_open_memory(nullptr, 64, nullptr, nullptr, e)),
    MISUSE(sdc_model_verify_weights(nullptr, e)),
    MISUSE(sdc_session_memory(nullptr, nullptr, nullptr, e)),
    MISUSE(sdc_session_memory(m, nullptr, nullptr, e)),
    MISUSE(sdc_session_create(nullptr, nullptr, nullptr, e)),
    MISUSE(sdc_session_create(m, nullptr, nullptr, e)),
    MISUSE(sdc_prefill(nullptr, 0, kTokens, 3, e)),
    MISUSE(sdc_prefill(s, 0, nullptr, 3, e)),
    MISUSE(sdc_prefill(s, UINT32_MAX, kTokens, 3, e)),
    MISUSE(sdc_prefill(s, 0, kTokens, SIZE_MAX, e)),
    MISUSE(sdc_prefill(s, 0, kBad, 3, e)),
    MISUSE(sdc_prefill(s, 0, kNegative, 1, e)),
    MISUSE(sdc_prefill_all_logits(nullptr, 0, kTokens, 3, nullptr, e)),
    MISUSE(sdc_prefill_all_logits(s, 0, kTokens, 3, nullptr, e)),
    MISUSE(sdc_decode(nullptr, kTokens, e)),
    MISUSE(sdc_decode(s, nullptr, e)),
    MISUSE(sdc_slot_sample(nullptr, 0, nullptr, 0, nullptr, e)),
    MISUSE(sdc_slot_sample(s, 0, nullptr, 0, nullptr, e)),
    MISUSE(sdc_slot_sample(s, UINT32_MAX, nullptr, 0, nullptr, e)),
    MISUSE(sdc_slot_rewind(nullptr, 0, 0, e)),
    MISUSE(sdc_slot_rewind(s, UINT32_MAX, 0, e)),
    MISUSE(sdc_slot_rewind(s, 0, UINT32_MAX, e)),
    MISUSE(sdc_slot_fork(nullptr, 0, 0, e)),
    MISUSE(sdc_slot_fork(s, 0, UINT32_MAX, e)),
    MISUSE(sdc_slot_fork(s, UINT32_MAX, 0, e)),
    MISUSE(sdc_slot_save(nullptr, 0, kBuffer, sizeof kBuffer, e)),
    MISUSE(sdc_slot_save(s, 0, nullptr, sizeof kBuffer, e)),
    MISUSE(sdc_slot_save(s, 0, kBuffer, 1, e)),
    MISUSE(sdc_slot_save(s, UINT32_MAX, kBuffer, sizeof kBuffer, e)),
    MISUSE(sdc_slot_load(nullptr, 0, kBuffer, sizeof kBuffer, e)),
    MISUSE(sdc_slot_load(s, 0, nullptr, sizeof kBuffer, e)),
    MISUSE(sdc_slot_load(s, 0, kBuffer, 0, e)),
    MISUSE(sdc_slot_load(s, 0, kBuffer, sizeof kBuffer, e)),
    MISUSE(sdc_slot_save_file(nullptr, 0, "x", e)),
    MISUSE(sdc_slot_save_file(s, 0, nullptr, e)),
    MISUSE(sdc_slot_save_file(s, 0, "/no/such/folder/x", e)),
    MISUSE(sdc_slot_load_file(nullptr, 0, "x", e)),
    MISUSE(sdc_slot_load_file(s, 0, nullptr, e)),
    MISUSE(sdc_slot_load_file(s, 0, "/no/such/file", e)),
    MISUSE(sdc_slot_load_file(s, 0, "/dev/null", e)),
    MISUSE(sdc_slot_load_file(s, 0, "/tmp", e)),
    MISUSE(sdc_slot_read_state(nullptr, 0, 0, 0, 1, kBuffer, 1, e)),
    MISUSE(sdc_slot_read_state(s, 0, 0, 0, 1, nullptr, 1, e)),
    MISUSE(sdc_slot_read_state(s, 0, UINT32_MAX, 0, 1, kBuffer, 1, e)),
    MISUSE(sdc_slot_read_state(s, 0, 0, UINT32_MAX, 2, kBuffer, 1, e)),
    MISUSE(sdc_slot_write_state(nullptr, 0, 0, 0, 1, kBuffer, 1, e)),
    MISUSE(sdc_slot_write_state(s, 0, 0, UINT32_MAX, 2, kBuffer, 1, e)),
    MISUSE(sdc_slot_write_state(s, 0, 0, 0, 1, nullptr, 1, e)),
    MISUSE(sdc_slot_set_tokens(nullptr, 0, kTokens, 3, e)),
    MISUSE(sdc_slot_set_tokens(s, 0, kTokens, UINT32_MAX, e)),
    MISUSE(sdc_slot_set_tokens(s, 0, kBad, 3, e)),
    MISUSE(sdc_generate(nullptr, 0, kTokens, 3, nullptr, nullptr, e)),
    MISUSE(sdc_generate(s, UINT32_MAX, kTokens, 3, nullptr, nullptr, e)),
    MISUSE(sdc_generate(s, 0, nullptr, 3, nullptr, nullptr, e)),
    MISUSE(sdc_generate(s, 0, kBad, 3, nullptr, nullptr, e)),
    MISUSE(sdc_run(nullptr, nullptr, 0, nullptr, 0, e)),
    MISUSE(sdc_run(s, nullptr, 1, nullptr, 1, e)),
};

TEST(Misuse, IsAnAnswer) {
  Toy toy;
  Session session = makeSession(toy.model);
  EXPECT_OK(sdc_prefill(session.get(), 0, kTokens, 3, &error));
  for (const Misuse &misuse : kMisuses) {
    sdc_error error = {};
    sdc_status status = misuse.call(toy.model.get(), session.get(), &error);
    EXPECT_NE(status, SDC_OK) << misuse.name;
    EXPECT_EQ(error.code, status) << misuse.name;
    EXPECT_NE(error.message[0], '\0') << misuse.name;
    // Nobody needs to want the message.
    EXPECT_EQ(misuse.call(toy.model.get(), session.get(), nullptr), status)
        << misuse.name;
    EXPECT_EQ(sdc_slot_length(session.get(), 0), 3u) << misuse.name;
  }
}

TEST(Misuse, QueriesOfNothingAreEmpty) {
  sdc_model_close(nullptr);
  sdc_session_destroy(nullptr);
  sdc_session_cancel(nullptr);
  sdc_session_clear_cancel(nullptr);
  sdc_session_clear_profile(nullptr);
  sdc_model_query(nullptr, nullptr);
  sdc_cpu_query(nullptr);
  sdc_format_version(nullptr, nullptr);
  size_t size = 1;
  EXPECT_EQ(sdc_model_text(nullptr, &size), nullptr);
  EXPECT_EQ(sdc_model_flag(nullptr, 0), nullptr);
  EXPECT_EQ(sdc_model_note(nullptr, 0), nullptr);
  EXPECT_FALSE(sdc_model_weight(nullptr, 0, nullptr));
  EXPECT_FALSE(sdc_model_state(nullptr, 0, nullptr));
  EXPECT_FALSE(sdc_model_entry(nullptr, 0, nullptr));
  EXPECT_FALSE(sdc_model_binding(nullptr, 0, 0, nullptr));
  EXPECT_FALSE(sdc_model_launch(nullptr, 0, 0, nullptr));
  EXPECT_EQ(sdc_session_model(nullptr), nullptr);
  EXPECT_EQ(sdc_session_slots(nullptr), 0u);
  EXPECT_EQ(sdc_session_context(nullptr), 0u);
  EXPECT_EQ(sdc_session_threads(nullptr), 0u);
  EXPECT_EQ(sdc_session_last_step(nullptr), nullptr);
  EXPECT_EQ(sdc_slot_logits(nullptr, 0), nullptr);
  EXPECT_EQ(sdc_slot_length(nullptr, 0), 0u);
  EXPECT_EQ(sdc_slot_tokens(nullptr, 0), nullptr);
  EXPECT_EQ(sdc_slot_save_size(nullptr, 0), 0u);

  Toy toy;
  Session session = makeSession(toy.model);
  EXPECT_FALSE(sdc_model_weight(toy.model.get(), UINT32_MAX, nullptr));
  EXPECT_FALSE(sdc_model_entry(toy.model.get(), 0, nullptr));
  EXPECT_FALSE(sdc_model_binding(toy.model.get(), 0, UINT32_MAX, nullptr));
  EXPECT_EQ(sdc_slot_logits(session.get(), UINT32_MAX), nullptr);
  EXPECT_EQ(sdc_slot_length(session.get(), UINT32_MAX), 0u);
  EXPECT_EQ(sdc_slot_tokens(session.get(), UINT32_MAX), nullptr);
  EXPECT_EQ(sdc_slot_save_size(session.get(), UINT32_MAX), 0u);
  EXPECT_NE(sdc_model_text(toy.model.get(), nullptr), (void *)1);
  EXPECT_NE(sdc_status_name(static_cast<sdc_status>(9999)), nullptr);
  EXPECT_EQ(sdc_element_size(static_cast<sdc_element>(99)), 0u);
}

} // namespace
