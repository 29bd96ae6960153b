// A GPU as a device. All addresses of a step are resolved when the session is
// made, and its launches are one graph with programmatic edges: a run is one
// call of the driver and a wait.

#include "runtime/src/cuda/cuda_session.h"
#include "runtime/src/cuda/launch.h"
#include "runtime/src/layout.h"
#include "runtime/src/shapes.h"

#include <cinttypes>
#include <cstring>
#include <new>

using namespace sdc;
using namespace sdc::rt;
using namespace sdc::rt::cuda;

//===- Memory -------------------------------------------------------------===//

static bool goesIn(fb::Role role) {
  return role == fb::Role::Tokens || role == fb::Role::Positions ||
         role == fb::Role::Slots || role == fb::Role::Input;
}

static uint64_t bytesOf(const fb::Binding &binding) {
  uint64_t bytes = 0;
  ShapeProblem problem;
  // Checked when the file was opened.
  shapeBytes(binding.shape(), binding.element(), bytes, problem);
  return bytes;
}

/// Bytes of a state, with slots and context of the session.
static Size stateSize(const SessionPlan &plan, const fb::State &state) {
  Size bytes = Size(plan.slots) * Size(state.heads()) * Size(plan.context) *
               Size(state.head_size()) * Size(elementSize(state.element()));
  return bytes.alignedTo(kDeviceAlignment);
}

namespace {
/// The three memories of a session, laid out once to measure and once more,
/// with the same calls, to fill.
struct Places {
  Layout block;
  Layout pinned;
  /// Of the device: only offsets.
  Size device;

  Size take(Size bytes) {
    Size begin = device;
    device = begin + bytes.alignedTo(kDeviceAlignment);
    return begin;
  }
};
} // namespace

/// Fills `session` unless that is null; addresses of the device begin at 0.
static void layOut(const SessionPlan &plan, Places &places,
                   DeviceMemory &memory, CudaSession *session) {
  const fb::Executable &root = plan.model->root();
  places.block.take<CudaSession>(1);
  auto *states = places.block.take<State>(root.states()->size());
  auto *loop = places.pinned.take<DeviceLoop>(1);
  auto *ring = places.pinned.take<uint64_t>(kRing);
  Size params = places.take(sizeof(Params));
  Size loopOnDevice = places.take(sizeof(DeviceLoop));
  uint64_t mostOperands = 0;
  for (uint32_t i = 0; i < kUses; ++i) {
    if (!plan.owns(Use(i)))
      continue;
    const fb::Entry &entry = plan.entry(Use(i));
    uint64_t operands = 0;
    for (const fb::Launch *launch : *entry.launches()) {
      uint64_t count = launch->operands()->size();
      mostOperands = count > mostOperands ? count : mostOperands;
      operands += count;
    }
    uint32_t launches = entry.launches()->size();
    Program program = {};
    program.entry = &entry;
    program.operands = places.block.take<DevicePointer>(operands);
    program.views = places.block.take<uint8_t *>(entry.bindings()->size());
    program.times = places.block.take<LaunchTime>(plan.profile ? launches : 0);
    program.events =
        places.block.take<Event>(plan.profile ? uint64_t{launches} + 1 : 0);
    for (uint32_t j = 0; j < entry.bindings()->size(); ++j) {
      uint8_t *view =
          places.pinned.takeBytes(bytesOf(*entry.bindings()->Get(j)));
      if (session)
        program.views[j] = view;
    }
    Size arena = places.take(entry.arena_size());
    memory.arena =
        memory.arena + Size(entry.arena_size()).alignedTo(kDeviceAlignment);
    program.arena = arena.value;
    if (!plan.profile) {
      program.times = nullptr;
      program.events = nullptr;
    }
    if (session)
      session->programs[i] = program;
  }
  auto *parameters = places.block.take<void *>(mostOperands);
  for (uint32_t i = 0; i < root.states()->size(); ++i) {
    const fb::State &state = *root.states()->Get(i);
    Size begin = places.take(stateSize(plan, state));
    memory.deviceStates = memory.deviceStates + stateSize(plan, state);
    if (session)
      states[i] = {begin.value, state.heads(),
                   state.head_size() * elementSize(state.element())};
  }
  if (session) {
    session->states = states;
    session->loop = loop;
    session->ring = ring;
    session->params = params.value;
    session->loopOnDevice = loopOnDevice.value;
    session->parameters = parameters;
  }
}

static sdc_status measure(const SessionPlan &plan, DeviceMemory &memory,
                          sdc_error *) {
  memory = DeviceMemory();
  Places places;
  layOut(plan, places, memory, nullptr);
  memory.block = places.block.size();
  memory.pinned = places.pinned.size();
  memory.device = places.device;
  memory.deviceWeights = weightsOnDevice(plan.model->root());
  return SDC_OK;
}

//===- Runs ---------------------------------------------------------------===//

sdc_status cuda::copyBindings(CudaSession &session, const Program &program,
                              bool in, Stream stream, sdc_error *error) {
  const auto &bindings = *program.entry->bindings();
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    const fb::Binding &binding = *bindings.Get(i);
    if (goesIn(binding.role()) != in)
      continue;
    DevicePointer there = program.arena + binding.offset();
    if (in)
      SDC_CUDA_TRY(session.driver(), cuMemcpyHtoDAsync, there, program.views[i],
                   bytesOf(binding), stream);
    else
      SDC_CUDA_TRY(session.driver(), cuMemcpyDtoHAsync, program.views[i], there,
                   bytesOf(binding), stream);
  }
  return SDC_OK;
}

/// Launch number `index`, whose operands begin at `operands`.
static sdc_status launchOne(CudaSession &session, const Program &program,
                            uint32_t index, DevicePointer *operands,
                            Stream stream, bool programmatic,
                            sdc_error *error) {
  const fb::Launch &given = *program.entry->launches()->Get(index);
  for (uint32_t i = 0; i < given.operands()->size(); ++i)
    session.parameters[i] = operands + i;
  const Residence &residence = *session.residence;
  return launch(session.driver(),
                *residence.image->functions()->Get(given.kernel()),
                residence.functions[given.kernel()], session.parameters, stream,
                programmatic, error);
}

sdc_status cuda::launchAll(CudaSession &session, const Program &program,
                           Stream stream, sdc_error *error) {
  DevicePointer *operands = program.operands;
  const auto &launches = *program.entry->launches();
  for (uint32_t i = 0; i < launches.size(); ++i) {
    // What comes before the first is no kernel.
    SDC_TRY(launchOne(session, program, i, operands, stream,
                      /*programmatic=*/i > 0, error));
    operands += launches.Get(i)->operands()->size();
  }
  return SDC_OK;
}

/// A step whose launches are measured: each begins when the one before it has
/// ended, so the sum is more than a step takes that is not measured.
static sdc_status runMeasured(CudaSession &session, const Program &program,
                              sdc_error *error) {
  const Driver &driver = session.driver();
  DevicePointer *operands = program.operands;
  const auto &launches = *program.entry->launches();
  SDC_TRY(copyBindings(session, program, /*in=*/true, session.stream, error));
  for (uint32_t i = 0; i < launches.size(); ++i) {
    SDC_CUDA_TRY(driver, cuEventRecord, program.events[i], session.stream);
    SDC_TRY(launchOne(session, program, i, operands, session.stream,
                      /*programmatic=*/false, error));
    operands += launches.Get(i)->operands()->size();
  }
  SDC_CUDA_TRY(driver, cuEventRecord, program.events[launches.size()],
               session.stream);
  SDC_TRY(copyBindings(session, program, /*in=*/false, session.stream, error));
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  for (uint32_t i = 0; i < launches.size(); ++i) {
    float milliseconds = 0;
    SDC_CUDA_TRY(driver, cuEventElapsedTime, &milliseconds, program.events[i],
                 program.events[i + 1]);
    program.times[i].runs += 1;
    program.times[i].nanoseconds += uint64_t(double(milliseconds) * 1e6);
  }
  return SDC_OK;
}

/// A step is short and goes on to its end: a request to cancel that comes
/// meanwhile is for the next.
static sdc_status run(DeviceSession *device, Use use,
                      const std::atomic<uint32_t> &, sdc_error *error) {
  CudaSession &session = own(device);
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  const Program &program = session.program(use);
  if (program.times)
    return runMeasured(session, program, error);
  SDC_CUDA_TRY(driver, cuGraphLaunch, program.step, session.stream);
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  return SDC_OK;
}

static void *view(DeviceSession *device, Use use, uint32_t binding) {
  return own(device).program(use).views[binding];
}

static LaunchTime *times(DeviceSession *device, Use use) {
  return own(device).program(use).times;
}

//===- Life ---------------------------------------------------------------===//

static void destroy(DeviceSession *device) {
  CudaSession &session = own(device);
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  if (session.stream || !session.ownsStream)
    driver.cuStreamSynchronize(session.stream);
  for (Program &program : session.programs) {
    if (program.step)
      driver.cuGraphExecDestroy(program.step);
    for (uint32_t i = 0;
         program.events && i <= program.entry->launches()->size(); ++i)
      if (program.events[i])
        driver.cuEventDestroy(program.events[i]);
  }
  if (session.loopStep)
    driver.cuGraphExecDestroy(session.loopStep);
  if (session.memory) {
    const sdc_allocator &allocator = session.plan.deviceAllocator;
    if (allocator.release)
      allocator.release(allocator.user,
                        reinterpret_cast<void *>(session.memory),
                        session.memoryBytes, kDeviceAlignment);
    else
      driver.cuMemFree(session.memory);
  }
  if (session.pinned)
    driver.cuMemFreeHost(session.pinned);
  if (session.ownsStream && session.stream)
    driver.cuStreamDestroy(session.stream);
}

static sdc_status allocate(CudaSession &session, const DeviceMemory &memory,
                           sdc_error *error) {
  const Driver &driver = session.driver();
  const sdc_allocator &allocator = session.plan.deviceAllocator;
  session.memoryBytes = memory.device.value;
  if (allocator.allocate)
    session.memory = reinterpret_cast<DevicePointer>(allocator.allocate(
        allocator.user, session.memoryBytes, kDeviceAlignment));
  else if (Result result =
               driver.cuMemAlloc(&session.memory, session.memoryBytes);
           result != kSuccess && result != kOutOfMemory)
    return check(driver, result, "cuMemAlloc", error);
  if (!session.memory)
    return fail(error, SDC_OUT_OF_MEMORY,
                "no memory for a session on cuda:%u: %" PRIu64 " bytes",
                session.plan.deviceIndex, session.memoryBytes);
  void *pinned = nullptr;
  SDC_CUDA_TRY(driver, cuMemHostAlloc, &pinned, memory.pinned.value, 0);
  memset(pinned, 0, memory.pinned.value);
  session.pinned = static_cast<uint8_t *>(pinned);
  return SDC_OK;
}

static DevicePointer resolve(const CudaSession &session, const Program &program,
                             const fb::Operand &operand) {
  switch (operand.kind()) {
  case fb::OperandKind::Arena:
    return program.arena + operand.offset();
  case fb::OperandKind::Weight:
    return session.residence->weight(session.plan.model->root(),
                                     operand.index()) +
           operand.offset();
  case fb::OperandKind::State:
    return session.states[operand.index()].bytes;
  case fb::OperandKind::Params:
    return session.params;
  }
  return 0;
}

/// Turns offsets into addresses.
static void place(CudaSession &session) {
  session.params += session.memory;
  session.loopOnDevice += session.memory;
  for (uint32_t i = 0; i < session.plan.model->root().states()->size(); ++i)
    session.states[i].bytes += session.memory;
  for (Program &program : session.programs) {
    if (!program.entry)
      continue;
    program.arena += session.memory;
    DevicePointer *next = program.operands;
    for (const fb::Launch *launch : *program.entry->launches())
      for (const fb::Operand *operand : *launch->operands())
        *next++ = resolve(session, program, *operand);
  }
}

/// Clears the memory: counters in arenas start at zero, and states hold
/// numbers.
static sdc_status initialise(CudaSession &session, sdc_error *error) {
  const Driver &driver = session.driver();
  SDC_CUDA_TRY(driver, cuMemsetD8Async, session.memory, 0, session.memoryBytes,
               session.stream);
  Params params = {session.plan.context, session.plan.slots};
  memcpy(session.pinned, &params, sizeof(params));
  SDC_CUDA_TRY(driver, cuMemcpyHtoDAsync, session.params, session.pinned,
               sizeof(params), session.stream);
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  memset(session.pinned, 0, sizeof(params));
  return SDC_OK;
}

static sdc_status prepare(CudaSession &session, Program &program,
                          sdc_error *error) {
  const Driver &driver = session.driver();
  if (program.times) {
    for (uint32_t i = 0; i <= program.entry->launches()->size(); ++i)
      SDC_CUDA_TRY(driver, cuEventCreate, &program.events[i], 0);
    return SDC_OK;
  }
  auto record = [&](Stream stream) {
    SDC_TRY(copyBindings(session, program, /*in=*/true, stream, error));
    SDC_TRY(launchAll(session, program, stream, error));
    return copyBindings(session, program, /*in=*/false, stream, error);
  };
  return makeGraph(driver, program.step, record, error);
}

static sdc_status fill(CudaSession &session, const DeviceMemory &memory,
                       void *block, sdc_error *error) {
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  SDC_TRY(allocate(session, memory, error));
  Places places = {Layout(block), Layout(session.pinned), {}};
  DeviceMemory again;
  layOut(session.plan, places, again, &session);
  place(session);
  session.stream = static_cast<Stream>(session.plan.stream);
  if (!session.stream) {
    session.ownsStream = true;
    SDC_CUDA_TRY(driver, cuStreamCreate, &session.stream, kNonBlocking);
  }
  SDC_TRY(initialise(session, error));
  for (Program &program : session.programs)
    if (program.entry)
      SDC_TRY(prepare(session, program, error));
  return makeLoop(session, error);
}

static sdc_status create(const SessionPlan &plan, void *block, void *,
                         DeviceSession *&out, sdc_error *error) {
  DeviceMemory memory;
  SDC_TRY(measure(plan, memory, error));
  Residence *residence = nullptr;
  uint64_t fromDriver = plan.deviceAllocator.allocate ? 0 : memory.device.value;
  SDC_TRY(moveIn(*plan.model, plan.deviceIndex, fromDriver, residence, error));
  auto *session = new (block) CudaSession();
  session->plan = plan;
  session->residence = residence;
  out = reinterpret_cast<DeviceSession *>(session);
  sdc_status status = fill(*session, memory, block, error);
  if (status != SDC_OK)
    destroy(out);
  return status;
}

//===- States -------------------------------------------------------------===//

/// Of row `first` of head 0 of a slot.
static DevicePointer rowAddress(const CudaSession &session, const State &state,
                                uint64_t slot, uint64_t first) {
  return state.bytes +
         (slot * state.heads * session.plan.context + first) * state.row;
}

/// Rows of all heads to or from [heads, count, head_size] of the host.
static sdc_status copyRows(CudaSession &session, StateRows rows, void *out,
                           const void *in, sdc_error *error) {
  if (rows.count == 0)
    return SDC_OK;
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  const State &state = session.states[rows.state];
  DevicePointer there = rowAddress(session, state, rows.slot, rows.first);
  uint64_t pitch = uint64_t{session.plan.context} * state.row;
  Copy2D copy = {};
  copy.width = rows.count * state.row;
  copy.height = state.heads;
  if (out) {
    copy.sourceMemory = Copy2D::kDevice;
    copy.sourceDevice = there;
    copy.sourcePitch = pitch;
    copy.targetMemory = Copy2D::kHost;
    copy.targetHost = out;
    copy.targetPitch = copy.width;
  } else {
    copy.sourceMemory = Copy2D::kHost;
    copy.sourceHost = in;
    copy.sourcePitch = copy.width;
    copy.targetMemory = Copy2D::kDevice;
    copy.targetDevice = there;
    copy.targetPitch = pitch;
  }
  SDC_CUDA_TRY(driver, cuMemcpy2DAsync, &copy, session.stream);
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  return SDC_OK;
}

static sdc_status readRows(DeviceSession *device, StateRows rows, void *out,
                           sdc_error *error) {
  return copyRows(own(device), rows, out, nullptr, error);
}

static sdc_status writeRows(DeviceSession *device, StateRows rows,
                            const void *bytes, sdc_error *error) {
  return copyRows(own(device), rows, nullptr, bytes, error);
}

static sdc_status copySlot(DeviceSession *device, uint32_t from, uint32_t to,
                           uint32_t count, sdc_error *error) {
  if (count == 0)
    return SDC_OK;
  CudaSession &session = own(device);
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  for (uint32_t i = 0; i < session.plan.model->root().states()->size(); ++i) {
    const State &state = session.states[i];
    Copy2D copy = {};
    copy.width = count * state.row;
    copy.height = state.heads;
    copy.sourceMemory = copy.targetMemory = Copy2D::kDevice;
    copy.sourceDevice = rowAddress(session, state, from, 0);
    copy.targetDevice = rowAddress(session, state, to, 0);
    copy.sourcePitch = copy.targetPitch =
        uint64_t{session.plan.context} * state.row;
    SDC_CUDA_TRY(driver, cuMemcpy2DAsync, &copy, session.stream);
  }
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  return SDC_OK;
}

static constexpr Device kDevice = {
    measure,         create,          destroy,      view,  run,
    readRows,        writeRows,       copySlot,     times, cuda::canLoop,
    cuda::startLoop, cuda::nextToken, cuda::endLoop};

const Device &sdc::rt::cudaDevice() { return kDevice; }
