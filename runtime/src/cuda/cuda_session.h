// The CUDA device's half of a session.

#ifndef SDC_RUNTIME_SRC_CUDA_CUDA_SESSION_H
#define SDC_RUNTIME_SRC_CUDA_CUDA_SESSION_H

#include "runtime/src/cuda/residence.h"
#include "runtime/src/device.h"

namespace sdc::rt::cuda {

/// As the greedy function of an image reads it; executable.fbs says what its
/// members mean.
struct DeviceLoop {
  uint64_t best;
  uint64_t *ring;
  uint32_t ringSize;
  uint32_t step;
  uint32_t arrived;
  uint32_t rows;
  uint32_t row;
  uint32_t position;
};
static_assert(sizeof(DeviceLoop) == 40);

/// Steps that a loop may be ahead of the host.
constexpr uint32_t kAhead = 8;
/// Tokens that are under way; more than kAhead.
constexpr uint32_t kRing = 64;

/// What kernels are told of the session (OperandKind::Params).
struct Params {
  int64_t context;
  int64_t slots;
};

struct State {
  DevicePointer bytes;
  uint64_t heads;
  /// Bytes of one position of one head.
  uint64_t row;
};

/// An entry of the file, ready to run.
struct Program {
  const fb::Entry *entry;
  DevicePointer arena;
  /// Of each launch in turn, all operands.
  DevicePointer *operands;
  /// Of each binding, the host's copy, in pinned memory.
  uint8_t **views;
  /// Inputs to the device, all launches, outputs to the host.
  GraphExec step;
  /// If the session measures: one event before each launch and one at the end.
  LaunchTime *times;
  Event *events;
};

struct CudaSession {
  SessionPlan plan;
  Residence *residence;
  Stream stream;
  bool ownsStream;
  /// All memory on the device, in one piece.
  DevicePointer memory;
  uint64_t memoryBytes;
  DevicePointer params;
  State *states;
  uint8_t *pinned;
  Program programs[kUses];
  /// Addresses of the operands of one launch.
  void **parameters;

  // The token loop.
  DevicePointer loopOnDevice;
  /// In pinned memory: how it starts, and where tokens arrive.
  DeviceLoop *loop;
  uint64_t *ring;
  /// The launches of a decode step and the choice of its token.
  GraphExec loopStep;
  uint32_t limit, launched, taken;

  const Driver &driver() const { return *residence->driver; }
  Program &program(Use use) { return programs[unsigned(plan.owner(use))]; }
};

inline CudaSession &own(DeviceSession *session) {
  return *reinterpret_cast<CudaSession *>(session);
}

/// Puts the launches of an entry on a stream.
sdc_status launchAll(CudaSession &session, const Program &program,
                     Stream stream, sdc_error *error);

/// Copies the bindings that go in, or those that come out.
sdc_status copyBindings(CudaSession &session, const Program &program, bool in,
                        Stream stream, sdc_error *error);

/// Makes a graph of what `record` puts on the stream that it is given.
template <typename Record>
sdc_status makeGraph(const Driver &driver, GraphExec &exec, Record record,
                     sdc_error *error) {
  Stream stream = nullptr;
  SDC_CUDA_TRY(driver, cuStreamCreate, &stream, kNonBlocking);
  Graph graph = nullptr;
  sdc_status status =
      check(driver, driver.cuStreamBeginCapture(stream, kCaptureThreadLocal),
            "cuStreamBeginCapture", error);
  if (status == SDC_OK) {
    status = record(stream);
    // The capture ends in any case; the first failure is the one to tell.
    Result ended = driver.cuStreamEndCapture(stream, &graph);
    if (status == SDC_OK)
      status = check(driver, ended, "cuStreamEndCapture", error);
  }
  if (status == SDC_OK)
    status = check(driver, driver.cuGraphInstantiateWithFlags(&exec, graph, 0),
                   "cuGraphInstantiate", error);
  if (graph)
    driver.cuGraphDestroy(graph);
  driver.cuStreamDestroy(stream);
  return status;
}

// The token loop (token_loop.cpp), as in Device.
bool canLoop(DeviceSession *device);
sdc_status makeLoop(CudaSession &session, sdc_error *error);
sdc_status startLoop(DeviceSession *device, TokenLoop loop, sdc_error *error);
sdc_status nextToken(DeviceSession *device, int32_t &token, sdc_error *error);
sdc_status endLoop(DeviceSession *device, uint32_t &ahead, sdc_error *error);

} // namespace sdc::rt::cuda

#endif // SDC_RUNTIME_SRC_CUDA_CUDA_SESSION_H
