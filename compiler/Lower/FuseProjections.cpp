// The pass fuse-projections: linears that read the same value become one
// launch.

#include "compiler/Lower/Grouping.h"
#include "compiler/Lower/LinearChain.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "compiler/Passes.h.inc"

namespace {

struct FuseProjectionsPass
    : impl::FuseProjectionsPassBase<FuseProjectionsPass> {
  void runOnOperation() override {
    llvm::MapVector<Value, SmallVector<Operation *>> linearsOf;
    for (Block &block : getOperation().getBody())
      for (auto linear : block.getOps<nm::LinearOp>())
        linearsOf[linear.getX()].push_back(linear);
    for (auto &[x, linears] : linearsOf)
      if (linears.size() > 1 && canGroupAtFirst(linears))
        groupAtFirst(linears);
  }
};

} // namespace
} // namespace sdc
