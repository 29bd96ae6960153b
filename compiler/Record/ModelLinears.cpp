// Names, shapes, inputs and fingerprints of the linears of a module.

#include "compiler/Record/ModelLinears.h"

#include "compiler/Algebra/Parallel.h"
#include "compiler/Weights/LinearNames.h"
#include "compiler/Weights/WeightReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;
using namespace sdc;

static llvm::Error linearError(StringRef name, const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 name + ": " + what);
}

static Fingerprint fingerprintOf(const WeightReader &reader) {
  FingerprintBuilder builder(reader.columns());
  int64_t step = std::max<int64_t>(1, (int64_t(1) << 22) / reader.columns());
  std::vector<float> rows(
      static_cast<size_t>(std::min(step, reader.rows()) * reader.columns()));
  for (int64_t r = 0; r < reader.rows(); r += step) {
    int64_t count = std::min(step, reader.rows() - r);
    reader.readRows(r, count, rows.data(), reader.columns());
    builder.addRows(rows.data(), count, /*threads=*/1);
  }
  return builder.finish();
}

llvm::Expected<std::vector<RecordedLinear>>
sdc::describeLinears(ModuleOp module, StringRef folder, unsigned threads) {
  SymbolTable symbols(module);
  std::vector<RecordedLinear> linears;
  std::vector<decode::WeightOp> weights;
  llvm::StringSet<> seen;
  llvm::Error error = llvm::Error::success();
  module.walk([&](decode::LinearOp op) {
    decode::LoadOp load = loadOf(op.getWeight());
    auto weight = load ? symbols.lookup<decode::WeightOp>(load.getWeight())
                       : decode::WeightOp();
    auto mark = op.getX().getDefiningOp<decode::RecordOp>();
    if (!weight || !seen.insert(weight.getSymName()).second)
      return;
    if (!mark) {
      error = llvm::joinErrors(
          std::move(error),
          linearError(weight.getSymName(), "its input has no calibration key"));
      return;
    }
    RankedTensorType type = weight.getTensorType();
    RecordedLinear linear;
    linear.name = weight.getSymName().str();
    linear.rows = type.getDimSize(0);
    linear.columns = type.getDimSize(1);
    linear.input = mark.getKey().str();
    linears.push_back(std::move(linear));
    weights.push_back(weight);
  });
  if (error)
    return std::move(error);

  std::vector<std::string> problems(linears.size());
  parallelFor(threads, static_cast<int64_t>(linears.size()), [&](int64_t i) {
    auto index = static_cast<size_t>(i);
    llvm::Expected<WeightReader> reader =
        WeightReader::open(weights[index], folder);
    if (reader)
      linears[index].fingerprint = fingerprintOf(*reader);
    else
      problems[index] = toString(reader.takeError());
  });
  for (size_t i = 0; i < problems.size(); ++i)
    if (!problems[i].empty())
      error = llvm::joinErrors(std::move(error),
                               linearError(linears[i].name, problems[i]));
  if (error)
    return std::move(error);
  return linears;
}
