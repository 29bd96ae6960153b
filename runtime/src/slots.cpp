// What can be done to slots between steps: look, rewind, fork, read and write
// their states.

#include "runtime/src/session.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstring>

using namespace sdc;
using namespace sdc::rt;

float *sdc_slot_logits(sdc_session *session, uint32_t slot) {
  if (checkSlot(*session, slot, nullptr) != SDC_OK ||
      !session->slots[slot].hasLogits)
    return nullptr;
  return session->logitsOf(slot);
}

uint32_t sdc_slot_length(const sdc_session *session, uint32_t slot) {
  if (checkSlot(*session, slot, nullptr) != SDC_OK)
    return 0;
  return session->slots[slot].length;
}

const int32_t *sdc_slot_tokens(const sdc_session *session, uint32_t slot) {
  if (checkSlot(*session, slot, nullptr) != SDC_OK)
    return nullptr;
  return session->tokensOf(slot);
}

sdc_status sdc_slot_rewind(sdc_session *session, uint32_t slot, uint32_t length,
                           sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  Slot &state = session->slots[slot];
  if (length > state.length)
    return fail(out_error, SDC_BAD_ARGUMENT,
                "slot %u holds %u tokens and cannot be rewound to %u", slot,
                state.length, length);
  if (length == state.length)
    return SDC_OK;
  state.length = length;
  state.hasLogits = false;
  return SDC_OK;
}

sdc_status sdc_slot_fork(sdc_session *session, uint32_t from, uint32_t to,
                         sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, from, out_error));
  SDC_TRY(checkSlot(*session, to, out_error));
  if (from == to)
    return SDC_OK;
  const Slot &source = session->slots[from];
  SDC_TRY(session->device->copySlot(session->onDevice, from, to, source.length,
                                    out_error));
  memcpy(session->tokensOf(to), session->tokensOf(from),
         source.length * sizeof(int32_t));
  if (source.hasLogits)
    memcpy(session->logitsOf(to), session->logitsOf(from),
           session->vocabulary() * sizeof(float));
  session->slots[to] = source;
  return SDC_OK;
}

/// Checks the rows and the size of the caller's buffer for them.
static sdc_status checkRows(const sdc_session &session, StateRows rows,
                            size_t size, sdc_error *error) {
  SDC_TRY(checkSlot(session, rows.slot, error));
  const auto &states = *session.plan.model->root().states();
  if (rows.state >= states.size())
    return fail(error, SDC_BAD_ARGUMENT,
                "state %u is out of range, the model has %u", rows.state,
                states.size());
  if (!isInside(rows.first, rows.count, session.plan.context))
    return fail(error, SDC_BAD_ARGUMENT,
                "positions %u to %" PRIu64 " are beyond the context of %u",
                rows.first, uint64_t{rows.first} + rows.count,
                session.plan.context);
  const fb::State &state = *states.Get(rows.state);
  Size bytes = Size(state.heads()) * Size(state.head_size()) *
               Size(elementSize(state.element())) * Size(rows.count);
  if (bytes.value != size)
    return fail(error, SDC_BAD_ARGUMENT,
                "%u positions of state %u take %" PRIu64
                " bytes, the buffer has %zu",
                rows.count, rows.state, bytes.value, size);
  return SDC_OK;
}

sdc_status sdc_slot_read_state(const sdc_session *session, uint32_t slot,
                               uint32_t state, uint32_t first, uint32_t count,
                               void *buffer, size_t size,
                               sdc_error *out_error) {
  StateRows rows = {state, slot, first, count};
  SDC_TRY(checkRows(*session, rows, size, out_error));
  return session->device->readRows(session->onDevice, rows, buffer, out_error);
}

sdc_status sdc_slot_write_state(sdc_session *session, uint32_t slot,
                                uint32_t state, uint32_t first, uint32_t count,
                                const void *buffer, size_t size,
                                sdc_error *out_error) {
  StateRows rows = {state, slot, first, count};
  SDC_TRY(checkRows(*session, rows, size, out_error));
  return session->device->writeRows(session->onDevice, rows, buffer, out_error);
}

sdc_status sdc_slot_set_tokens(sdc_session *session, uint32_t slot,
                               const int32_t *tokens, uint32_t count,
                               sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  if (count > session->plan.context)
    return fail(out_error, SDC_CONTEXT_FULL,
                "%u tokens do not fit into slot %u of %u positions", count,
                slot, session->plan.context);
  for (uint32_t i = 0; tokens && i < count; ++i)
    if (tokens[i] < 0 || uint32_t(tokens[i]) >= session->vocabulary())
      return fail(out_error, SDC_BAD_TOKEN,
                  "token %d at %u is outside the vocabulary of %u", tokens[i],
                  i, session->vocabulary());
  if (tokens)
    memcpy(session->tokensOf(slot), tokens, count * sizeof(*tokens));
  else
    memset(session->tokensOf(slot), 0, count * sizeof(*tokens));
  session->slots[slot] = {count, false};
  return SDC_OK;
}
