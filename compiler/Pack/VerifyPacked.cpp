// Ends the pack room: all weights are bytes of files in their compiled form.

#include "compiler/Passes.h"
#include "compiler/Weights/LinearNames.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_VERIFYPACKEDPASS
#include "compiler/Passes.h.inc"

namespace {

struct VerifyPackedPass : impl::VerifyPackedPassBase<VerifyPackedPass> {
  void runOnOperation() override {
    bool bad = false;
    auto complain = [&](Operation *op, const Twine &what) {
      op->emitOpError(what);
      bad = true;
    };
    getOperation().walk([&](Operation *op) {
      if (isa<decode::LinearOp>(op))
        return complain(op, "is left after pack, expected an nm.linear");
      if (auto linear = dyn_cast<nm::LinearOp>(op)) {
        if (!isa<nm::PackedType>(linear.getWeight().getType()))
          complain(op, "the weight is not packed");
        else if (!loadOf(linear.getWeight()))
          complain(op, "expected decode.load to give the weight");
      } else if (auto packed = dyn_cast<nm::WeightOp>(op)) {
        if (!isa<decode::FileAttr>(packed.getSource()))
          complain(op, "expected bytes of a file");
      } else if (auto plain = dyn_cast<decode::WeightOp>(op)) {
        if (!isa<decode::FileAttr>(plain.getSource()) || plain.getViewAttr())
          complain(op, "expected bytes of a file, without a view");
      }
    });
    if (bad)
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
