// The pass lower-to-kernels: functions become entries, ops and groups become
// launches, weights and states become those of the executable.

#include "compiler/Lower/KernelCalls.h"
#include "compiler/Lower/ModelNumbers.h"
#include "compiler/Passes.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_LOWERTOKERNELSPASS
#include "compiler/Passes.h.inc"

namespace {

/// One function on its way to an entry.
class EntryLowering {
public:
  EntryLowering(ModuleWords &words, func::FuncOp function, exec::EntryOp entry)
      : function(function), entry(entry), builder(words, entry) {}

  LogicalResult run();

private:
  LogicalResult bindArguments();
  LogicalResult bindResults(func::ReturnOp op);
  LogicalResult bindTap(decode::RecordOp op);
  LogicalResult lower(Operation &op);

  /// The ONNX name of an argument or a result, or what it is called without.
  StringRef nameOf(DictionaryAttr attributes, StringRef otherwise) {
    auto name = attributes ? attributes.getAs<StringAttr>(decode::kNameAttr)
                           : StringAttr();
    return name ? name.getValue() : otherwise;
  }

  func::FuncOp function;
  exec::EntryOp entry;
  EntryBuilder builder;
};

LogicalResult EntryLowering::bindArguments() {
  Type i32 = IntegerType::get(entry.getContext(), 32);
  bool plain = entry.getKind() == exec::EntryKind::Plain;
  static constexpr struct {
    exec::Role role;
    StringLiteral name;
  } kArguments[] = {{exec::Role::Tokens, "input_ids"},
                    {exec::Role::Positions, "position_ids"},
                    {exec::Role::Slots, "slots"}};
  if (!plain && function.getNumArguments() != 3)
    return function.emitOpError("an entry has tokens, positions and slots");

  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() ||
        exec::elementCode(type.getElementType()) < 0)
      return function.emitOpError("argument ")
             << number << " is no tensor that an executable can be given: "
             << argument.getType();
    // Ids are 32 bits wide inside; the host narrows them.
    if (type.getElementType().isInteger(64))
      type = type.clone(i32);
    exec::Role role = plain ? exec::Role::Input : kArguments[number].role;
    if (!plain)
      type = RankedTensorType::get({builder.rows()}, i32);
    Value place = builder.buffer(argument.getLoc(), exec::tensorBytes(type));
    builder.bind(argument, place);
    builder.bindToHost(argument.getLoc(), role, place,
                       nameOf(function.getArgAttrDict(number),
                              plain ? "input" + std::to_string(number)
                                    : kArguments[number].name.str()),
                       type);
  }
  if (!plain) {
    builder.positions = function.getArgument(1);
    builder.slots = function.getArgument(2);
  }
  return success();
}

LogicalResult EntryLowering::bindResults(func::ReturnOp op) {
  bool plain = entry.getKind() == exec::EntryKind::Plain;
  if (!plain && op.getNumOperands() != 1)
    return op.emitOpError("an entry gives the logits and nothing else");
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    Value place = builder.placeOf(value);
    if (!place)
      return failure();
    if (!place.getDefiningOp<exec::BufferOp>())
      return op.emitOpError("result ")
             << number << " is a constant or a state, which no launch gives";
    if (!plain)
      type =
          RankedTensorType::get({type.getNumElements() / type.getShape().back(),
                                 type.getShape().back()},
                                type.getElementType());
    builder.bindToHost(
        op.getLoc(), plain ? exec::Role::Output : exec::Role::Logits, place,
        nameOf(function.getResultAttrDict(number),
               plain ? "output" + std::to_string(number) : "logits"),
        type);
  }
  return success();
}

/// A record is a view of its operand, and a tap of the executable. A tap has
/// all rows of the entry: that of a chosen row is the value it was chosen from.
LogicalResult EntryLowering::bindTap(decode::RecordOp op) {
  Value place = builder.placeOf(op.getX());
  builder.bind(op.getResult(), place);
  Value tapped = op.getX();
  if (auto lastRow = tapped.getDefiningOp<decode::LastRowOp>())
    tapped = lastRow.getX();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tapped.getType()).getShape();
  if (shape[0] * shape[1] != builder.rows())
    return op.emitOpError("records ")
           << shape[0] * shape[1] << " rows of the entry's " << builder.rows();
  Value all = builder.placeOf(tapped);
  if (!place || !all)
    return failure();
  builder.bindToHost(op.getLoc(), exec::Role::Tap, all, op.getKey(),
                     RankedTensorType::get({builder.rows(), shape[2]},
                                           op.getType().getElementType()));
  return success();
}

LogicalResult EntryLowering::lower(Operation &op) {
  // What has no bytes of its own is looked through by those who use it.
  if (isOpTriviallyDead(&op) || op.hasTrait<OpTrait::ConstantLike>() ||
      isa<decode::LoadOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return success();
  if (auto record = dyn_cast<decode::RecordOp>(op))
    return bindTap(record);
  if (auto terminator = dyn_cast<func::ReturnOp>(op))
    return bindResults(terminator);

  for (auto *family : {lowerLinear, lowerRotary, lowerAttention, lowerRows})
    switch (family(&op, builder)) {
    case Lowered::Done:
      return success();
    case Lowered::Failed:
      return failure();
    case Lowered::NotMine:
      break;
    }
  return op.emitOpError("no kernel computes it");
}

LogicalResult EntryLowering::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected a body of one block");
  if (failed(bindArguments()))
    return failure();
  // All that can't be lowered is said, not only the first.
  bool sound = true;
  for (Operation &op : function.getBody().front()) {
    if (succeeded(lower(op)))
      continue;
    sound = false;
    for (Value result : op.getResults())
      builder.bind(result, Value());
  }
  return success(sound);
}

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

/// Notes and pruning of an exec.weight, out of what prune reports.
std::pair<ArrayAttr, exec::PruningAttr> describe(nm::ReportAttr report) {
  if (!report)
    return {};
  Builder builder(report.getContext());
  SmallVector<Attribute> strings(report.getNotes().begin(),
                                 report.getNotes().end());
  ArrayAttr notes =
      strings.empty() ? ArrayAttr() : builder.getArrayAttr(strings);
  if (report.getMethod() == "none")
    return {notes, {}};
  auto number = [&](const APFloat &value) {
    return builder.getF64FloatAttr(value.convertToDouble());
  };
  return {{},
          exec::PruningAttr::get(report.getContext(), report.getMethod(),
                                 number(report.getDamping()),
                                 number(report.getLoss()),
                                 number(report.getRelativeLoss()), notes)};
}

void replaceWeight(decode::WeightOp op) {
  OpBuilder builder(op);
  auto [notes, pruning] =
      describe(op->getAttrOfType<nm::ReportAttr>("nm.report"));
  exec::WeightOp::create(
      builder, op.getLoc(), op.getSymNameAttr(), op.getTypeAttr(),
      IntegerAttr(), IntegerAttr(), StringAttr(),
      builder.getI64IntegerAttr(exec::tensorBytes(op.getTensorType())),
      op.getSource(), op.getViewAttr(), FlatSymbolRefAttr(), IntegerAttr(),
      notes, pruning);
  op.erase();
}

void replaceWeight(nm::WeightOp op) {
  OpBuilder builder(op);
  PackedLayout layout = op.getPackedType().getLayout();
  auto [notes, pruning] = describe(op.getReportAttr());
  bool dense = layout.pattern.isDense();
  auto number = [&](unsigned value) {
    return dense ? IntegerAttr() : builder.getI64IntegerAttr(value);
  };
  exec::WeightOp::create(builder, op.getLoc(), op.getSymNameAttr(),
                         TypeAttr::get(op.getPackedType().getTensorType()),
                         number(layout.pattern.n), number(layout.pattern.m),
                         builder.getStringAttr(layout.tile.str()),
                         builder.getI64IntegerAttr(layout.packedSize()),
                         op.getSource(), Attribute(), FlatSymbolRefAttr(),
                         IntegerAttr(), notes, pruning);
  op.erase();
}

void replaceState(decode::StateOp op) {
  OpBuilder builder(op);
  decode::CacheType type = op.getCacheType();
  exec::StateOp::create(
      builder, op.getLoc(), op.getSymName(),
      RankedTensorType::get({type.getSlots(), type.getHeads(),
                             type.getPositions(), type.getHeadSize()},
                            type.getElementType()),
      op.getPast(), op.getPresent());
  op.erase();
}

exec::EntryOp makeEntry(func::FuncOp function) {
  OpBuilder builder(function);
  auto kind = exec::EntryKind::Plain;
  int64_t batch = 1, rows = 1;
  bool allLogits = false;
  if (auto name = function->getAttrOfType<StringAttr>(decode::kEntryAttr))
    kind = exec::symbolizeEntryKind(name.getValue())
               .value_or(exec::EntryKind::Plain);
  if (kind != exec::EntryKind::Plain && function.getNumArguments()) {
    auto tokens = dyn_cast<RankedTensorType>(function.getArgument(0).getType());
    if (tokens && tokens.getRank() == 2) {
      batch = tokens.getDimSize(0);
      rows = tokens.getDimSize(1);
    }
    if (function.getNumResults() == 1)
      if (auto logits =
              dyn_cast<RankedTensorType>(function.getResultTypes()[0]);
          logits && logits.getRank() == 3)
        allLogits = kind == exec::EntryKind::Prefill &&
                    logits.getDimSize(1) == rows && rows > 1;
  }
  auto entry =
      exec::EntryOp::create(builder, function.getLoc(), function.getSymName(),
                            kind, batch, rows, allLogits, IntegerAttr());
  entry.getBody().emplaceBlock();
  return entry;
}

struct LowerToKernelsPass : impl::LowerToKernelsPassBase<LowerToKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    writeModelNumbers(module);
    ModuleWords words(module);
    bool sound = true;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      exec::EntryOp entry = makeEntry(function);
      sound &= succeeded(EntryLowering(words, function, entry).run());
      function.erase();
    }
    if (!sound)
      return signalPassFailure();

    for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
      if (auto state = dyn_cast<decode::StateOp>(op))
        replaceState(state);
      else if (!isa<decode::WeightOp, nm::WeightOp>(op))
        continue;
      else if (!words.isUsed(cast<SymbolOpInterface>(op).getName()))
        op.erase();
      else if (auto packed = dyn_cast<nm::WeightOp>(op))
        replaceWeight(packed);
      else
        replaceWeight(cast<decode::WeightOp>(op));
    }
  }
};

} // namespace
} // namespace sdc
