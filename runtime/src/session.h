// A session: slots, their tokens, and a device that holds their memory.

#ifndef SDC_RUNTIME_SRC_SESSION_H
#define SDC_RUNTIME_SRC_SESSION_H

#include "runtime/src/device.h"
#include "runtime/src/sampler.h"

namespace sdc::rt {

/// One sequence.
struct Slot {
  uint32_t length;
  bool hasLogits;
};

/// Numbers of bindings of an entry, and where the host sees them.
struct EntryView {
  int32_t *tokens;
  int32_t *positions;
  int32_t *slots;
  float *logits;
  uint32_t rows;
  uint32_t logitRows;
};

} // namespace sdc::rt

struct sdc_session {
  sdc::rt::SessionPlan plan;
  sdc::rt::Allocator allocator;
  const sdc::rt::Device *device = nullptr;
  sdc::rt::DeviceSession *onDevice = nullptr;

  // The two pieces of memory, and their sizes as they were asked for.
  void *block = nullptr;
  void *states = nullptr;
  uint64_t blockBytes = 0;
  uint64_t stateBytes = 0;

  std::atomic<uint32_t> cancel{0};

  sdc::rt::Slot *slots = nullptr;
  int32_t *tokens = nullptr; // [slots, context]
  sdc::rt::EntryView views[sdc::rt::kUses] = {};
  sdc_tap *taps[sdc::rt::kUses] = {};
  uint32_t tapCounts[sdc::rt::kUses] = {};

  // What went into the last run; kernels may reuse the bytes of its bindings.
  int32_t *stepTokens = nullptr;
  int32_t *stepPositions = nullptr;
  int32_t *stepSlots = nullptr;
  sdc_step step = {};
  sdc_step_fn onStep = nullptr;
  void *onStepUser = nullptr;

  sdc::rt::SamplerMemory sampler = {};
  /// One position of the largest state, on its way to or from a saved slot.
  uint8_t *staging = nullptr;

  uint32_t vocabulary() const {
    return plan.model->root().model()->vocabulary();
  }
  int32_t *tokensOf(uint32_t slot) const {
    return tokens + uint64_t{slot} * plan.context;
  }
  /// The logits of a slot are its row of the decode entry.
  float *logitsOf(uint32_t slot) const {
    return views[unsigned(sdc::rt::Use::Decode)].logits +
           uint64_t{slot} * vocabulary();
  }
};

namespace sdc::rt {

sdc_status checkSlot(const sdc_session &session, uint32_t slot,
                     sdc_error *error);

/// Feeds a token to one slot; the others sit it out.
sdc_status decodeOne(sdc_session &session, uint32_t slot, int32_t token,
                     sdc_error *error);

/// Takes a request to cancel, if there is one, and fails with it.
sdc_status takeCancel(sdc_session &session, sdc_error *error);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_SESSION_H
