// Makes and ends sessions: what a session runs, how much memory it takes, and
// where everything lies in it.

#include "runtime/src/session.h"

#include "runtime/src/cpu/level.h"
#include "runtime/src/layout.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstring>
#include <new>

using namespace sdc;
using namespace sdc::rt;

/// More than any machine has; keeps sizes far from overflow.
static constexpr uint32_t kMaxThreads = 4096;
/// Of the states' memory: pages.
static constexpr uint64_t kStateAlignment = 4096;

//===- What it runs -------------------------------------------------------===//

/// The entry for each use. Of several decode entries the smallest that has a
/// row for each slot.
static sdc_status chooseEntries(SessionPlan &plan, sdc_error *error) {
  const auto &entries = *plan.model->root().entries();
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const fb::Entry &entry = *entries.Get(i);
    auto choose = [&](Use use) { plan.entries[unsigned(use)] = i; };
    switch (entry.kind()) {
    case fb::EntryKind::Decode:
      if (entry.batch() >= plan.slots &&
          (!plan.has(Use::Decode) ||
           entry.batch() < plan.entry(Use::Decode).batch()))
        choose(Use::Decode);
      break;
    case fb::EntryKind::Prefill:
      // The logits of all rows cost much, so they are for those who want them.
      if (entry.all_logits() && !plan.has(Use::PrefillAll))
        choose(Use::PrefillAll);
      if (!plan.has(Use::Prefill) ||
          (plan.entry(Use::Prefill).all_logits() && !entry.all_logits()))
        choose(Use::Prefill);
      break;
    case fb::EntryKind::Plain:
      choose(Use::Plain);
      break;
    }
  }
  if (!plan.has(Use::Plain) && !plan.has(Use::Decode))
    return fail(error, SDC_NOT_COMPILED,
                "the executable has no decode entry for %u slots", plan.slots);
  return SDC_OK;
}

/// The smaller of what was asked for and what was compiled; 0 asks for all.
static sdc_status bound(uint32_t asked, uint32_t compiled, const char *what,
                        uint32_t &value, sdc_error *error) {
  if (asked > compiled)
    return fail(error, SDC_BAD_ARGUMENT,
                "%u %s are asked for, the executable was compiled for %u",
                asked, what, compiled);
  value = asked ? asked : compiled;
  return SDC_OK;
}

static sdc_status chooseDevice(const sdc_session_options &options,
                               SessionPlan &plan, sdc_error *error) {
  const fb::Executable &root = plan.model->root();
  bool forCuda = root.target() == fb::TargetFamily::Cuda;
  plan.kind = options.device;
  plan.deviceIndex = options.device_index;
  plan.stream = options.stream;
  if (options.device == SDC_DEVICE_CPU) {
    if (options.device_index != 0)
      return fail(error, SDC_NO_DEVICE, "there is one CPU, number 0, not %u",
                  options.device_index);
    if (options.stream || options.device_allocator)
      return fail(error, SDC_BAD_ARGUMENT, "a %s is given, the CPU has none",
                  options.stream ? "stream" : "device_allocator");
    if (forCuda)
      return fail(error, SDC_NO_IMAGE,
                  "the executable is for CUDA (%s), the device is the CPU; "
                  "choose device cuda:0, or compile it for cpu",
                  root.images()->size() > 0
                      ? root.images()->Get(0)->level()->c_str()
                      : "no image");
    return SDC_OK;
  }
  if (options.device != SDC_DEVICE_CUDA)
    return fail(error, SDC_NO_DEVICE, "device %u is not known to this runtime",
                unsigned(options.device));
  if (!forCuda)
    return fail(error, SDC_NO_IMAGE,
                "the executable is for the CPU, the device is cuda:%u; choose "
                "device cpu, or compile it for cuda",
                options.device_index);
  if (options.device_allocator)
    return readStruct(options.device_allocator, "sdc_allocator",
                      plan.deviceAllocator, error);
  return SDC_OK;
}

static const Device &deviceOf(const SessionPlan &plan) {
  return plan.kind == SDC_DEVICE_CUDA ? cudaDevice() : cpuDevice();
}

static sdc_status makePlan(const sdc_model *model,
                           const sdc_session_options &options,
                           SessionPlan &plan, sdc_error *error) {
  const fb::Model &numbers = *model->root().model();
  // The plan serves queries too; only sdc_session_create keeps the model.
  plan.model = const_cast<sdc_model *>(model);
  SDC_TRY(chooseDevice(options, plan, error));
  plan.profile = options.profile;
  plan.threads = plan.kind == SDC_DEVICE_CUDA ? 1
                 : options.threads            ? options.threads
                                              : cpu::availableCores();
  if (plan.threads > kMaxThreads)
    return fail(error, SDC_BAD_ARGUMENT,
                "%u threads are asked for, at most %u are allowed",
                plan.threads, kMaxThreads);
  bool plain = model->root().entries()->Get(0)->kind() == fb::EntryKind::Plain;
  if (plain) {
    plan.slots = plan.context = 1;
  } else {
    SDC_TRY(bound(options.slots, numbers.batch(), "slots", plan.slots, error));
    SDC_TRY(bound(options.context, numbers.context(), "positions", plan.context,
                  error));
  }
  return chooseEntries(plan, error);
}

//===- Its memory ---------------------------------------------------------===//

/// Bytes of one position of the largest state.
static uint64_t stagingSize(const SessionPlan &plan) {
  uint64_t largest = 0;
  for (const fb::State *state : *plan.model->root().states()) {
    uint64_t bytes = uint64_t{state->heads()} * state->head_size() *
                     elementSize(state->element());
    largest = bytes > largest ? bytes : largest;
  }
  return largest;
}

static uint32_t countTaps(const fb::Entry &entry) {
  uint32_t count = 0;
  for (const fb::Binding *binding : *entry.bindings())
    count += binding->role() == fb::Role::Tap;
  return count;
}

/// Lays out what is the host's in the block, and returns the device's part of
/// it; writes the places into `session` unless that is null.
static uint8_t *layOut(const SessionPlan &plan, const DeviceMemory &onDevice,
                       Layout &layout, sdc_session *session) {
  bool decoder = !plan.has(Use::Plain);
  uint64_t vocabulary = decoder ? plan.model->root().model()->vocabulary() : 0;
  uint64_t rows = 0;
  for (uint32_t i = 0; i < kUses; ++i)
    if (decoder && plan.owns(Use(i))) {
      const fb::Entry &entry = plan.entry(Use(i));
      uint64_t these = uint64_t{entry.batch()} * entry.rows();
      rows = these > rows ? these : rows;
    }
  layout.take<sdc_session>(1);
  auto *slots = layout.take<Slot>(plan.slots);
  auto *tokens = layout.take<int32_t>(Size(plan.slots) * Size(plan.context));
  auto *stepTokens = layout.take<int32_t>(rows);
  auto *stepPositions = layout.take<int32_t>(rows);
  auto *stepSlots = layout.take<int32_t>(rows);
  auto *candidates = layout.take<Candidate>(vocabulary);
  auto *seen = layout.take<uint64_t>(vocabulary / 64 + 1);
  auto *staging = layout.takeBytes(stagingSize(plan));
  for (uint32_t i = 0; i < kUses; ++i)
    if (plan.owns(Use(i))) {
      auto *taps = layout.take<sdc_tap>(countTaps(plan.entry(Use(i))));
      if (session)
        session->taps[i] = taps;
    }
  if (session) {
    session->slots = slots;
    session->tokens = tokens;
    session->stepTokens = stepTokens;
    session->stepPositions = stepPositions;
    session->stepSlots = stepSlots;
    session->sampler = {candidates, seen};
    session->staging = staging;
  }
  return layout.takeBytes(onDevice.block);
}

/// The block and the states, as the allocator will be asked for them.
static sdc_status measure(const SessionPlan &plan, const Device &device,
                          DeviceMemory &onDevice, uint64_t &blockBytes,
                          uint64_t &stateBytes, sdc_error *error) {
  SDC_TRY(device.measure(plan, onDevice, error));
  Layout layout;
  layOut(plan, onDevice, layout, nullptr);
  Size block = layout.size();
  Size states = onDevice.states.alignedTo(kStateAlignment);
  if (!(block + states + onDevice.device + onDevice.deviceWeights)
           .isAtMost(INT64_MAX))
    return fail(error, SDC_OUT_OF_MEMORY,
                "the memory for %u slots of %u positions overflows", plan.slots,
                plan.context);
  blockBytes = block.value;
  stateBytes = states.value;
  return SDC_OK;
}

sdc_status sdc_session_memory(const sdc_model *model,
                              const sdc_session_options *options,
                              sdc_memory *out_memory, sdc_error *out_error) {
  SDC_TRY(checkStruct(out_memory, "sdc_memory", out_error));
  sdc_session_options chosen;
  SDC_TRY(readStruct(options, "sdc_session_options", chosen, out_error));
  SessionPlan plan;
  SDC_TRY(makePlan(model, chosen, plan, out_error));
  DeviceMemory onDevice;
  uint64_t block = 0, states = 0;
  SDC_TRY(measure(plan, deviceOf(plan), onDevice, block, states, out_error));
  sdc_memory memory = {};
  bool onHost = plan.kind == SDC_DEVICE_CPU;
  memory.states = onHost ? states : onDevice.deviceStates.value;
  memory.arena = onDevice.arena.value;
  memory.scratch = onDevice.scratch.value;
  memory.other = onHost ? block - memory.arena - memory.scratch : block;
  memory.total = block + states;
  memory.device = onDevice.device.value;
  memory.device_weights = onDevice.deviceWeights.value;
  memory.pinned = onDevice.pinned.value;
  for (const fb::Weight *weight : *model->root().weights())
    memory.weights += weight->size();
  fillStruct(out_memory, memory);
  return SDC_OK;
}

//===- Its life -----------------------------------------------------------===//

/// Finds the bindings that a step fills and reads.
static void bindEntries(sdc_session &session) {
  for (uint32_t i = 0; i < kUses; ++i) {
    Use use = Use(i);
    if (!session.plan.has(use) || use == Use::Plain)
      continue;
    const fb::Entry &entry = session.plan.entry(use);
    EntryView &view = session.views[i];
    view.rows = entry.batch() * entry.rows();
    // Uses that share an entry share its taps.
    uint32_t owner = uint32_t(session.plan.owner(use));
    session.taps[i] = session.taps[owner];
    uint32_t tapCount = 0;
    for (uint32_t j = 0; j < entry.bindings()->size(); ++j) {
      const fb::Binding &binding = *entry.bindings()->Get(j);
      void *place = session.device->view(session.onDevice, use, j);
      switch (binding.role()) {
      case fb::Role::Tokens:
        view.tokens = static_cast<int32_t *>(place);
        break;
      case fb::Role::Positions:
        view.positions = static_cast<int32_t *>(place);
        break;
      case fb::Role::Slots:
        view.slots = static_cast<int32_t *>(place);
        break;
      case fb::Role::Logits:
        view.logits = static_cast<float *>(place);
        view.logitRows = uint32_t(binding.shape()->Get(0));
        break;
      case fb::Role::Tap:
        session.taps[i][tapCount++] = {binding.name()->c_str(),
                                       uint32_t(binding.shape()->Get(1)),
                                       static_cast<float *>(place)};
        break;
      case fb::Role::Input:
      case fb::Role::Output:
        break;
      }
    }
    session.tapCounts[i] = tapCount;
  }
}

sdc_status sdc_session_create(sdc_model *model,
                              const sdc_session_options *given,
                              sdc_session **out_session, sdc_error *out_error) {
  if (!model || !out_session)
    return fail(out_error, SDC_BAD_ARGUMENT, "%s is null",
                model ? "out_session" : "model");
  sdc_session_options options;
  SDC_TRY(readStruct(given, "sdc_session_options", options, out_error));
  SessionPlan plan;
  SDC_TRY(makePlan(model, options, plan, out_error));
  const Device &device = deviceOf(plan);
  DeviceMemory onDevice;
  uint64_t blockBytes = 0, stateBytes = 0;
  SDC_TRY(measure(plan, device, onDevice, blockBytes, stateBytes, out_error));

  Allocator allocator = Allocator::from(options.allocator);
  void *block = allocator.allocate(blockBytes, kAlignment);
  void *states =
      stateBytes ? allocator.allocate(stateBytes, kStateAlignment) : nullptr;
  if (!block || (stateBytes && !states)) {
    allocator.release(block, blockBytes, kAlignment);
    allocator.release(states, stateBytes, kStateAlignment);
    return fail(out_error, SDC_OUT_OF_MEMORY,
                "no memory for a session: %" PRIu64
                " bytes for %u slots of %u positions and %" PRIu64 " others",
                stateBytes, plan.slots, plan.context, blockBytes);
  }
  auto *session = new (block) sdc_session();
  session->plan = plan;
  session->allocator = allocator;
  session->device = &device;
  session->block = block;
  session->states = states;
  session->blockBytes = blockBytes;
  session->stateBytes = stateBytes;
  session->onStep = options.on_step;
  session->onStepUser = options.on_step_user;
  Layout layout(block);
  uint8_t *deviceBlock = layOut(plan, onDevice, layout, session);
  model->retain();
  sdc_status status =
      device.create(plan, deviceBlock, states, session->onDevice, out_error);
  if (status != SDC_OK) {
    session->onDevice = nullptr;
    sdc_session_destroy(session);
    return status;
  }
  bindEntries(*session);
  model->report(
      SDC_LOG_INFO,
      "session: %u slots of %u positions, %u threads, %" PRIu64 " bytes",
      plan.slots, plan.context, plan.threads, blockBytes + stateBytes);
  *out_session = session;
  return SDC_OK;
}

void sdc_session_destroy(sdc_session *session) {
  if (!session)
    return;
  if (session->onDevice)
    session->device->destroy(session->onDevice);
  Allocator allocator = session->allocator;
  sdc_model *model = session->plan.model;
  void *block = session->block, *states = session->states;
  uint64_t blockBytes = session->blockBytes, stateBytes = session->stateBytes;
  session->~sdc_session();
  allocator.release(states, stateBytes, kStateAlignment);
  allocator.release(block, blockBytes, kAlignment);
  model->release();
}

//===- Queries ------------------------------------------------------------===//

const sdc_model *sdc_session_model(const sdc_session *session) {
  return session->plan.model;
}

uint32_t sdc_session_slots(const sdc_session *session) {
  return session->plan.slots;
}

uint32_t sdc_session_context(const sdc_session *session) {
  return session->plan.context;
}

uint32_t sdc_session_threads(const sdc_session *session) {
  return session->plan.threads;
}

void sdc_session_cancel(sdc_session *session) {
  session->cancel.store(1, std::memory_order_relaxed);
}

void sdc_session_clear_cancel(sdc_session *session) {
  session->cancel.store(0, std::memory_order_relaxed);
}

sdc_status sdc::rt::takeCancel(sdc_session &session, sdc_error *error) {
  if (session.cancel.exchange(0, std::memory_order_relaxed) == 0)
    return SDC_OK;
  return fail(error, SDC_CANCELLED, "cancelled");
}

bool sdc_session_launch_time(const sdc_session *session, uint32_t entry,
                             uint32_t launch, sdc_launch_time *out_time) {
  for (uint32_t i = 0; i < kUses; ++i) {
    Use use = Use(i);
    if (!session->plan.owns(use) || session->plan.entryIndex(use) != entry)
      continue;
    const LaunchTime *times = session->device->times(session->onDevice, use);
    if (!times || launch >= session->plan.entry(use).launches()->size())
      return false;
    sdc_launch_time time = {};
    time.runs = times[launch].runs;
    time.nanoseconds = times[launch].nanoseconds;
    fillStruct(out_time, time);
    return true;
  }
  return false;
}

void sdc_session_clear_profile(sdc_session *session) {
  for (uint32_t i = 0; i < kUses; ++i)
    if (session->plan.owns(Use(i)))
      if (LaunchTime *times = session->device->times(session->onDevice, Use(i)))
        memset(times, 0,
               session->plan.entry(Use(i)).launches()->size() * sizeof(*times));
}
