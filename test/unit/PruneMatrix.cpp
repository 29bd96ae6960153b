// The pruning library on one matrix from files, for tests that compare it with
// another implementation:
//
//   PruneMatrix METHOD PATTERN ROWS COLUMNS DAMPING THREADS W.f32 H.f32 OUT
//
// Reads raw little-endian f32, writes OUT.w (f32), OUT.mask (u32) and prints
// the report as one line of `name value` pairs.

#include "compiler/Prune/SparseGpt.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace sdc;

static bool read(const char *path, std::vector<float> &values) {
  FILE *file = std::fopen(path, "rb");
  bool ok = file && std::fread(values.data(), sizeof(float), values.size(),
                               file) == values.size();
  if (file)
    std::fclose(file);
  return ok;
}

template <typename T>
static bool write(const std::string &path, const std::vector<T> &values) {
  FILE *file = std::fopen(path.c_str(), "wb");
  bool ok = file && std::fwrite(values.data(), sizeof(T), values.size(),
                                file) == values.size();
  return file && std::fclose(file) == 0 && ok;
}

static llvm::Expected<PruneReport>
prune(PruneMethod method, double damping, const DenseWeight &weight,
      const float *h, const PruneSettings &settings, PrunedWeight out) {
  switch (method) {
  case PruneMethod::SparseGpt: {
    auto factor =
        HessianFactor::compute(h, weight.columns, damping, settings.threads);
    if (!factor)
      return factor.takeError();
    return pruneSparseGpt(weight, h, *factor, settings, out);
  }
  case PruneMethod::Wanda:
    return pruneWanda(weight, h, settings, out);
  case PruneMethod::Magnitude:
    return pruneMagnitude(weight, h, settings, out);
  case PruneMethod::KeepSparsity:
    return keepSparsity(weight, h, settings, out);
  }
  return llvm::createStringError("no such method");
}

int main(int argc, char **argv) {
  if (argc != 10)
    return 2;
  std::optional<PruneMethod> method = parsePruneMethod(argv[1]);
  std::string problem;
  std::optional<Pattern> pattern = Pattern::parse(argv[2], problem);
  if (!method || !pattern) {
    llvm::errs() << problem << "\n";
    return 2;
  }
  int64_t rows = std::atoll(argv[3]), columns = std::atoll(argv[4]);
  std::vector<float> w(rows * columns), h(columns * columns), result(w.size());
  if (!read(argv[7], w) || !read(argv[8], h))
    return 2;
  DenseWeight weight = {w.data(), rows, columns};
  std::vector<uint32_t> mask(rows * weight.words());
  PruneSettings settings;
  settings.pattern = *pattern;
  settings.threads = static_cast<unsigned>(std::atoi(argv[6]));
  auto report = prune(*method, std::atof(argv[5]), weight, h.data(), settings,
                      {result.data(), mask.data()});
  if (!report) {
    llvm::errs() << llvm::toString(report.takeError()) << "\n";
    return 1;
  }
  std::string out = argv[9];
  if (!write(out + ".w", result) || !write(out + ".mask", mask))
    return 2;
  std::printf(
      "loss %.17g relative %.17g change %.17g damping %.17g dead %lld\n",
      report->loss, report->relativeLoss, report->relativeChange,
      report->damping, static_cast<long long>(report->deadColumns));
  return 0;
}
