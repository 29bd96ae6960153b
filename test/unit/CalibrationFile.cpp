// Calibration files from and to raw arrays, for tests that compare them with
// another implementation:
//
//   CalibrationFile record X.f32 CLASSES.u8 ROWS COLUMNS OUT
//     sums the rows into one key "layers.0.attn_in" of a linear "layers.0.q"
//     whose weight is X's first two rows; class c is a PositionClass
//   CalibrationFile weigh CALIB KEY COLUMNS POSITIONS OUT.f32
//   CalibrationFile compare CALIB OTHER POSITIONS SHARE
//     prints each key with its discrepancy

#include "compiler/Record/Discrepancy.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace sdc;

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
read(llvm::StringRef path, uint64_t size) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || (*buffer)->getBufferSize() != size)
    return llvm::createStringError("cannot read " + path);
  return std::move(*buffer);
}

static llvm::Error record(char **args) {
  int64_t rows = std::atoll(args[2]), columns = std::atoll(args[3]);
  auto values = read(args[0], rows * columns * sizeof(float));
  if (!values)
    return values.takeError();
  auto classes = read(args[1], rows);
  if (!classes)
    return classes.takeError();
  const auto *x = reinterpret_cast<const float *>((*values)->getBufferStart());
  std::vector<PositionClass> kinds;
  for (char c : (*classes)->getBuffer())
    kinds.push_back(static_cast<PositionClass>(c));

  CalibrationInfo info;
  RecordedLinear linear = {"layers.0.q", 2, columns, "layers.0.attn_in", {}};
  FingerprintBuilder builder(columns);
  builder.addRows(x, 2, 1);
  linear.fingerprint = builder.finish();
  info.linears = {linear};
  info.keys = keysOf(info.linears);
  info.sources = {{{"seed", "0"}}};
  info.promptLengths = {1};
  info.totalLengths = {3};
  info.tokens = {5, 6, 7};
  Hessian sums(columns);
  for (int64_t r = 0; r < rows; r += 16)
    if (llvm::Error error = sums.add(
            x + r * columns, columns,
            llvm::ArrayRef(kinds).slice(r, std::min<int64_t>(16, rows - r)), 2))
      return error;
  sums.finishWave(2);
  return writeCalibration(args[4], info, {&sums});
}

static llvm::Error weigh(char **args) {
  auto file = Calibration::open(args[0]);
  if (!file)
    return file.takeError();
  int64_t columns = std::atoll(args[2]);
  auto weights = PositionWeights::parse(args[3]);
  if (!weights)
    return weights.takeError();
  std::vector<float> h(columns * columns);
  if (llvm::Error error = file->weigh(args[1], columns, *weights, h.data()))
    return error;
  std::error_code failed;
  llvm::raw_fd_ostream out(args[4], failed);
  out.write(reinterpret_cast<const char *>(h.data()), h.size() * sizeof(float));
  return llvm::errorCodeToError(failed);
}

static llvm::Error compare(char **args) {
  auto reference = Calibration::open(args[0]);
  if (!reference)
    return reference.takeError();
  auto other = Calibration::open(args[1]);
  if (!other)
    return other.takeError();
  auto weights = PositionWeights::parse(args[2]);
  if (!weights)
    return weights.takeError();
  auto result =
      compareCalibrations(*reference, *other, *weights, std::atof(args[3]), 2);
  if (!result)
    return result.takeError();
  for (const Discrepancy &entry : *result)
    std::printf("%s %lld %.12g\n", entry.key.c_str(),
                static_cast<long long>(entry.directions), entry.value);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::StringRef verb = argc > 1 ? argv[1] : "";
  llvm::Error error = llvm::Error::success();
  if (verb == "record" && argc == 7)
    error = record(argv + 2);
  else if (verb == "weigh" && argc == 7)
    error = weigh(argv + 2);
  else if (verb == "compare" && argc == 6)
    error = compare(argv + 2);
  else
    return 2;
  if (!error)
    return 0;
  llvm::errs() << llvm::toString(std::move(error)) << "\n";
  return 1;
}
