// raise-open-entries: gives every decoder entry the positions and slots of its
// rows as arguments, and every value the type that its shape over P allows.

#include "compiler/Passes.h"
#include "compiler/Raise/RaiseRewriter.h"

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

namespace sdc {
#define GEN_PASS_DEF_OPENENTRIESPASS
#include "compiler/Passes.h.inc"
} // namespace sdc

static void addArgument(GraphOp graph, StringRef role, ArrayRef<int64_t> shape,
                        ArrayRef<AffineExpr> dims) {
  MLIRContext *context = graph.getContext();
  Builder builder(context);
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  AffineMap map = AffineMap::get(0, 1, dims, context);
  DictionaryAttr attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(GraphOp::kName, builder.getStringAttr(role)),
       builder.getNamedAttr(GraphOp::kRole, builder.getStringAttr(role)),
       builder.getNamedAttr(GraphOp::kDims, AffineMapAttr::get(map))});
  (void)graph.insertArgument(graph.getNumArguments(), type, attributes,
                             graph.getLoc());
}

namespace {
struct OpenEntriesPass
    : public sdc::impl::OpenEntriesPassBase<OpenEntriesPass> {
  using OpenEntriesPassBase::OpenEntriesPassBase;

  void runOnOperation() override {
    for (auto graph : getOperation().getOps<GraphOp>()) {
      for (unsigned i = 0, e = graph.getNumArguments(); i < e; ++i) {
        if (graph.getArgRole(i) != "input_ids")
          continue;
        auto ids = cast<RankedTensorType>(graph.getArgument(i).getType());
        AffineExpr batch =
            getAffineConstantExpr(ids.getDimSize(0), &getContext());
        AffineExpr rows =
            getAffineConstantExpr(ids.getDimSize(1), &getContext());
        addArgument(graph, RaiseRewriter::kPositionsRole, ids.getShape(),
                    {batch, rows});
        addArgument(graph, RaiseRewriter::kSlotsRole,
                    ids.getShape().take_front(), {batch});
      }
    }
  }
};
} // namespace
