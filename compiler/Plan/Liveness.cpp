// One walk over the launches of an entry; see Liveness.h.

#include "compiler/Plan/Liveness.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sdc {

namespace {
struct Touches {
  int64_t first = 0, last = 0;
  bool touched = false, written = false;
};
} // namespace

FailureOr<Liveness> computeLiveness(exec::EntryOp entry) {
  llvm::DenseMap<Value, Touches> touches;
  Block &body = entry.getBody().front();
  for (auto bind : body.getOps<exec::BindOp>())
    if (bind.isHostInput())
      touches[bind.getBuffer()].written = true;

  bool sound = true;
  int64_t step = 0;
  for (auto launch : body.getOps<exec::LaunchOp>()) {
    for (auto [index, operand] : llvm::enumerate(launch.getOperands())) {
      if (!operand.getDefiningOp<exec::BufferOp>())
        continue;
      Touches &touch = touches[operand];
      if (launch.reads(index) && !touch.written) {
        launch.emitOpError("reads operand ")
            << index << " before anything is written to it";
        sound = false;
        touch.written = true; // Said once.
      }
      touch.written |= launch.writes(index);
      touch.first = touch.touched ? touch.first : step;
      touch.last = step;
      touch.touched = true;
    }
    ++step;
  }

  for (auto bind : body.getOps<exec::BindOp>()) {
    Touches &touch = touches[bind.getBuffer()];
    if (!touch.written) {
      bind.emitOpError("nothing writes ")
          << exec::stringifyRole(bind.getRole()) << " \""
          << bind.getBindingName() << "\"";
      sound = false;
    }
    touch.first = -1;
    touch.last = step;
    touch.touched = true;
  }

  Liveness liveness;
  for (auto buffer : body.getOps<exec::BufferOp>()) {
    const Touches &touch = touches[buffer.getResult()];
    if (!touch.touched) {
      buffer.emitOpError("no launch and no binding uses it");
      sound = false;
    }
    liveness.buffers.push_back(buffer);
    liveness.lifetimes.push_back({buffer.getSize(), touch.first, touch.last});
  }
  if (!sound)
    return failure();
  return liveness;
}

} // namespace sdc
