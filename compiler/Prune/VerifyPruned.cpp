// Ends the prune room: every linear has a pattern or a reason.

#include "compiler/Passes.h"
#include "compiler/Weights/LinearNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_VERIFYPRUNEDPASS
#include "compiler/Passes.h.inc"

namespace {

struct VerifyPrunedPass : impl::VerifyPrunedPassBase<VerifyPrunedPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    bool bad = false;
    auto complain = [&](Operation *op, const Twine &what) {
      op->emitOpError(what);
      bad = true;
    };
    getOperation().walk([&](Operation *op) {
      if (isa<decode::RecordOp>(op))
        return complain(op, "is left after prune");
      auto sparse = dyn_cast<nm::LinearOp>(op);
      if (!sparse && !isa<decode::LinearOp>(op))
        return;
      decode::LoadOp load = loadOf(op->getOperand(1));
      auto weight = load ? symbols.lookup<decode::WeightOp>(load.getWeight())
                         : decode::WeightOp();
      if (!weight)
        return complain(op, "expected a decode.weight to give the weight");
      auto report = weight->getAttrOfType<nm::ReportAttr>(nm::kReportAttr);
      if (!report)
        return complain(op, "its weight has no report");
      Pattern own =
          sparse ? sparse.getWeightPattern().getValue() : Pattern::dense();
      if (own != report.getPattern().getValue())
        return complain(op, "has the pattern " + own.str() +
                                ", the report of "
                                "its weight says " +
                                report.getPattern().getValue().str());
      if (own.isDense() && report.getNotes().empty())
        complain(op, "is dense without a reason");
    });
    if (bad)
      signalPassFailure();
  }
};

} // namespace
} // namespace sdc
