// The loop: prefill, then sample and decode one slot until something stops.

#include "runtime/src/model.h"
#include "runtime/src/session.h"
#include "runtime/src/status.h"

#include <ctime>

using namespace sdc::rt;

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

static bool isStopToken(const sdc_generate_options &options, int32_t token) {
  for (size_t i = 0; i < options.stop_token_count; ++i)
    if (options.stop_tokens[i] == token)
      return true;
  return false;
}

/// Whether the host has left it out.
static bool isZero(const sdc_sampling &s) {
  bool zero = s.struct_size == 0 && s.temperature == 0 && s.top_k == 0 &&
              s.top_p == 0 && s.min_p == 0 && s.repeat_penalty == 0 &&
              s.repeat_window == 0 && s.seed == 0 && s.prompt == 0 &&
              s.pass == 0;
  for (uint32_t word : s.reserved)
    zero &= word == 0;
  return zero;
}

static bool isGreedy(const sdc_sampling &sampling) {
  return sampling.temperature == 0 &&
         (sampling.repeat_penalty == 0 || sampling.repeat_penalty == 1);
}

namespace {
/// Where the tokens of one call come from: one that is chosen by the host, and
/// decodes that each give the next. The other slots sit the decodes out.
class TokenSource {
public:
  TokenSource(sdc_session &session, uint32_t slot,
              const sdc_generate_options &options)
      : session(session), slot(slot), options(options),
        loops(isGreedy(options.sampling) && !session.onStep &&
              session.device->canLoop(session.onDevice)) {}

  sdc_status first(int32_t &token, sdc_error *error) {
    return sample(0, token, error);
  }

  /// Feeds `token`, which was number `written`, and replaces it by the next.
  sdc_status next(uint32_t written, int32_t &token, sdc_error *error) {
    if (!loops) {
      SDC_TRY(decodeOne(session, slot, token, error));
      return sample(written, token, error);
    }
    SDC_TRY(takeCancel(session, error));
    Slot &state = session.slots[slot];
    if (!looping) {
      uint32_t steps = session.plan.context - state.length;
      if (options.max_new != 0 && options.max_new - written < steps)
        steps = options.max_new - written;
      for (uint32_t i = 0; i < session.plan.slots; ++i)
        session.slots[i].hasLogits = false;
      looping = true;
      SDC_TRY(session.device->startLoop(
          session.onDevice, {slot, token, state.length, steps}, error));
    }
    int32_t fed = token;
    SDC_TRY(session.device->nextToken(session.onDevice, token, error));
    session.tokensOf(slot)[state.length++] = fed;
    return SDC_OK;
  }

  /// Leaves the slot as it is after single decodes, with its logits.
  sdc_status finish(sdc_error *error) {
    if (!looping)
      return SDC_OK;
    looping = false;
    uint32_t ahead = 0;
    SDC_TRY(session.device->endLoop(session.onDevice, ahead, error));
    Slot &state = session.slots[slot];
    if (ahead == 0) {
      state.hasLogits = true;
      return SDC_OK;
    }
    // The logits are those of a step too far: repeat the last that counts.
    if (state.length == 0)
      return SDC_OK;
    --state.length;
    return decodeOne(session, slot, session.tokensOf(slot)[state.length],
                     error);
  }

  bool onDevice() const { return loops; }

private:
  sdc_status sample(uint32_t step, int32_t &token, sdc_error *error) {
    return sdc_slot_sample(&session, slot,
                           options.sampling.struct_size ? &options.sampling
                                                        : nullptr,
                           step, &token, error);
  }

  sdc_session &session;
  uint32_t slot;
  const sdc_generate_options &options;
  bool loops;
  bool looping = false;
};
} // namespace

/// Writes until there is a reason to stop.
static sdc_status writeTokens(sdc_session &session, uint32_t slot,
                              const sdc_generate_options &options,
                              TokenSource &source, sdc_generate_result &result,
                              sdc_error *error) {
  int32_t token = 0;
  SDC_TRY(source.first(token, error));
  for (;;) {
    if (isStopToken(options, token)) {
      result.reason = SDC_STOP_TOKEN;
      result.stop_token = token;
      return SDC_OK;
    }
    ++result.written;
    if (options.on_token && !options.on_token(options.on_token_user, token)) {
      result.reason = SDC_STOP_CALLBACK;
      return SDC_OK;
    }
    if (options.max_new != 0 && result.written >= options.max_new) {
      result.reason = SDC_STOP_LENGTH;
      return SDC_OK;
    }
    if (session.slots[slot].length >= session.plan.context) {
      result.reason = SDC_STOP_CONTEXT;
      return SDC_OK;
    }
    SDC_TRY(source.next(result.written, token, error));
  }
}

sdc_status sdc_generate(sdc_session *session, uint32_t slot,
                        const int32_t *prompt, size_t count,
                        const sdc_generate_options *given,
                        sdc_generate_result *out_result, sdc_error *out_error) {
  sdc_generate_options options;
  SDC_TRY(readStruct(given, "sdc_generate_options", options, out_error));
  SDC_TRY(checkStruct(out_result, "sdc_generate_result", out_error));
  SDC_TRY(checkSlot(*session, slot, out_error));
  // Left out as a whole, it is greedy.
  if (!isZero(options.sampling)) {
    sdc_sampling sampling;
    SDC_TRY(readStruct(&options.sampling, "sdc_sampling", sampling, out_error));
    SDC_TRY(checkSampling(sampling, out_error));
  }
  sdc_generate_result result = {};
  result.stop_token = SDC_NO_TOKEN;
  if (count == 0 && !session->slots[slot].hasLogits)
    return fail(out_error, SDC_NO_LOGITS,
                "slot %u has no logits to go on from, and there is no prompt",
                slot);
  // Being cancelled is no failure here, so its message must not get out.
  sdc_error error = {};
  double start = seconds();
  sdc_status status = SDC_OK;
  if (count != 0)
    status = sdc_prefill(session, slot, prompt, count, &error);
  double prefilled = seconds();
  TokenSource source(*session, slot, options);
  if (status == SDC_OK)
    status = writeTokens(*session, slot, options, source, result, &error);
  // However it ended; the first failure is the one to tell.
  sdc_error finishing = {};
  if (sdc_status finished = source.finish(&finishing);
      status == SDC_OK && finished != SDC_OK) {
    status = finished;
    error = finishing;
  }
  if (status == SDC_CANCELLED)
    result.reason = SDC_STOP_CANCELLED;
  else if (status != SDC_OK)
    return fail(out_error, status, "%s", error.message);
  result.prefill_seconds = prefilled - start;
  result.decode_seconds = seconds() - prefilled;
  result.chosen_on = source.onDevice() ? SDC_DEVICE_CUDA : SDC_DEVICE_CPU;
  if (out_result)
    fillStruct(out_result, result);
  return SDC_OK;
}
