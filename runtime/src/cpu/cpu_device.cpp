// The CPU as a device. All pointers of a step are resolved when the session is
// made: a run reads launches from a list, cuts each into ranges and calls.

#include "runtime/src/cpu/pool.h"
#include "runtime/src/device.h"
#include "runtime/src/layout.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstring>
#include <ctime>
#include <new>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace sdc;
using namespace sdc::rt;
using namespace sdc::rt::cpu;

namespace {
struct Launch {
  sdc_kernel kernel;
  void *const *operands;
  uint32_t units;
};

/// An entry of the file, ready to run.
struct Program {
  Launch *launches;
  uint32_t count;
  uint8_t *arena;
  LaunchTime *times;
};

/// What kernels are told of the session (OperandKind::Params).
struct Params {
  int64_t context;
  int64_t slots;
};

struct State {
  uint8_t *bytes;
  uint64_t heads;
  /// Bytes of one position of one head.
  uint64_t row;
};

struct CpuSession {
  SessionPlan plan;
  Params params;
  Program programs[kUses];
  State *states;
  uint8_t *scratch;
  uint64_t scratchStride;
  Pool pool;

  // Of the run in progress.
  const Program *running;
  const std::atomic<uint32_t> *cancel;
  bool cancelled;

  State &state(uint32_t index) { return states[index]; }
  uint8_t *row(const State &state, uint64_t slot, uint64_t head,
               uint64_t position) const {
    uint64_t line = (slot * state.heads + head) * plan.context + position;
    return state.bytes + line * state.row;
  }
};

/// Rounding to nearest and subnormals kept, whatever the host has set: all
/// threads compute the same.
class FloatingPointState {
public:
#if defined(__x86_64__)
  FloatingPointState() : saved(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FloatingPointState() { _mm_setcsr(saved); }

private:
  static constexpr unsigned kDefault = 0x1f80;
  unsigned saved;
#endif
};
} // namespace

static CpuSession *own(DeviceSession *session) {
  return reinterpret_cast<CpuSession *>(session);
}

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

//===- Memory -------------------------------------------------------------===//

/// Largest scratch memory among the kernels that the session runs.
static uint64_t scratchSize(const SessionPlan &plan) {
  const auto &kernels = *plan.model->root().kernels();
  uint64_t largest = 0;
  for (uint32_t use = 0; use < kUses; ++use)
    if (plan.owns(Use(use)))
      for (const fb::Launch *launch : *plan.entry(Use(use)).launches()) {
        uint64_t size = kernels.Get(launch->kernel())->scratch_size();
        largest = size > largest ? size : largest;
      }
  return largest;
}

/// Bytes of a state, with slots and context of the session.
static Size stateSize(const SessionPlan &plan, const fb::State &state) {
  Size bytes = Size(plan.slots) * Size(state.heads()) * Size(plan.context) *
               Size(state.head_size()) * Size(elementSize(state.element()));
  return bytes.alignedTo(kAlignment);
}

/// Lays the block out; with `filling`, writes the places into it.
static void layOut(const SessionPlan &plan, Layout &layout, bool filling,
                   DeviceMemory &memory, Pool::Worker *&workers,
                   void **(&operands)[kUses]) {
  const fb::Executable &root = plan.model->root();
  auto *session = layout.take<CpuSession>(1);
  workers = layout.take<Pool::Worker>(plan.threads);
  auto *states = layout.take<State>(root.states()->size());
  for (uint32_t i = 0; i < kUses; ++i) {
    if (!plan.owns(Use(i)))
      continue;
    const fb::Entry &entry = plan.entry(Use(i));
    uint32_t count = entry.launches()->size();
    uint64_t operandCount = 0;
    for (const fb::Launch *launch : *entry.launches())
      operandCount += launch->operands()->size();
    auto *launches = layout.take<Launch>(count);
    operands[i] = layout.take<void *>(operandCount);
    auto *times = layout.take<LaunchTime>(plan.profile ? count : 0);
    uint8_t *arena = layout.takeBytes(entry.arena_size());
    memory.arena =
        memory.arena + Size(entry.arena_size()).alignedTo(kAlignment);
    if (filling)
      session->programs[i] = {launches, count, arena,
                              plan.profile ? times : nullptr};
  }
  Size stride = Size(scratchSize(plan)).alignedTo(kAlignment);
  memory.scratch = stride * Size(plan.threads);
  uint8_t *scratch = layout.takeBytes(memory.scratch);
  if (filling) {
    session->states = states;
    session->scratch = scratch;
    session->scratchStride = stride.value;
  }
}

static sdc_status measure(const SessionPlan &plan, DeviceMemory &memory,
                          sdc_error *) {
  Layout layout;
  Pool::Worker *workers;
  void **operands[kUses];
  memory = DeviceMemory();
  layOut(plan, layout, /*filling=*/false, memory, workers, operands);
  memory.block = layout.size();
  for (const fb::State *state : *plan.model->root().states())
    memory.states = memory.states + stateSize(plan, *state);
  return SDC_OK;
}

/// Where an operand's bytes are.
static void *resolve(CpuSession &session, const Program &program,
                     const fb::Operand &operand) {
  const Executable &executable = session.plan.model->executable;
  switch (operand.kind()) {
  case fb::OperandKind::Arena:
    return program.arena + operand.offset();
  case fb::OperandKind::Weight:
    // Kernels do not write to weights; the mapping would not let them.
    return const_cast<uint8_t *>(executable.weight(operand.index())) +
           operand.offset();
  case fb::OperandKind::State:
    return session.states[operand.index()].bytes;
  case fb::OperandKind::Params:
    return &session.params;
  }
  return nullptr;
}

static sdc_status create(const SessionPlan &plan, void *block, void *states,
                         DeviceSession *&out, sdc_error *error) {
  if (!plan.model->kernels)
    return fail(error, SDC_NO_IMAGE,
                "the model was opened without code, so it cannot run");
  auto *session = new (block) CpuSession();
  session->plan = plan;
  session->params = {plan.context, plan.slots};
  Layout layout(block);
  DeviceMemory memory;
  Pool::Worker *workers;
  void **operands[kUses];
  layOut(plan, layout, /*filling=*/true, memory, workers, operands);

  const fb::Executable &root = plan.model->root();
  auto *bytes = static_cast<uint8_t *>(states);
  for (uint32_t i = 0; i < root.states()->size(); ++i) {
    const fb::State &state = *root.states()->Get(i);
    session->states[i] = {bytes, state.heads(),
                          state.head_size() * elementSize(state.element())};
    bytes += stateSize(plan, state).value;
  }
  for (uint32_t i = 0; i < kUses; ++i) {
    if (!plan.owns(Use(i)))
      continue;
    Program &program = session->programs[i];
    void **next = operands[i];
    const fb::Entry &entry = plan.entry(Use(i));
    for (uint32_t j = 0; j < program.count; ++j) {
      const fb::Launch &launch = *entry.launches()->Get(j);
      program.launches[j] = {plan.model->kernels[launch.kernel()], next,
                             launch.units()};
      for (const fb::Operand *operand : *launch.operands())
        *next++ = resolve(*session, program, *operand);
    }
  }
  SDC_TRY(session->pool.start(plan.threads, workers, error));
  out = reinterpret_cast<DeviceSession *>(session);
  return SDC_OK;
}

static void destroy(DeviceSession *session) { own(session)->pool.stop(); }

static Program &program(CpuSession &session, Use use) {
  return session.programs[unsigned(session.plan.owner(use))];
}

static void *view(DeviceSession *session, Use use, uint32_t binding) {
  const fb::Entry &entry = own(session)->plan.entry(use);
  return program(*own(session), use).arena +
         entry.bindings()->Get(binding)->offset();
}

//===- Runs ---------------------------------------------------------------===//

/// One thread's share of all launches.
static void runLaunches(void *context, uint32_t thread) {
  CpuSession &session = *static_cast<CpuSession *>(context);
  const Program &program = *session.running;
  FloatingPointState floatingPoint;
  void *scratch = session.scratch + thread * session.scratchStride;
  uint64_t threads = session.pool.size();
  bool measures = program.times && thread == 0;
  uint64_t before = measures ? nanoseconds() : 0;
  for (uint32_t i = 0; i < program.count; ++i) {
    const Launch &launch = program.launches[i];
    uint64_t begin = launch.units * uint64_t{thread} / threads;
    uint64_t end = launch.units * (uint64_t{thread} + 1) / threads;
    if (begin != end)
      launch.kernel(launch.operands, int64_t(begin), int64_t(end), scratch);
    // After the last launch the pool brings the threads together. What is
    // finished is not thrown away, so a request to cancel comes too late there.
    bool last = i + 1 == program.count;
    if (last && !program.times)
      return;
    bool stop = session.pool.barrier([&] {
      session.cancelled =
          !last && session.cancel->load(std::memory_order_relaxed) != 0;
      return session.cancelled;
    });
    if (measures) {
      uint64_t now = nanoseconds();
      program.times[i].runs += 1;
      program.times[i].nanoseconds += now - before;
      before = now;
    }
    if (stop)
      return;
  }
}

static sdc_status run(DeviceSession *device, Use use,
                      const std::atomic<uint32_t> &cancel, sdc_error *) {
  CpuSession &session = *own(device);
  session.running = &program(session, use);
  session.cancel = &cancel;
  session.cancelled = false;
  session.pool.run(runLaunches, &session);
  return session.cancelled ? SDC_CANCELLED : SDC_OK;
}

static LaunchTime *times(DeviceSession *session, Use use) {
  return program(*own(session), use).times;
}

//===- States -------------------------------------------------------------===//

static sdc_status readRows(DeviceSession *device, StateRows rows, void *out,
                           sdc_error *) {
  CpuSession &session = *own(device);
  const State &state = session.states[rows.state];
  uint64_t bytes = rows.count * state.row;
  for (uint64_t head = 0; head < state.heads; ++head)
    memcpy(static_cast<uint8_t *>(out) + head * bytes,
           session.row(state, rows.slot, head, rows.first), bytes);
  return SDC_OK;
}

static sdc_status writeRows(DeviceSession *device, StateRows rows,
                            const void *bytes, sdc_error *) {
  CpuSession &session = *own(device);
  const State &state = session.states[rows.state];
  uint64_t size = rows.count * state.row;
  for (uint64_t head = 0; head < state.heads; ++head)
    memcpy(session.row(state, rows.slot, head, rows.first),
           static_cast<const uint8_t *>(bytes) + head * size, size);
  return SDC_OK;
}

static sdc_status copySlot(DeviceSession *device, uint32_t from, uint32_t to,
                           uint32_t count, sdc_error *) {
  CpuSession &session = *own(device);
  uint32_t states = session.plan.model->root().states()->size();
  for (uint32_t i = 0; i < states; ++i) {
    const State &state = session.states[i];
    for (uint64_t head = 0; head < state.heads; ++head)
      memcpy(session.row(state, to, head, 0), session.row(state, from, head, 0),
             count * state.row);
  }
  return SDC_OK;
}

static bool canLoop(DeviceSession *) { return false; }

static constexpr Device kDevice = {
    measure,  create, destroy, view,    run,     readRows, writeRows,
    copySlot, times,  canLoop, nullptr, nullptr, nullptr};

const Device &sdc::rt::cpuDevice() { return kDevice; }
