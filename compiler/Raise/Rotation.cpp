// Frequencies out of expressions and out of tables.

#include "compiler/Raise/Rotation.h"
#include "compiler/Weights/WeightReader.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace sdc;
using namespace sdc::onnxir;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

ConstantReader::ConstantReader(ModuleOp module, WeightSymbols &weights,
                               StringRef folder)
    : weights(weights), folder(weightFolderOf(module, folder)) {}

bool ConstantReader::readWeight(decode::WeightOp weight,
                                std::vector<float> &values) {
  if (isa<decode::RandomAttr>(weight.getSource())) {
    problem = ("'" + weight.getSymName() + "' is random").str();
    return false;
  }
  llvm::Expected<WeightReader> reader = WeightReader::open(weight, folder);
  if (!reader) {
    problem = llvm::toString(reader.takeError());
    return false;
  }
  values.resize(reader->rows() * reader->columns());
  reader->readRows(0, reader->rows(), values.data(), reader->columns());
  return true;
}

const std::vector<float> *ConstantReader::read(Value root) {
  if (!isa<FloatType>(getElementTypeOrSelf(root.getType())))
    return nullptr;
  auto constant = root.getDefiningOp<ConstantOp>();
  auto weight = root.getDefiningOp<WeightRefOp>();
  if (!constant && !weight)
    return nullptr;
  Attribute key = constant ? Attribute(constant.getValue())
                           : Attribute(weight.getWeightAttr());
  auto [found, isNew] = known.try_emplace(key);
  if (!isNew)
    return found->second.get();
  auto values = std::make_unique<std::vector<float>>();
  if (weight) {
    if (!readWeight(weights.lookup(weight.getWeightAttr().getAttr()), *values))
      return nullptr;
  } else {
    auto all = constant.getValue().tryGetValues<APFloat>();
    if (!all)
      return nullptr;
    for (APFloat value : *all) {
      bool losesInfo = false;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      values->push_back(value.convertToFloat());
    }
  }
  found->second = std::move(values);
  return found->second.get();
}

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

/// Powers of a base become exactly those of float arithmetic, whichever way
/// the exporter computed them.
static SmallVector<float> snap(ArrayRef<double> frequencies) {
  size_t half = frequencies.size();
  SmallVector<float> result(frequencies.begin(), frequencies.end());
  if (half < 2 || std::abs(frequencies[0] - 1) > 1e-6 || frequencies[1] <= 0)
    return result;
  double last = static_cast<double>(half - 1);
  double base = std::pow(frequencies.back(), -static_cast<double>(half) / last);
  if (std::abs(base - std::round(base)) <
      2e-6 * static_cast<double>(half) * base)
    base = std::round(base);
  SmallVector<float> powers;
  for (size_t j = 0; j < half; ++j) {
    double power =
        std::pow(base, -static_cast<double>(j) / static_cast<double>(half));
    if (std::abs(power - frequencies[j]) > 1e-6 * power)
      return result;
    powers.push_back(static_cast<float>(power));
  }
  return powers;
}

/// Evaluates an expression of constants and of j.
static std::optional<double> evaluate(RaiseRewriter &rewriter,
                                      ConstantReader &reader, Expr expr, Expr j,
                                      double value) {
  return rewriter.context.evaluate(
      expr, [&](Expr leaf, ArrayRef<double> indices) -> std::optional<double> {
        if (leaf == j)
          return value;
        Value root = rewriter.getConstantRoot(leaf);
        const std::vector<float> *elements = root ? reader.read(root) : nullptr;
        if (!elements)
          return std::nullopt;
        double flat = 0;
        for (auto [index, size] :
             llvm::zip(indices, cast<ShapedType>(root.getType()).getShape()))
          flat = flat * static_cast<double>(size) + index;
        if (flat < 0 || flat >= static_cast<double>(elements->size()))
          return std::nullopt;
        return (*elements)[static_cast<size_t>(flat)];
      });
}

/// scale x cos(position x frequency) and the same of sin.
static std::optional<Rotation> findComputed(RaiseRewriter &rewriter,
                                            ConstantReader &reader, Expr cosine,
                                            Expr sine, Expr position, Expr j,
                                            int64_t half) {
  auto [cosScale, cos] = ExprContext::splitCoefficient(cosine);
  auto [sinScale, sin] = ExprContext::splitCoefficient(sine);
  if (!cos || !sin || cos->getKind() != ExprKind::Call ||
      sin->getKind() != ExprKind::Call ||
      cos->getFunction() != ScalarFunction::Cos ||
      sin->getFunction() != ScalarFunction::Sin ||
      cos->getOperand(0) != sin->getOperand(0) || cosScale != sinScale)
    return std::nullopt;
  auto [coefficient, angle] = ExprContext::splitCoefficient(cos->getOperand(0));
  if (!angle)
    return std::nullopt;
  // The angle without its factor, the position.
  SmallVector<Expr> factors(ExprContext::factors(angle));
  auto *found = llvm::find(factors, position);
  if (found == factors.end())
    return std::nullopt;
  factors.erase(found);
  SmallVector<double> frequencies;
  for (int64_t i = 0; i < half; ++i) {
    double frequency = coefficient;
    for (Expr factor : factors) {
      auto value =
          evaluate(rewriter, reader, factor, j, static_cast<double>(i));
      if (!value)
        return std::nullopt;
      frequency *= *value;
    }
    frequencies.push_back(frequency);
  }
  return Rotation{snap(frequencies), cosScale};
}

/// The frequency that a column of tables holds: position 1 tells it roughly,
/// each doubling of the position twice as well.
static double frequencyOf(llvm::function_ref<double(int64_t)> cosAt,
                          llvm::function_ref<double(int64_t)> sinAt,
                          int64_t positions) {
  double frequency = std::atan2(sinAt(1), cosAt(1));
  for (int64_t position = 2; position < positions; position *= 2) {
    double p = static_cast<double>(position);
    double angle = std::atan2(sinAt(position), cosAt(position));
    double turns = std::round((frequency * p - angle) / (2 * M_PI));
    frequency = (angle + turns * 2 * M_PI) / p;
  }
  return frequency;
}

static double roundingOf(Type type) {
  return type.isF32() ? 0x1p-24 : type.isF16() ? 0x1p-11 : 0x1p-8;
}

static std::optional<Rotation> findTables(RaiseRewriter &rewriter,
                                          ConstantReader &reader, Expr cosine,
                                          Expr sine, Expr position, Expr j,
                                          int64_t half) {
  auto [cosScale, cos] = ExprContext::splitCoefficient(cosine);
  auto [sinScale, sin] = ExprContext::splitCoefficient(sine);
  if (!cos || !sin || cosScale != sinScale)
    return std::nullopt;
  Value cosTable = rewriter.getConstantRoot(cos);
  Value sinTable = rewriter.getConstantRoot(sin);
  if (!cosTable || !sinTable || cosTable.getType() != sinTable.getType() ||
      cos->getOperands() != sin->getOperands() ||
      cos->getOperands().size() != 2 || cos->getOperand(0) != position)
    return std::nullopt;
  auto type = cast<RankedTensorType>(cosTable.getType());
  int64_t positions = type.getDimSize(0), width = type.getDimSize(1);
  const std::vector<float> *cosines = reader.read(cosTable);
  const std::vector<float> *sines = reader.read(sinTable);
  if (!cosines || !sines || positions < 2)
    return std::nullopt;

  Rotation rotation;
  SmallVector<double> frequencies;
  SmallVector<int64_t> columns;
  for (int64_t i = 0; i < half; ++i) {
    auto column = evaluate(rewriter, reader, cos->getOperand(1), j,
                           static_cast<double>(i));
    if (!column || *column < 0 || *column >= static_cast<double>(width))
      return std::nullopt;
    columns.push_back(static_cast<int64_t>(*column));
    auto at = [&](const std::vector<float> &table, int64_t p) {
      return static_cast<double>(table[p * width + columns.back()]);
    };
    frequencies.push_back(
        frequencyOf([&](int64_t p) { return at(*cosines, p); },
                    [&](int64_t p) { return at(*sines, p); }, positions));
  }
  double amplitude = (*cosines)[columns[0]];
  rotation.frequencies = snap(frequencies);
  rotation.scale = amplitude * cosScale;
  double rounding = roundingOf(type.getElementType());
  for (int64_t i = 0; i < half; ++i) {
    double frequency = rotation.frequencies[i];
    for (int64_t p = 0; p < positions; ++p) {
      // An angle computed in f32 has an error of its own.
      double angle = static_cast<double>(p) * frequency;
      double tolerance =
          std::max(1e-5, 2 * rounding) * amplitude + angle * 0x1p-22;
      int64_t place = p * width + columns[i];
      if (std::abs((*cosines)[place] - amplitude * std::cos(angle)) >
              tolerance ||
          std::abs((*sines)[place] - amplitude * std::sin(angle)) > tolerance)
        return std::nullopt;
    }
  }
  return rotation;
}

std::optional<Rotation> sdc::findRotation(RaiseRewriter &rewriter,
                                          ConstantReader &reader, Expr cosine,
                                          Expr sine, Expr position, Expr j,
                                          int64_t half) {
  if (auto rotation =
          findComputed(rewriter, reader, cosine, sine, position, j, half))
    return rotation;
  return findTables(rewriter, reader, cosine, sine, position, j, half);
}

Value sdc::createRotary(RaiseRewriter &rewriter, Location loc, Value x,
                        const Rotation &rotation, bool interleaved) {
  auto type =
      rewriter.tensorOf({static_cast<int64_t>(rotation.frequencies.size())});
  Value frequencies = rewriter.weights.load(
      rewriter.builder, loc,
      DenseElementsAttr::get(type, ArrayRef<float>(rotation.frequencies)));
  return rewriter.create<decode::RotaryOp>(
      loc, x.getType(), x, rewriter.getPositions(), frequencies,
      interleaved ? rewriter.builder.getUnitAttr() : UnitAttr(),
      rewriter.builder.getF64FloatAttr(rotation.scale));
}
