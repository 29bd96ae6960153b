// sdc verify: structure, digests, bits of every mask word, and, against ONNX
// test data, numbers.

#include "kernels/Format/Bitmask.h"
#include "sdc/sdc.h"
#include "tools/sdc/DeviceOption.h"
#include "tools/sdc/Numbers.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/PrintJson.h"
#include "tools/sdc/SparseReference.h"
#include "tools/sdc/Verbs.h"
#include "tools/sdc/VerifyNumbers.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sdc;
using Json = nlohmann::ordered_json;

namespace {

struct VerifyOptions {
  CommonOptions common;
  std::string model;
  std::string onnx;
  std::vector<std::string> testData;
  Tolerance tolerance;
  std::string device = "cpu";
};

/// What the masks of all packed weights add up to.
struct MaskCounts {
  uint64_t weights = 0;
  uint64_t sparse = 0;
  /// Not in the file, so not looked at.
  uint64_t generated = 0;
  uint64_t words = 0;
};

/// Checks every word of every packed weight; prints each weight that is wrong.
bool verifyMasks(const std::string &path, const sdc_model *model,
                 MaskCounts &counts) {
  bool good = true;
  sdc_weight_info weight = {};
  weight.struct_size = sizeof(weight);
  for (uint32_t i = 0; sdc_model_weight(model, i, &weight); ++i) {
    ++counts.weights;
    counts.generated += weight.data == nullptr;
    if (!*weight.tile || !weight.data)
      continue;
    std::string problem;
    std::optional<Tile> tile = Tile::parse(weight.tile, problem);
    PackedLayout layout;
    if (tile && weight.rank == 2) {
      layout.rows = weight.shape[0];
      layout.columns = weight.shape[1];
      layout.tile = *tile;
      layout.type = weight.element == SDC_F32   ? ElementType::F32
                    : weight.element == SDC_F16 ? ElementType::F16
                                                : ElementType::BF16;
      layout.pattern = weight.pattern_m
                           ? Pattern{weight.pattern_n, weight.pattern_m}
                           : Pattern::dense();
      problem = layout.problem();
      if (problem.empty() &&
          static_cast<uint64_t>(layout.packedSize()) != weight.bytes)
        problem = "has " + std::to_string(weight.bytes) + " bytes, expected " +
                  std::to_string(layout.packedSize());
    } else if (problem.empty()) {
      problem = "has rank " + std::to_string(weight.rank) + ", expected 2";
    }
    if (problem.empty()) {
      if (std::optional<FormatProblem> found =
              verifyBlocks(layout, 0, layout.numBlocks(),
                           static_cast<const uint8_t *>(weight.data)))
        problem = found->str();
      if (!layout.pattern.isDense()) {
        ++counts.sparse;
        counts.words += static_cast<uint64_t>(layout.numBlocks()) *
                        layout.tile.rows * layout.numWords();
      }
    }
    if (!problem.empty()) {
      printError(path + ": weight " + weight.name + ": " + problem);
      good = false;
    }
  }
  return good;
}

bool isSparse(const sdc_model *model) {
  sdc_weight_info weight = {};
  weight.struct_size = sizeof(weight);
  for (uint32_t i = 0; sdc_model_weight(model, i, &weight); ++i)
    if (weight.pattern_m)
      return true;
  return false;
}

std::unique_ptr<sdc_session, void (*)(sdc_session *)>
makeSession(const std::string &path, sdc_model *model, unsigned threads,
            const std::string &device) {
  sdc_session_options options = {};
  options.struct_size = sizeof(options);
  options.threads = threads;
  chooseDevice(device, options);
  sdc_session *session = nullptr;
  sdc_error error = {};
  if (sdc_session_create(model, &options, &session, &error) != SDC_OK)
    printError(path + ": " + error.message);
  return {session, sdc_session_destroy};
}

/// Replaces the outputs of `data` by what a dense build of the same graph with
/// the unpacked weights gives.
bool useSparseReference(const VerifyOptions &options, const sdc_model *model,
                        std::vector<TestData> &sets) {
  if (options.onnx.empty()) {
    usageError("verify: the executable is sparse, so stored outputs do not "
               "apply",
               "--onnx MODEL gives the graph to run with the unpacked weights");
    return false;
  }
  return computeSparseReference(options.onnx, model, options.common.threads,
                                sets);
}

/// Compares all test data; gives false if something differs or cannot run.
bool verifyNumbers(const VerifyOptions &options, sdc_model *model, Json &json) {
  std::vector<TestData> sets;
  for (const std::string &folder : options.testData)
    if (!readTestData(folder, sets))
      return false;
  if (isSparse(model) && !useSparseReference(options, model, sets))
    return false;
  auto session =
      makeSession(options.model, model, options.common.threads, options.device);
  if (!session)
    return false;
  bool good = true;
  for (TestData &data : sets) {
    std::vector<Difference> differences;
    if (!compareWithTestData(model, session.get(), data, options.tolerance,
                             differences))
      return false;
    double largest = 0;
    int64_t compared = 0;
    const Difference *first = nullptr;
    for (const Difference &difference : differences) {
      largest = std::max(largest, difference.largest);
      compared += difference.compared;
      if (!first && !difference.place.empty())
        first = &difference;
    }
    Json entry = {{"test_data", data.folder},
                  {"elements", compared},
                  {"largest_difference", largest},
                  {"equal", first == nullptr}};
    if (first) {
      good = false;
      entry["first"] = {{"tensor", first->tensor},
                        {"place", first->place},
                        {"got", first->got},
                        {"expected", first->expected}};
      char text[256];
      std::snprintf(text, sizeof(text),
                    "%s differs first at %s: got %.9g, expected %.9g (largest "
                    "difference of this tensor %.3g)",
                    first->tensor.c_str(), first->place.c_str(), first->got,
                    first->expected, first->largest);
      printError(data.folder + ": " + text);
    } else if (!options.common.json && !options.common.quiet) {
      std::printf("%s: %lld elements, largest difference %.3g\n",
                  data.folder.c_str(), static_cast<long long>(compared),
                  largest);
    }
    json["numbers"].push_back(entry);
  }
  return good;
}

int verify(const VerifyOptions &options) {
  if (!options.onnx.empty() && options.testData.empty())
    return usageError("verify: --onnx needs --test-data DIR");
  sdc_open_options open = {};
  open.struct_size = sizeof(open);
  open.flags = SDC_OPEN_VERIFY_WEIGHTS;
  if (options.testData.empty())
    open.flags |= SDC_OPEN_WITHOUT_CODE;
  ModelHandle model = openModel(options.model, &open);
  if (!model)
    return 1;
  sdc_model *opened = model.get();

  MaskCounts counts;
  bool good = verifyMasks(options.model, opened, counts);
  Json json = {{"file", options.model},
               {"digests", true},
               {"weights", counts.weights},
               {"sparse_weights", counts.sparse},
               {"mask_words", counts.words},
               {"masks", good},
               {"generated_weights", counts.generated}};
  if (good && !options.common.json && !options.common.quiet)
    std::printf("%s: structure and digests hold; %llu mask words in %llu "
                "sparse weights, each with exactly N bits in every group\n",
                options.model.c_str(),
                static_cast<unsigned long long>(counts.words),
                static_cast<unsigned long long>(counts.sparse));
  if (counts.generated != 0 && !options.common.json && !options.common.quiet)
    std::printf("%s: %llu weights are generated on the device, so they were "
                "not looked at\n",
                options.model.c_str(),
                static_cast<unsigned long long>(counts.generated));
  if (good && !options.testData.empty())
    good = verifyNumbers(options, opened, json);
  json["good"] = good;
  if (options.common.json)
    printJson(json);
  return good ? 0 : 1;
}

} // namespace

VerbAction sdc::setupVerify(CLI::App &verb) {
  auto options = std::make_shared<VerifyOptions>();
  verb.add_option("MODEL", options->model, "The executable, an .sdx file")
      ->required();
  verb.add_option("--onnx", options->onnx,
                  "The model that a sparse executable was made of: the "
                  "reference is its graph with the unpacked weights");
  verb.add_option("--test-data", options->testData,
                  "Folder of ONNX test data: input_N.pb and output_N.pb, or "
                  "test_data_set_* folders")
      ->allow_extra_args(false)
      ->take_all();
  verb.add_option("--atol", options->tolerance.absolute,
                  "Absolute part of the tolerance")
      ->check(realNumber(0, 1e9))
      ->capture_default_str();
  verb.add_option("--rtol", options->tolerance.relative,
                  "Relative part of the tolerance")
      ->check(realNumber(0, 1e9))
      ->capture_default_str();
  addDeviceOption(verb, options->device);
  addCommonOptions(verb, options->common);
  return [options] { return verify(*options); };
}
