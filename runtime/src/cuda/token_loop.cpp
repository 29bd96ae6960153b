// Greedy decode steps in a row: the device feeds itself, the host reads tokens
// from a ring as they arrive and keeps a few steps under way.

#include "runtime/src/cuda/cuda_session.h"
#include "runtime/src/cuda/launch.h"

#include <cstring>
#include <ctime>
#include <sched.h>

using namespace sdc;
using namespace sdc::rt;
using namespace sdc::rt::cuda;

bool cuda::canLoop(DeviceSession *device) {
  return own(device).loopStep != nullptr;
}

static DevicePointer addressOf(const Program &program, fb::Role role) {
  for (const fb::Binding *binding : *program.entry->bindings())
    if (binding->role() == role)
      return program.arena + binding->offset();
  return 0;
}

sdc_status cuda::makeLoop(CudaSession &session, sdc_error *error) {
  const fb::CudaFunction *greedy = session.residence->image->greedy();
  // A measured step is no graph, and one with taps is looked at by the host.
  if (!greedy || session.plan.profile || !session.plan.has(Use::Decode) ||
      session.plan.model->root().recording())
    return SDC_OK;
  const Program &program = session.program(Use::Decode);
  DevicePointer logits = addressOf(program, fb::Role::Logits),
                tokens = addressOf(program, fb::Role::Tokens),
                positions = addressOf(program, fb::Role::Positions),
                slots = addressOf(program, fb::Role::Slots),
                loop = session.loopOnDevice;
  int64_t vocabulary = session.plan.model->root().model()->vocabulary();
  void *parameters[] = {&logits,    &vocabulary, &tokens,
                        &positions, &slots,      &loop};
  auto record = [&](Stream stream) {
    SDC_TRY(launchAll(session, program, stream, error));
    return launch(session.driver(), *greedy, session.residence->greedy,
                  parameters, stream, /*programmatic=*/true, error);
  };
  return makeGraph(session.driver(), session.loopStep, record, error);
}

/// Puts as many steps under way as may be.
static sdc_status launchSteps(CudaSession &session, sdc_error *error) {
  while (session.launched < session.limit &&
         session.launched < session.taken + kAhead) {
    SDC_CUDA_TRY(session.driver(), cuGraphLaunch, session.loopStep,
                 session.stream);
    ++session.launched;
  }
  return SDC_OK;
}

sdc_status cuda::startLoop(DeviceSession *device, TokenLoop from,
                           sdc_error *error) {
  CudaSession &session = own(device);
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  const Program &program = session.program(Use::Decode);
  uint32_t rows = program.entry->batch();
  const auto &bindings = *program.entry->bindings();
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    auto *view = reinterpret_cast<int32_t *>(program.views[i]);
    fb::Role role = bindings.Get(i)->role();
    for (uint32_t row = 0; row < rows; ++row) {
      bool goesOn = row == from.slot;
      if (role == fb::Role::Tokens)
        view[row] = goesOn ? from.token : 0;
      else if (role == fb::Role::Positions)
        view[row] = goesOn ? int32_t(from.position) : -1;
      else if (role == fb::Role::Slots)
        view[row] = row < session.plan.slots ? int32_t(row) : 0;
    }
  }
  *session.loop = {};
  session.loop->ring = session.ring;
  session.loop->ringSize = kRing;
  session.loop->rows = rows;
  session.loop->row = from.slot;
  session.loop->position = from.position;
  memset(session.ring, 0, kRing * sizeof(*session.ring));
  session.limit = from.steps;
  session.launched = session.taken = 0;
  SDC_TRY(copyBindings(session, program, /*in=*/true, session.stream, error));
  SDC_CUDA_TRY(driver, cuMemcpyHtoDAsync, session.loopOnDevice, session.loop,
               sizeof(*session.loop), session.stream);
  return launchSteps(session, error);
}

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// Gives the processor away between looks for a while, then sleeps between
/// them: steps ahead keep the device busy.
static sdc_status waitFor(CudaSession &session, uint32_t step, uint64_t &entry,
                          sdc_error *error) {
  constexpr uint64_t patience = 500'000, between = 2'000'000;
  const uint64_t *place = session.ring + step % kRing;
  uint64_t start = nanoseconds(), looked = start;
  for (;;) {
    entry = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (entry >> 32 == uint64_t{step} + 1)
      return SDC_OK;
    uint64_t now = nanoseconds();
    if (now - looked > between) {
      // A kernel that failed will never write a token.
      looked = now;
      Result result = session.driver().cuStreamQuery(session.stream);
      if (result == kNotReady)
        continue;
      SDC_TRY(check(session.driver(), result, "a decode step", error));
      if (__atomic_load_n(place, __ATOMIC_ACQUIRE) >> 32 != uint64_t{step} + 1)
        return fail(error, SDC_DEVICE_FAILED,
                    "the device ended step %u without a token", step);
    }
    if (now - start < patience) {
      sched_yield();
    } else {
      timespec pause = {0, 20'000};
      nanosleep(&pause, nullptr);
    }
  }
}

sdc_status cuda::nextToken(DeviceSession *device, int32_t &token,
                           sdc_error *error) {
  CudaSession &session = own(device);
  Current current(session.driver(), session.residence->context);
  SDC_TRY(current.status(error));
  SDC_TRY(launchSteps(session, error));
  uint64_t entry = 0;
  SDC_TRY(waitFor(session, session.taken, entry, error));
  ++session.taken;
  token = int32_t(uint32_t(entry));
  return SDC_OK;
}

sdc_status cuda::endLoop(DeviceSession *device, uint32_t &ahead,
                         sdc_error *error) {
  CudaSession &session = own(device);
  const Driver &driver = session.driver();
  Current current(driver, session.residence->context);
  SDC_TRY(current.status(error));
  ahead = session.launched - session.taken;
  SDC_TRY(copyBindings(session, session.program(Use::Decode), /*in=*/false,
                       session.stream, error));
  SDC_CUDA_TRY(driver, cuStreamSynchronize, session.stream);
  return SDC_OK;
}
