// Comparing recorded models, and adding up calibration files.

#include "compiler/Record/CalibrationChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sdc;

namespace {

/// Differences are all found, but a message names at most this many.
constexpr size_t kNamed = 8;

std::string list(llvm::ArrayRef<std::string> parts) {
  std::string text = llvm::join(parts.take_front(kNamed), "; ");
  if (parts.size() > kNamed)
    text += llvm::formatv("; and {0} more", parts.size() - kNamed).str();
  return text;
}

std::string describe(const RecordedLinear &linear) {
  return llvm::formatv("{0} x {1} of input '{2}'", linear.rows, linear.columns,
                       linear.input);
}

} // namespace

llvm::Error sdc::checkModel(const Calibration &calibration,
                            llvm::ArrayRef<RecordedLinear> model,
                            bool allowOtherWeights) {
  llvm::StringMap<const RecordedLinear *> recorded;
  for (const RecordedLinear &linear : calibration.info().linears)
    recorded[linear.name] = &linear;
  std::vector<std::string> differences, weights;
  for (const RecordedLinear &linear : model) {
    auto it = recorded.find(linear.name);
    if (it == recorded.end()) {
      differences.push_back("'" + linear.name + "' is not recorded");
      continue;
    }
    const RecordedLinear &other = *it->second;
    recorded.erase(it);
    if (describe(other) != describe(linear))
      differences.push_back("'" + linear.name + "' was recorded as " +
                            describe(other) + ", here it is " +
                            describe(linear));
    else if (!other.fingerprint.matches(linear.fingerprint))
      weights.push_back("'" + linear.name + "'");
  }
  // In the order of the file, not of the map.
  for (const RecordedLinear &linear : calibration.info().linears)
    if (recorded.contains(linear.name))
      differences.push_back("'" + linear.name +
                            "' is recorded but not in the "
                            "model");
  if (!differences.empty())
    return llvm::createStringError(
        llvm::formatv("{0}: was recorded from another architecture: {1}",
                      calibration.path(), list(differences)));
  if (!weights.empty() && !allowOtherWeights)
    return llvm::createStringError(llvm::formatv(
        "{0}: was recorded from other weights of the same architecture: {1} of "
        "{2} linears differ by more than 16-bit rounding: {3}",
        calibration.path(), weights.size(), model.size(), list(weights)));
  return llvm::Error::success();
}

llvm::Error sdc::mergeCalibrations(llvm::ArrayRef<std::string> inputs,
                                   llvm::StringRef output,
                                   bool allowOtherWeights) {
  if (inputs.empty())
    return llvm::createStringError("there are no calibration files to merge");
  std::vector<Calibration> files;
  llvm::Error problems = llvm::Error::success();
  for (const std::string &input : inputs) {
    auto file = Calibration::open(input);
    if (!file)
      problems = llvm::joinErrors(std::move(problems), file.takeError());
    else
      files.push_back(std::move(*file));
  }
  if (problems)
    return problems;

  CalibrationInfo total = files.front().info();
  auto tokenizerOf = [](const RecordSettings &settings) -> std::string {
    auto it = settings.find("tokenizer");
    return it == settings.end() ? "" : it->second;
  };
  std::string tokenizer =
      total.sources.empty() ? "" : tokenizerOf(total.sources.front());
  for (const Calibration &file : llvm::drop_begin(files)) {
    if (llvm::Error error =
            checkModel(file, files.front().info().linears, allowOtherWeights)) {
      problems = llvm::joinErrors(std::move(problems), std::move(error));
      continue;
    }
    const CalibrationInfo &info = file.info();
    for (const RecordSettings &source : info.sources)
      if (tokenizerOf(source) != tokenizer) {
        problems = llvm::joinErrors(
            std::move(problems),
            llvm::createStringError(llvm::formatv(
                "{0}: was recorded with the tokenizer '{1}', expected '{2}' as "
                "in {3}",
                file.path(), tokenizerOf(source), tokenizer,
                files.front().path())));
        break;
      }
    llvm::append_range(total.sources, info.sources);
    llvm::append_range(total.promptLengths, info.promptLengths);
    llvm::append_range(total.totalLengths, info.totalLengths);
    llvm::append_range(total.tokens, info.tokens);
    for (CalibrationKey &key : total.keys)
      for (unsigned c = 0; c < kPositionClasses; ++c)
        key.counts[c] += info.findKey(key.name)->counts[c];
  }
  if (problems)
    return problems;

  auto writer = CalibrationWriter::create(output, total);
  if (!writer)
    return writer.takeError();
  std::vector<float> sum, part;
  for (const CalibrationKey &key : total.keys) {
    writer->beginKey(key);
    for (unsigned c = 0; c < kPositionClasses; ++c) {
      if (key.counts[c] == 0)
        continue;
      auto positions = static_cast<PositionClass>(c);
      sum.assign(triangleSize(key.columns), 0.0f);
      for (const Calibration &file : files) {
        if (llvm::Error error = file.triangle(key.name, positions, part))
          return error;
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += part[i];
      }
      writer->append(sum);
    }
  }
  return writer->finish();
}
