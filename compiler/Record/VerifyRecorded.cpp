// Ends the record room: every input of a linear has a key, the same in all
// entries.

#include "compiler/Passes.h"
#include "compiler/Weights/LinearNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_VERIFYRECORDEDPASS
#include "compiler/Passes.h.inc"

namespace {

using Keys = llvm::MapVector<StringRef, SmallVector<decode::RecordOp>>;

struct VerifyRecordedPass : impl::VerifyRecordedPassBase<VerifyRecordedPass> {
  void runOnOperation() override {
    Keys first;
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      Keys keys;
      if (failed(collect(entry, keys)))
        signalPassFailure();
      // Only one entry may have a linear: a plain graph has no prefill.
      for (auto &[linear, marks] : keys) {
        auto [it, fresh] = first.insert({linear, marks});
        if (fresh || llvm::equal(it->second, marks, sameKey))
          continue;
        marks.front().emitOpError("the input of '")
            << linear << "' has another key than '"
            << it->second.front().getKey() << "', its key in '"
            << it->second.front()->getParentOfType<func::FuncOp>().getName()
            << "'";
        signalPassFailure();
      }
    }
  }

  static bool sameKey(decode::RecordOp a, decode::RecordOp b) {
    return a.getKey() == b.getKey();
  }

  /// The marks of each linear of one entry; several where linears share a
  /// weight. Fails if a key has two inputs or an input no key.
  LogicalResult collect(func::FuncOp entry, Keys &keys) {
    bool bad = false;
    llvm::StringMap<decode::RecordOp> inputs;
    entry.walk([&](decode::RecordOp mark) {
      auto [it, fresh] = inputs.try_emplace(mark.getKey(), mark);
      if (fresh)
        return;
      bad = true;
      InFlightDiagnostic diagnostic = mark.emitOpError("a second input has ")
                                      << "the key '" << mark.getKey() << "'";
      diagnostic.attachNote(it->second.getLoc()) << "the first is here";
    });
    entry.walk([&](decode::LinearOp linear) {
      auto mark = linear.getX().getDefiningOp<decode::RecordOp>();
      decode::LoadOp load = loadOf(linear.getWeight());
      if (mark && load) {
        keys[load.getWeight()].push_back(mark);
        return;
      }
      bad = true;
      linear.emitOpError(mark ? "expected decode.load to give the weight"
                              : "expected decode.record to give the input");
    });
    return failure(bad);
  }
};

} // namespace
} // namespace sdc
