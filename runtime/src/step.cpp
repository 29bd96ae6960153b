// Prefill and decode: fill an entry's inputs, run it, hand out what it gives.

#include "runtime/src/session.h"
#include "runtime/src/status.h"

#include <cstring>

using namespace sdc::rt;

sdc_status sdc::rt::checkSlot(const sdc_session &session, uint32_t slot,
                              sdc_error *error) {
  if (session.plan.has(Use::Plain))
    return fail(error, SDC_NOT_COMPILED, "a plain graph has no slots");
  if (slot >= session.plan.slots)
    return fail(error, SDC_BAD_ARGUMENT,
                "slot %u is out of range, the session has %u", slot,
                session.plan.slots);
  return SDC_OK;
}

static sdc_status checkToken(const sdc_session &session, int32_t token,
                             size_t index, sdc_error *error) {
  if (token >= 0 && uint32_t(token) < session.vocabulary())
    return SDC_OK;
  return fail(error, SDC_BAD_TOKEN,
              "token %d at %zu is outside the vocabulary of %u", token, index,
              session.vocabulary());
}

/// Runs an entry on the rows in session.stepTokens, stepPositions, stepSlots.
static sdc_status runStep(sdc_session &session, Use use, sdc_error *error) {
  const EntryView &view = session.views[unsigned(use)];
  size_t bytes = view.rows * sizeof(int32_t);
  memcpy(view.tokens, session.stepTokens, bytes);
  memcpy(view.positions, session.stepPositions, bytes);
  memcpy(view.slots, session.stepSlots, bytes);
  sdc_status status =
      session.device->run(session.onDevice, use, session.cancel, error);
  if (status == SDC_CANCELLED)
    return takeCancel(session, error);
  if (status != SDC_OK)
    return status;
  sdc_step &step = session.step;
  step.struct_size = sizeof(step);
  step.kind = use == Use::Decode ? SDC_ENTRY_DECODE : SDC_ENTRY_PREFILL;
  step.rows = view.rows;
  step.tokens = session.stepTokens;
  step.positions = session.stepPositions;
  step.slots = session.stepSlots;
  step.vocabulary = session.vocabulary();
  step.logit_rows = view.logitRows;
  step.logits = view.logits;
  step.tap_count = session.tapCounts[unsigned(use)];
  step.taps = session.taps[unsigned(use)];
  return SDC_OK;
}

static void announceStep(sdc_session &session) {
  if (session.onStep)
    session.onStep(session.onStepUser, &session.step);
}

const sdc_step *sdc_session_last_step(const sdc_session *session) {
  return session->step.struct_size ? &session->step : nullptr;
}

/// `allLogits` is null for those of the last row only.
static sdc_status prefill(sdc_session &session, Use use, uint32_t index,
                          const int32_t *tokens, size_t count, float *allLogits,
                          sdc_error *error) {
  SDC_TRY(checkSlot(session, index, error));
  if (!session.plan.has(use))
    return fail(error, SDC_NOT_COMPILED,
                use == Use::Prefill
                    ? "the executable has no prefill entry"
                    : "the executable gives the logits of the last row only; "
                      "compile it with --all-logits");
  Slot &slot = session.slots[index];
  if (count == 0)
    return fail(error, SDC_BAD_ARGUMENT, "no tokens to prefill");
  if (count > session.plan.context - slot.length)
    return fail(error, SDC_CONTEXT_FULL,
                "%zu tokens do not fit into slot %u, which holds %u of %u",
                count, index, slot.length, session.plan.context);
  for (size_t i = 0; i < count; ++i)
    SDC_TRY(checkToken(session, tokens[i], i, error));
  SDC_TRY(takeCancel(session, error));

  const EntryView &view = session.views[unsigned(use)];
  size_t vocabulary = session.vocabulary();
  slot.hasLogits = false;
  for (size_t done = 0; done < count;) {
    size_t rest = count - done;
    uint32_t active = rest < view.rows ? uint32_t(rest) : view.rows;
    for (uint32_t i = 0; i < view.rows; ++i) {
      bool in = i < active;
      session.stepTokens[i] = in ? tokens[done + i] : 0;
      session.stepPositions[i] = in ? int32_t(slot.length + i) : -1;
      session.stepSlots[i] = int32_t(index);
    }
    SDC_TRY(runStep(session, use, error));
    memcpy(session.tokensOf(index) + slot.length, tokens + done,
           active * sizeof(*tokens));
    slot.length += active;
    if (allLogits)
      memcpy(allLogits + done * vocabulary, view.logits,
             active * vocabulary * sizeof(float));
    done += active;
    if (done == count) {
      const float *last =
          view.logits + (view.logitRows > 1 ? (active - 1) * vocabulary : 0);
      memcpy(session.logitsOf(index), last, vocabulary * sizeof(float));
      slot.hasLogits = true;
    }
    announceStep(session);
    if (done < count)
      SDC_TRY(takeCancel(session, error));
  }
  return SDC_OK;
}

sdc_status sdc_prefill(sdc_session *session, uint32_t slot,
                       const int32_t *tokens, size_t count,
                       sdc_error *out_error) {
  return prefill(*session, Use::Prefill, slot, tokens, count, nullptr,
                 out_error);
}

sdc_status sdc_prefill_all_logits(sdc_session *session, uint32_t slot,
                                  const int32_t *tokens, size_t count,
                                  float *logits, sdc_error *out_error) {
  if (!logits)
    return fail(out_error, SDC_BAD_ARGUMENT, "logits is null");
  return prefill(*session, Use::PrefillAll, slot, tokens, count, logits,
                 out_error);
}

/// Feeds tokenOf(slot) to each slot.
template <typename TokenOf>
static sdc_status decode(sdc_session &session, TokenOf tokenOf,
                         sdc_error *error) {
  SDC_TRY(checkSlot(session, 0, error));
  const EntryView &view = session.views[unsigned(Use::Decode)];
  uint32_t slots = session.plan.slots, active = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    if (tokenOf(i) == SDC_NO_TOKEN)
      continue;
    ++active;
    SDC_TRY(checkToken(session, tokenOf(i), i, error));
    if (session.slots[i].length >= session.plan.context)
      return fail(error, SDC_CONTEXT_FULL,
                  "slot %u is full: it holds %u tokens", i,
                  session.slots[i].length);
  }
  if (active == 0)
    return fail(error, SDC_BAD_ARGUMENT, "no slot has a token to decode");
  SDC_TRY(takeCancel(session, error));

  for (uint32_t i = 0; i < view.rows; ++i) {
    bool in = i < slots && tokenOf(i) != SDC_NO_TOKEN;
    session.stepTokens[i] = in ? tokenOf(i) : 0;
    session.stepPositions[i] = in ? int32_t(session.slots[i].length) : -1;
    session.stepSlots[i] = i < slots ? int32_t(i) : 0;
  }
  for (uint32_t i = 0; i < slots; ++i)
    session.slots[i].hasLogits = false;
  SDC_TRY(runStep(session, Use::Decode, error));
  for (uint32_t i = 0; i < slots; ++i) {
    if (tokenOf(i) == SDC_NO_TOKEN)
      continue;
    Slot &slot = session.slots[i];
    session.tokensOf(i)[slot.length++] = tokenOf(i);
    slot.hasLogits = true;
  }
  announceStep(session);
  return SDC_OK;
}

sdc_status sdc_decode(sdc_session *session, const int32_t *tokens,
                      sdc_error *out_error) {
  return decode(
      *session, [&](uint32_t slot) { return tokens[slot]; }, out_error);
}

sdc_status sdc::rt::decodeOne(sdc_session &session, uint32_t only,
                              int32_t token, sdc_error *error) {
  auto tokenOf = [&](uint32_t slot) {
    return slot == only ? token : SDC_NO_TOKEN;
  };
  return decode(session, tokenOf, error);
}

sdc_status sdc_slot_sample(sdc_session *session, uint32_t slot,
                           const sdc_sampling *sampling, uint32_t step,
                           int32_t *out_token, sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  sdc_sampling chosen;
  SDC_TRY(readStruct(sampling, "sdc_sampling", chosen, out_error));
  SDC_TRY(checkSampling(chosen, out_error));
  const Slot &state = session->slots[slot];
  if (!state.hasLogits)
    return fail(out_error, SDC_NO_LOGITS,
                "slot %u has no logits: feed it a token first", slot);
  uint32_t window = chosen.repeat_window;
  if (window == 0 || window > state.length)
    window = state.length;
  const int32_t *history = session->tokensOf(slot) + (state.length - window);
  *out_token = sampleToken(session->logitsOf(slot), session->vocabulary(),
                           chosen, history, window, step, session->sampler);
  return SDC_OK;
}
