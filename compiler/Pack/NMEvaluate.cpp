// Folds nm ops on constants to their values: an interpreter whose numbers come
// from kernels/Format and kernels/Reference, so that lit can check by numbers
// what a pass did.

#include "compiler/Passes.h"
#include "compiler/Prune/Prune.h"
#include "compiler/Weights/MappedRange.h"
#include "compiler/Weights/WeightReader.h"
#include "kernels/Reference/Reference.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_NMEVALUATEPASS
#include "compiler/Passes.h.inc"

namespace {

/// What a value is: floats of a tensor, words of a mask, token ids, or packed
/// bytes.
struct Known {
  std::vector<float> floats;
  std::vector<uint32_t> words;
  std::vector<int64_t> ids;
  std::vector<uint8_t> packed;
};

/// One evaluation of one module; a value that is not in `known` is not
/// constant.
class Evaluator {
public:
  Evaluator(ModuleOp module, StringRef folder)
      : symbols(module), folder(weightFolderOf(module, folder)) {}

  /// Learns the results of `op`, if it knows its operands. Fails, with an
  /// error, on values that an op has no result for.
  LogicalResult visit(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<arith::ConstantOp, decode::LoadOp, decode::LinearOp, nm::LinearOp,
              nm::EmbedOp, nm::PruneOp, nm::MaskOp, nm::PackOp, nm::UnpackOp>(
            [&](auto typed) {
              for (Value operand : op->getOperands())
                if (!known.count(operand))
                  return success();
              Known result;
              FailureOr<bool> done = evaluate(typed, result);
              if (succeeded(done) && *done)
                known[op->getResult(0)] = std::move(result);
              return LogicalResult(done);
            })
        .Default([](Operation *) { return success(); });
  }

  /// The value as elements; null if it is not known or not a tensor.
  DenseElementsAttr elementsOf(Value value);

private:
  // Each gives false if it can't say, and fails if nobody could.
  FailureOr<bool> evaluate(arith::ConstantOp op, Known &result);
  FailureOr<bool> evaluate(decode::LoadOp op, Known &result);
  FailureOr<bool> evaluate(decode::LinearOp op, Known &result);
  FailureOr<bool> evaluate(nm::LinearOp op, Known &result);
  FailureOr<bool> evaluate(nm::EmbedOp op, Known &result);
  FailureOr<bool> evaluate(nm::PruneOp op, Known &result);
  FailureOr<bool> evaluate(nm::MaskOp op, Known &result);
  FailureOr<bool> evaluate(nm::PackOp op, Known &result);
  FailureOr<bool> evaluate(nm::UnpackOp op, Known &result);

  /// y = x W^T + b for x [B, S, K].
  void multiply(RankedTensorType x, const Known &xs, Value weight, Value bias,
                Known &result);

  SymbolTable symbols;
  std::string folder;
  llvm::DenseMap<Value, Known> known;
};

/// Packs, with what is wrong as an error at `op`.
LogicalResult pack(Operation *op, const PackedLayout &layout,
                   const std::vector<float> &floats, const uint32_t *mask,
                   std::vector<uint8_t> &packed) {
  packed.resize(static_cast<size_t>(layout.packedSize()));
  std::optional<FormatProblem> problem =
      packBlocks(layout, 0, layout.numBlocks(), floats.data(), layout.columns,
                 mask, packed.data());
  return problem ? op->emitOpError(problem->str()) : success();
}

void unpack(const PackedLayout &layout, const std::vector<uint8_t> &packed,
            Known &result) {
  result.floats.resize(static_cast<size_t>(layout.rows * layout.columns));
  result.words.resize(static_cast<size_t>(layout.rows * layout.numWords()));
  unpackBlocks(layout, 0, layout.numBlocks(), packed.data(),
               result.floats.data(), layout.columns,
               layout.pattern.isDense() ? nullptr : result.words.data());
}

} // namespace

DenseElementsAttr Evaluator::elementsOf(Value value) {
  auto it = known.find(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (it == known.end() || !type)
    return {};
  if (type.getElementType().isInteger(32))
    return DenseElementsAttr::get(type, ArrayRef<uint32_t>(it->second.words));
  if (type.getElementType().isInteger(64))
    return DenseElementsAttr::get(type, ArrayRef<int64_t>(it->second.ids));
  SmallVector<APFloat> values;
  for (float f : it->second.floats) {
    values.emplace_back(f);
    bool exact;
    values.back().convert(
        cast<FloatType>(type.getElementType()).getFloatSemantics(),
        APFloat::rmNearestTiesToEven, &exact);
  }
  return DenseElementsAttr::get(type, values);
}

FailureOr<bool> Evaluator::evaluate(arith::ConstantOp op, Known &result) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return false;
  if (isa<FloatType>(elements.getElementType())) {
    for (APFloat value : elements.getValues<APFloat>()) {
      bool exact;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                    &exact);
      result.floats.push_back(value.convertToFloat());
    }
    return true;
  }
  if (elements.getElementType().isInteger(64)) {
    for (const APInt &value : elements.getValues<APInt>())
      result.ids.push_back(value.getSExtValue());
    return true;
  }
  if (!elements.getElementType().isInteger(32))
    return false;
  for (const APInt &value : elements.getValues<APInt>())
    result.words.push_back(static_cast<uint32_t>(value.getZExtValue()));
  return true;
}

FailureOr<bool> Evaluator::evaluate(decode::LoadOp op, Known &result) {
  Operation *symbol = symbols.lookup(op.getWeight());
  if (auto plain = dyn_cast_or_null<decode::WeightOp>(symbol)) {
    if (!isa<FloatType>(plain.getTensorType().getElementType()))
      return false;
    llvm::Expected<WeightReader> reader = WeightReader::open(plain, folder);
    if (!reader)
      return plain.emitOpError(toString(reader.takeError()));
    result.floats.resize(
        static_cast<size_t>(reader->rows() * reader->columns()));
    reader->readRows(0, reader->rows(), result.floats.data(),
                     reader->columns());
    return true;
  }
  auto packed = dyn_cast_or_null<nm::WeightOp>(symbol);
  if (!packed)
    return false;
  if (auto file = dyn_cast<decode::FileAttr>(packed.getSource())) {
    llvm::Expected<MappedRange> range =
        MappedRange::open(resolveWeightPath(file.getPath(), folder),
                          file.getOffset(), file.getLength());
    if (!range)
      return packed.emitOpError(toString(range.takeError()));
    result.packed = range->bytes().vec();
  } else {
    for (const APInt &byte :
         cast<DenseElementsAttr>(packed.getSource()).getValues<APInt>())
      result.packed.push_back(static_cast<uint8_t>(byte.getZExtValue()));
  }
  PackedLayout layout = packed.getPackedType().getLayout();
  if (std::optional<FormatProblem> problem =
          verifyBlocks(layout, 0, layout.numBlocks(), result.packed.data()))
    return packed.emitOpError(problem->str());
  return true;
}

void Evaluator::multiply(RankedTensorType x, const Known &xs, Value weight,
                         Value bias, Known &result) {
  const Known &w = known[weight];
  const float *b = bias ? known[bias].floats.data() : nullptr;
  int64_t batch = x.getDimSize(0) * x.getDimSize(1), columns = x.getDimSize(2);
  std::vector<double> y;
  if (auto packed = dyn_cast<nm::PackedType>(weight.getType())) {
    y.resize(static_cast<size_t>(batch * packed.getRows()));
    reference::packedLinear(packed.getLayout(), batch, xs.floats.data(),
                            w.packed.data(), b, y.data());
  } else {
    int64_t rows = cast<RankedTensorType>(weight.getType()).getDimSize(0);
    y.resize(static_cast<size_t>(batch * rows));
    reference::linear(batch, rows, columns, xs.floats.data(), w.floats.data(),
                      b, y.data());
  }
  result.floats.assign(y.begin(), y.end());
}

FailureOr<bool> Evaluator::evaluate(decode::LinearOp op, Known &result) {
  multiply(op.getX().getType(), known[op.getX()], op.getWeight(), op.getBias(),
           result);
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::LinearOp op, Known &result) {
  multiply(op.getX().getType(), known[op.getX()], op.getWeight(), op.getBias(),
           result);
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::EmbedOp op, Known &result) {
  PackedLayout layout = op.getTable().getType().getLayout();
  Known table;
  unpack(layout, known[op.getTable()].packed, table);
  auto scale = static_cast<float>(op.getScale().convertToDouble());
  for (int64_t id : known[op.getTokens()].ids) {
    if (id < 0 || id >= layout.rows)
      return op.emitOpError("token ")
             << id << " is not in the table of " << layout.rows << " rows";
    const float *row = table.floats.data() + id * layout.columns;
    for (int64_t k = 0; k < layout.columns; ++k)
      result.floats.push_back(row[k] * scale);
  }
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::PruneOp op, Known &result) {
  RankedTensorType type = op.getType();
  const Known &weight = known[op.getWeight()];
  if (op.getPattern().isDense()) {
    result.floats = weight.floats;
    return true;
  }
  DenseWeight dense{weight.floats.data(), type.getDimSize(0),
                    type.getDimSize(1)};
  result.floats.resize(weight.floats.size());
  result.words.resize(static_cast<size_t>(dense.rows * dense.words()));
  PruneSettings settings;
  settings.pattern = op.getPattern().getValue();
  llvm::Expected<PruneReport> report = pruneMagnitude(
      dense, nullptr, settings, {result.floats.data(), result.words.data()});
  if (!report)
    return op.emitOpError(toString(report.takeError()));
  for (float &value : result.floats)
    if (value == 0)
      value = 0; // -0 too.
  result.words.clear();
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::MaskOp op, Known &result) {
  const Known &weight = known[op.getWeight()];
  std::vector<uint8_t> packed = weight.packed;
  PackedLayout layout;
  if (auto type = dyn_cast<nm::PackedType>(op.getWeight().getType())) {
    layout = type.getLayout();
  } else {
    auto tensor = cast<RankedTensorType>(op.getWeight().getType());
    layout = {tensor.getDimSize(0), tensor.getDimSize(1), ElementType::F32,
              op.getPatternAttr().getValue(), Tile::interleavedRows(1)};
    if (!layout.pattern.isDense() &&
        failed(pack(op, layout, weight.floats, nullptr, packed)))
      return failure();
  }
  if (layout.pattern.isDense()) {
    // No masks are stored: all columns that there are, and none beyond.
    for (int64_t i = 0; i < layout.rows * layout.numWords(); ++i) {
      int64_t left = layout.columns - i % layout.numWords() * kWordColumns;
      result.words.push_back(left >= kWordColumns ? ~0u : (1u << left) - 1);
    }
    return true;
  }
  unpack(layout, packed, result);
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::PackOp op, Known &result) {
  const uint32_t *mask =
      op.getMask() ? known[op.getMask()].words.data() : nullptr;
  if (failed(pack(op, op.getType().getLayout(), known[op.getWeight()].floats,
                  mask, result.packed)))
    return failure();
  return true;
}

FailureOr<bool> Evaluator::evaluate(nm::UnpackOp op, Known &result) {
  unpack(op.getPacked().getType().getLayout(), known[op.getPacked()].packed,
         result);
  return true;
}

namespace {

struct NMEvaluatePass : impl::NMEvaluatePassBase<NMEvaluatePass> {
  using NMEvaluatePassBase::NMEvaluatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Evaluator evaluator(module, folder);
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (op->getNumResults() == 1)
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(evaluator.visit(op)))
        return signalPassFailure();
    for (Operation *op : ops) {
      DenseElementsAttr value = evaluator.elementsOf(op->getResult(0));
      if (!value || op->use_empty() || op->hasTrait<OpTrait::ConstantLike>())
        continue;
      OpBuilder builder(op);
      op->replaceAllUsesWith(
          arith::ConstantOp::create(builder, op->getLoc(), value));
    }
    // What only led to constants goes, users before what they use.
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace
} // namespace sdc
