// The pass choose-cache-type: what keys and values are kept as.

#include "compiler/Passes.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_CHOOSECACHETYPEPASS
#include "compiler/Passes.h.inc"

namespace {

struct ChooseCacheTypePass
    : impl::ChooseCacheTypePassBase<ChooseCacheTypePass> {
  using ChooseCacheTypePassBase::ChooseCacheTypePassBase;

  decode::CacheType chosen(decode::CacheType cache) {
    Builder builder(cache.getContext());
    Type element = type == "f32"    ? Type(builder.getF32Type())
                   : type == "f16"  ? Type(builder.getF16Type())
                   : type == "bf16" ? Type(builder.getBF16Type())
                   : cache.getElementType().isF32()
                       ? Type(builder.getBF16Type())
                       : cache.getElementType();
    return decode::CacheType::get(cache.getContext(), cache.getSlots(),
                                  cache.getHeads(), cache.getPositions(),
                                  cache.getHeadSize(), element);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (type != "auto" && type != "f32" && type != "f16" && type != "bf16") {
      module.emitError("no type '")
          << type << "' of a cache, expected auto, f32, f16 or bf16";
      return signalPassFailure();
    }
    module.walk([&](Operation *op) {
      if (auto state = dyn_cast<decode::StateOp>(op))
        state.setType(chosen(state.getCacheType()));
      for (Value result : op->getResults())
        if (auto cache = dyn_cast<decode::CacheType>(result.getType()))
          result.setType(chosen(cache));
    });
  }
};

} // namespace
} // namespace sdc
