// Opening, weighing and writing calibration files.

#include "compiler/Record/Calibration.h"
#include "compiler/Record/CalibrationMetadata.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace sdc;

namespace {

constexpr PositionClass kClasses[] = {
    PositionClass::Decode, PositionClass::Prompt, PositionClass::First};

std::string tensorName(llvm::StringRef key, PositionClass positions) {
  return (key + "." + positionClassName(positions)).str();
}

/// The lengths agree with each other and with the tokens.
llvm::Error checkRollouts(const SafetensorsFile &file,
                          const CalibrationInfo &info) {
  if (info.promptLengths.size() != info.totalLengths.size())
    return file.problem("has " + llvm::Twine(info.promptLengths.size()) +
                        " prompt lengths and " +
                        llvm::Twine(info.totalLengths.size()) +
                        " total lengths");
  int64_t total = 0;
  for (size_t i = 0; i < info.promptLengths.size(); ++i) {
    if (info.promptLengths[i] < 1 ||
        info.promptLengths[i] > info.totalLengths[i])
      return file.problem("rollout " + llvm::Twine(i) + " has a prompt of " +
                          llvm::Twine(info.promptLengths[i]) + " of " +
                          llvm::Twine(info.totalLengths[i]) + " tokens");
    total += info.totalLengths[i];
  }
  if (total != static_cast<int64_t>(info.tokens.size()))
    return file.problem("has " + llvm::Twine(info.tokens.size()) +
                        " tokens, expected " + llvm::Twine(total) +
                        " by its lengths");
  return llvm::Error::success();
}

llvm::Error readIntegers(const SafetensorsFile &file, llvm::StringRef name,
                         std::vector<int32_t> &out) {
  auto values = file.elements<int32_t>(name, -1);
  if (!values)
    return values.takeError();
  out = values->get().vec();
  return llvm::Error::success();
}

/// The first value that no sum of squares can have, or success.
llvm::Error checkTriangle(const SafetensorsFile &file, llvm::StringRef name,
                          int64_t columns, llvm::ArrayRef<float> values) {
  const float *value = values.data();
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = i; j < columns; ++j, ++value)
      if (!std::isfinite(*value) || (i == j && *value < 0))
        return file.problem(
            llvm::formatv("tensor '{0}' has {1} at {2}, {3}, expected a {4}",
                          name, llvm::format("%g", double(*value)), i, j,
                          i == j ? "finite number that is not negative"
                                 : "finite number")
                .str());
  return llvm::Error::success();
}

} // namespace

const CalibrationKey *CalibrationInfo::findKey(llvm::StringRef name) const {
  for (const CalibrationKey &key : keys)
    if (key.name == name)
      return &key;
  return nullptr;
}

std::vector<CalibrationKey>
sdc::keysOf(llvm::ArrayRef<RecordedLinear> linears) {
  std::vector<CalibrationKey> keys;
  llvm::StringMap<bool> seen;
  for (const RecordedLinear &linear : linears)
    if (seen.try_emplace(linear.input, true).second)
      keys.push_back({linear.input, linear.columns, {}});
  return keys;
}

llvm::Expected<PositionWeights> PositionWeights::parse(llvm::StringRef text) {
  if (text == "decode")
    return PositionWeights{{1, 0, 0}};
  if (text == "prompt")
    return PositionWeights{{0, 1, 1}};
  if (text == "all")
    return PositionWeights{{1, 1, 1}};
  PositionWeights result;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  bool valid = parts.size() == kPositionClasses;
  double sum = 0;
  for (size_t i = 0; valid && i < kPositionClasses; ++i) {
    double &weight = result.weights[i];
    valid =
        !parts[i].getAsDouble(weight) && std::isfinite(weight) && weight >= 0;
    sum += weight;
  }
  if (!valid || !(sum > 0))
    return llvm::createStringError(
        "positions '" + text +
        "' are not known, expected decode, prompt, all, or three weights that "
        "are not negative (decode, prompt, first), as in 1,3,1");
  return result;
}

llvm::Expected<Calibration> Calibration::open(llvm::StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  Calibration result;
  result.file = std::move(*file);
  CalibrationInfo &info = result.content;
  if (llvm::Error error = detail::readMetadata(result.file, info))
    return error;
  for (auto [name, values] :
       {std::make_pair("rollouts.prompt_lengths", &info.promptLengths),
        std::make_pair("rollouts.total_lengths", &info.totalLengths),
        std::make_pair("rollouts.tokens", &info.tokens)})
    if (llvm::Error error = readIntegers(result.file, name, *values))
      return error;
  if (llvm::Error error = checkRollouts(result.file, info))
    return error;
  for (CalibrationKey &key : info.keys) {
    auto counts =
        result.file.elements<int64_t>(key.name + ".counts", kPositionClasses);
    if (!counts)
      return counts.takeError();
    for (PositionClass positions : kClasses) {
      auto index = static_cast<size_t>(positions);
      key.counts[index] = counts->get()[index];
      // 2^53 positions would not fit in any sum.
      if (key.counts[index] < 0 || key.counts[index] > (int64_t(1) << 53))
        return result.file.problem("'" + key.name + "' counts " +
                                   llvm::Twine(key.counts[index]) + " " +
                                   positionClassName(positions) + " positions");
      if (key.counts[index] == 0)
        continue;
      auto values = result.file.elements<float>(tensorName(key.name, positions),
                                                triangleSize(key.columns));
      if (!values)
        return values.takeError();
    }
  }
  return result;
}

llvm::Error Calibration::triangle(llvm::StringRef key, PositionClass positions,
                                  std::vector<float> &out) const {
  const CalibrationKey *entry = content.findKey(key);
  if (!entry)
    return file.problem("has no input '" + key + "'");
  int64_t size = triangleSize(entry->columns);
  if (entry->counts[static_cast<size_t>(positions)] == 0) {
    out.assign(size, 0.0f);
    return llvm::Error::success();
  }
  std::string name = tensorName(key, positions);
  auto values = file.elements<float>(name, size);
  if (!values)
    return values.takeError();
  if (llvm::Error error =
          checkTriangle(file, name, entry->columns, values->get()))
    return error;
  out = values->get().vec();
  file.dropPages();
  return llvm::Error::success();
}

llvm::Error Calibration::weigh(llvm::StringRef key, int64_t columns,
                               const PositionWeights &weights,
                               float *out) const {
  const CalibrationKey *entry = content.findKey(key);
  if (!entry)
    return file.problem("has no input '" + key + "'");
  if (entry->columns != columns)
    return file.problem("input '" + key + "' has " +
                        llvm::Twine(entry->columns) + " columns, expected " +
                        llvm::Twine(columns));
  std::fill(out, out + columns * columns, 0.0f);
  bool any = false;
  for (PositionClass positions : kClasses) {
    auto index = static_cast<size_t>(positions);
    double weight = weights.weights[index];
    if (weight == 0 || entry->counts[index] == 0)
      continue;
    any = true;
    std::string name = tensorName(key, positions);
    auto values = file.elements<float>(name, triangleSize(columns));
    if (!values)
      return values.takeError();
    if (llvm::Error error = checkTriangle(file, name, columns, values->get()))
      return error;
    const float *value = values->get().data();
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = i; j < columns; ++j, ++value) {
        float &sum = out[i * columns + j];
        sum = static_cast<float>(static_cast<double>(sum) +
                                 weight * static_cast<double>(*value));
      }
  }
  file.dropPages();
  if (!any)
    return file.problem("input '" + key +
                        "' has no recorded position of the asked classes");
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = i; j < columns; ++j) {
      float value = out[i * columns + j];
      if (!std::isfinite(value))
        return file.problem("the weighed moments of input '" + key +
                            "' are beyond f32");
      out[j * columns + i] = value;
    }
  return llvm::Error::success();
}

llvm::Error Calibration::verify() const {
  llvm::Error problems = llvm::Error::success();
  std::vector<float> values;
  for (const CalibrationKey &key : content.keys)
    for (PositionClass positions : kClasses)
      problems = llvm::joinErrors(std::move(problems),
                                  triangle(key.name, positions, values));
  return problems;
}

llvm::Expected<CalibrationWriter>
CalibrationWriter::create(llvm::StringRef path, const CalibrationInfo &info) {
  std::vector<SafeTensor> tensors;
  auto add = [&](const llvm::Twine &name, const char *type, uint64_t elements) {
    SafeTensor tensor;
    tensor.name = name.str();
    tensor.type = type;
    tensor.shape = {static_cast<int64_t>(elements)};
    tensors.push_back(std::move(tensor));
  };
  // After an odd number of floats counts are not aligned; readers see to that.
  add("rollouts.prompt_lengths", "I32", info.promptLengths.size());
  add("rollouts.total_lengths", "I32", info.totalLengths.size());
  add("rollouts.tokens", "I32", info.tokens.size());
  for (const CalibrationKey &key : info.keys) {
    add(key.name + ".counts", "I64", kPositionClasses);
    for (PositionClass positions : kClasses)
      if (key.counts[static_cast<size_t>(positions)] > 0)
        add(tensorName(key.name, positions), "F32", triangleSize(key.columns));
  }
  auto writer = SafetensorsWriter::create(path, detail::writeMetadata(info),
                                          std::move(tensors));
  if (!writer)
    return writer.takeError();
  for (const std::vector<int32_t> *values :
       {&info.promptLengths, &info.totalLengths, &info.tokens})
    writer->append(values->data(), values->size() * sizeof(int32_t));
  return CalibrationWriter(std::move(*writer));
}

llvm::Error sdc::writeCalibration(llvm::StringRef path, CalibrationInfo info,
                                  llvm::ArrayRef<const Hessian *> sums) {
  assert(sums.size() == info.keys.size() && "one Hessian for each key");
  for (size_t i = 0; i < sums.size(); ++i) {
    assert(sums[i]->columns() == info.keys[i].columns && "the key's columns");
    for (PositionClass positions : kClasses)
      info.keys[i].counts[static_cast<size_t>(positions)] =
          sums[i]->count(positions);
  }
  auto writer = CalibrationWriter::create(path, info);
  if (!writer)
    return writer.takeError();
  std::vector<float> values;
  for (size_t i = 0; i < sums.size(); ++i) {
    writer->beginKey(info.keys[i]);
    for (PositionClass positions : kClasses) {
      if (sums[i]->count(positions) == 0)
        continue;
      values.resize(triangleSize(sums[i]->columns()));
      sums[i]->triangle(positions, values.data());
      writer->append(values);
    }
  }
  return writer->finish();
}
