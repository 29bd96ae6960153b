// What a calibration file holds, and how far it is from another.

#include "compiler/Record/Calibration.h"
#include "compiler/Record/Discrepancy.h"
#include "tools/sdc/Inspect.h"
#include "tools/sdc/PrintJson.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

using namespace sdc;
using Json = nlohmann::ordered_json;

namespace {

/// Share of the directions that a discrepancy is about.
constexpr double kShare = 0.1;

bool open(const std::string &path, std::optional<Calibration> &calibration) {
  llvm::Expected<Calibration> opened = Calibration::open(path);
  if (!opened) {
    printError(llvm::toString(opened.takeError()));
    return false;
  }
  calibration.emplace(std::move(*opened));
  return true;
}

Json describe(const Calibration &calibration) {
  const CalibrationInfo &info = calibration.info();
  size_t written = 0;
  for (size_t i = 0; i < info.totalLengths.size(); ++i)
    written +=
        static_cast<size_t>(info.totalLengths[i] - info.promptLengths[i]);
  Json json = {{"file", calibration.path()},
               {"linears", info.linears.size()},
               {"rollouts", info.totalLengths.size()},
               {"tokens", info.tokens.size()},
               {"written_tokens", written},
               {"sources", Json::array()},
               {"keys", Json::array()}};
  for (const RecordSettings &source : info.sources)
    json["sources"].push_back(source);
  for (const CalibrationKey &key : info.keys)
    json["keys"].push_back({{"name", key.name},
                            {"columns", key.columns},
                            {"decode", key.counts[0]},
                            {"prompt", key.counts[1]},
                            {"first", key.counts[2]}});
  return json;
}

void print(const Json &json) {
  std::printf("%s: %zu linears, %zu distinct inputs; %zu rollouts of %zu "
              "tokens, %zu of them written\n",
              json["file"].get<std::string>().c_str(),
              json["linears"].get<size_t>(), json["keys"].size(),
              json["rollouts"].get<size_t>(), json["tokens"].get<size_t>(),
              json["written_tokens"].get<size_t>());
  for (const Json &source : json["sources"]) {
    std::printf("recorded with");
    for (const auto &[name, value] : source.items())
      std::printf(" %s=%s", name.c_str(), value.get<std::string>().c_str());
    std::printf("\n");
  }
  bool compared = json.contains("against");
  std::printf("\n%-24s %8s %10s %10s %8s%s\n", "input", "columns", "decode",
              "prompt", "first", compared ? "  discrepancy" : "");
  for (const Json &key : json["keys"]) {
    std::printf("%-24s %8lld %10lld %10lld %8lld",
                key["name"].get<std::string>().c_str(),
                key["columns"].get<long long>(), key["decode"].get<long long>(),
                key["prompt"].get<long long>(), key["first"].get<long long>());
    if (key.contains("discrepancy"))
      std::printf("  %11.4f", key["discrepancy"].get<double>());
    std::printf("\n");
  }
  if (compared)
    std::printf("\nmedian discrepancy to %s: %.4f (0: equal; 1: a direction "
                "is missing or twice as strong), over the strongest %.0f%% "
                "of directions\n",
                json["against"].get<std::string>().c_str(),
                json["median_discrepancy"].get<double>(), 100 * kShare);
}

/// Adds the discrepancies to `json`.
bool compare(const Calibration &reference, const std::string &against,
             const CommonOptions &common, Json &json) {
  std::optional<Calibration> other;
  if (!open(against, other))
    return false;
  llvm::Expected<std::vector<Discrepancy>> found = compareCalibrations(
      reference, *other, PositionWeights(), kShare,
      common.threads ? common.threads
                     : std::max(1U, std::thread::hardware_concurrency()));
  if (!found) {
    printError(llvm::toString(found.takeError()));
    return false;
  }
  std::vector<double> values;
  for (const Discrepancy &discrepancy : *found) {
    values.push_back(discrepancy.value);
    for (Json &key : json["keys"])
      if (key["name"] == discrepancy.key)
        key["discrepancy"] = discrepancy.value;
  }
  std::sort(values.begin(), values.end());
  json["against"] = against;
  json["median_discrepancy"] = values[values.size() / 2];
  return true;
}

} // namespace

int sdc::inspectCalibration(const std::string &path, const std::string &against,
                            const CommonOptions &common) {
  std::optional<Calibration> calibration;
  if (!open(path, calibration))
    return 1;
  Json json = describe(*calibration);
  if (!against.empty() && !compare(*calibration, against, common, json))
    return 1;
  if (common.json)
    printJson(json);
  else
    print(json);
  return 0;
}
