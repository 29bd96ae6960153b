// sdc bench: prompt and decode speed of one or more executables. Several files
// take turns, repetition by repetition, so that their ratio survives a machine
// whose speed drifts.

#include "sdc/sdc.h"
#include "tools/sdc/BenchKernels.h"
#include "tools/sdc/BenchTable.h"
#include "tools/sdc/DeviceOption.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/PrintJson.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

using namespace sdc;
using Json = nlohmann::ordered_json;

namespace {

struct BenchOptions {
  CommonOptions common;
  std::vector<std::string> models;
  uint32_t prompt = 512;
  uint32_t tokens = 128;
  std::vector<uint32_t> depths = {0};
  uint32_t repetitions = 5;
  uint32_t warmup = 1;
  std::string output = "md";
  std::string device = "cpu";
};

/// One executable under measurement.
struct Subject {
  std::string path;
  sdc_model *model = nullptr;
  sdc_session *session = nullptr;
  sdc_model_info info = {};
  std::string pattern;

  ~Subject() {
    sdc_session_destroy(session);
    sdc_model_close(model);
  }
};

/// One line of the table: one test of one subject.
struct Series {
  std::string test;
  uint32_t depth = 0;
  /// Tokens a second, one for each repetition.
  std::vector<double> rates;
  /// Milliseconds of each token of all repetitions; empty for prompts.
  std::vector<double> milliseconds;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double place = q * static_cast<double>(values.size() - 1);
  auto low = static_cast<size_t>(place);
  size_t high = std::min(low + 1, values.size() - 1);
  return values[low] +
         (values[high] - values[low]) * (place - std::floor(place));
}

double mean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double> &values) {
  if (values.size() < 2)
    return 0;
  double centre = mean(values), sum = 0;
  for (double value : values)
    sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The pattern of most weight bytes: "16:32", "dense".
std::string mainPattern(const sdc_model *model, uint32_t count) {
  std::map<std::string, uint64_t> bytes;
  for (uint32_t i = 0; i < count; ++i) {
    sdc_weight_info weight = {};
    weight.struct_size = sizeof(weight);
    if (!sdc_model_weight(model, i, &weight) || !*weight.tile)
      continue;
    std::string name = weight.pattern_m
                           ? std::to_string(weight.pattern_n) + ":" +
                                 std::to_string(weight.pattern_m)
                           : "dense";
    bytes[name] += weight.bytes;
  }
  std::string best = "dense";
  uint64_t most = 0;
  for (auto &[name, size] : bytes) {
    // A dense head does not make a sparse model dense.
    if (name == "dense" && bytes.size() > 1)
      continue;
    if (size > most) {
      most = size;
      best = name;
    }
  }
  return best;
}

bool openSubject(const BenchOptions &options, Subject &subject) {
  subject.model = openModel(subject.path).release();
  if (!subject.model)
    return false;
  sdc_error error = {};
  subject.info.struct_size = sizeof(subject.info);
  sdc_model_query(subject.model, &subject.info);
  if (subject.info.plain) {
    printError(subject.path + ": a plain graph has no decode step to measure");
    return false;
  }
  subject.pattern = mainPattern(subject.model, subject.info.weight_count);
  sdc_session_options session = {};
  session.struct_size = sizeof(session);
  session.threads = options.common.threads;
  session.slots = 1;
  chooseDevice(options.device, session);
  if (sdc_session_create(subject.model, &session, &subject.session, &error) !=
      SDC_OK) {
    printError(subject.path + ": " + error.message);
    return false;
  }
  uint32_t deepest =
      *std::max_element(options.depths.begin(), options.depths.end());
  // The loop on a GPU begins with a prompt of one token.
  uint64_t needed =
      uint64_t(deepest) + std::max(uint64_t(options.prompt),
                                   uint64_t(options.tokens) + options.warmup +
                                       (isCuda(options.device) ? 1 : 0));
  if (needed > subject.info.context) {
    printError(subject.path + ": needs a context of " + std::to_string(needed) +
                   ", was compiled for " + std::to_string(subject.info.context),
               "compile with --context " + std::to_string(needed) +
                   ", or lower -d, -p or -n");
    return false;
  }
  return true;
}

std::vector<int32_t> randomTokens(uint32_t vocabulary, size_t count) {
  std::mt19937 random(0);
  std::vector<int32_t> tokens(count);
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(random() % vocabulary);
  return tokens;
}

bool report(const Subject &subject, sdc_status status, const sdc_error &error) {
  if (status == SDC_OK)
    return true;
  printError(subject.path + ": " + error.message);
  return false;
}

/// Brings slot 0 to exactly `depth` tokens.
bool fill(Subject &subject, uint32_t depth) {
  sdc_error error = {};
  uint32_t held = sdc_slot_length(subject.session, 0);
  if (!report(
          subject,
          sdc_slot_rewind(subject.session, 0, std::min(held, depth), &error),
          error))
    return false;
  held = sdc_slot_length(subject.session, 0);
  if (held == depth)
    return true;
  std::vector<int32_t> tokens = randomTokens(subject.info.vocabulary, depth);
  return report(subject,
                sdc_prefill(subject.session, 0, tokens.data() + held,
                            depth - held, &error),
                error);
}

bool measurePrompt(Subject &subject, uint32_t depth, uint32_t count,
                   Series &series) {
  if (!fill(subject, depth))
    return false;
  std::vector<int32_t> tokens = randomTokens(subject.info.vocabulary, count);
  sdc_error error = {};
  double start = now();
  if (!report(subject,
              sdc_prefill(subject.session, 0, tokens.data(), count, &error),
              error))
    return false;
  series.rates.push_back(count / (now() - start));
  return true;
}

/// Greedy steps, each with its choice of a token, as a user has them.
bool measureDecode(Subject &subject, const BenchOptions &options,
                   uint32_t depth, Series &series) {
  if (!fill(subject, depth))
    return false;
  sdc_error error = {};
  std::vector<int32_t> feed(sdc_session_slots(subject.session), SDC_NO_TOKEN);
  feed[0] = 1 % static_cast<int32_t>(subject.info.vocabulary);
  double total = 0;
  for (uint32_t step = 0; step < options.warmup + options.tokens; ++step) {
    double start = now();
    if (!report(subject, sdc_decode(subject.session, feed.data(), &error),
                error) ||
        !report(subject,
                sdc_slot_sample(subject.session, 0, nullptr, step, feed.data(),
                                &error),
                error))
      return false;
    double seconds = now() - start;
    if (step < options.warmup)
      continue;
    total += seconds;
    series.milliseconds.push_back(seconds * 1e3);
  }
  series.rates.push_back(options.tokens / total);
  return true;
}

/// When tokens arrive.
struct Arrivals {
  std::vector<double> times;
  static bool take(void *user, int32_t) {
    static_cast<Arrivals *>(user)->times.push_back(now());
    return true;
  }
};

/// Greedy steps of the loop that does not wait for the host: a token's time is
/// from the arrival of the one before it to its own.
bool measureLoop(Subject &subject, const BenchOptions &options, uint32_t depth,
                 Series &series) {
  if (!fill(subject, depth))
    return false;
  Arrivals arrivals;
  sdc_generate_options generate = {};
  generate.struct_size = sizeof(generate);
  // The first comes out of the prompt.
  generate.max_new = options.warmup + options.tokens + 1;
  generate.on_token = Arrivals::take;
  generate.on_token_user = &arrivals;
  arrivals.times.reserve(generate.max_new);
  int32_t prompt = 1 % static_cast<int32_t>(subject.info.vocabulary);
  sdc_error error = {};
  if (!report(subject,
              sdc_generate(subject.session, 0, &prompt, 1, &generate, nullptr,
                           &error),
              error))
    return false;
  const std::vector<double> &times = arrivals.times;
  for (size_t i = options.warmup + 1; i < times.size(); ++i)
    series.milliseconds.push_back((times[i] - times[i - 1]) * 1e3);
  series.rates.push_back(options.tokens /
                         (times.back() - times[options.warmup]));
  return true;
}

/// What is measured at each depth.
enum class Test { Prompt, Decode, Loop };

std::string testName(Test test, const BenchOptions &options) {
  switch (test) {
  case Test::Prompt:
    return "pp" + std::to_string(options.prompt);
  case Test::Loop:
    return "tg" + std::to_string(options.tokens);
  case Test::Decode:
    return "tg" + std::to_string(options.tokens) +
           (isCuda(options.device) ? " sync" : "");
  }
  return "";
}

/// On a GPU decoding is measured twice: as the loop runs, and with a wait and a
/// choice by the host after each step (sync).
std::vector<Test> testsOf(const BenchOptions &options) {
  std::vector<Test> tests;
  if (options.prompt != 0)
    tests.push_back(Test::Prompt);
  if (options.tokens != 0 && isCuda(options.device))
    tests.push_back(Test::Loop);
  if (options.tokens != 0)
    tests.push_back(Test::Decode);
  return tests;
}

bool measure(Test test, Subject &subject, const BenchOptions &options,
             uint32_t depth, Series &series) {
  switch (test) {
  case Test::Prompt:
    return measurePrompt(subject, depth, options.prompt, series);
  case Test::Loop:
    return measureLoop(subject, options, depth, series);
  case Test::Decode:
    return measureDecode(subject, options, depth, series);
  }
  return false;
}

std::string format(const char *pattern, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), pattern, value);
  return buffer;
}

std::string baseName(const std::string &path) {
  return path.substr(path.find_last_of('/') + 1);
}

Row makeRow(const Subject &subject, const Series &series, const Series *base) {
  double rate = quantile(series.rates, 0.5);
  Row row = {
      {"model", baseName(subject.path)},
      {"size",
       format("%.2f MiB",
              static_cast<double>(subject.info.weight_bytes) / 1048576)},
      {"pattern", subject.pattern},
      {"level", subject.info.level},
      {"threads", std::to_string(sdc_session_threads(subject.session))},
      {"test", series.test +
                   (series.depth ? " @ d" + std::to_string(series.depth) : "")},
      {"t/s", format("%.2f", mean(series.rates)) + " ± " +
                  format("%.2f", deviation(series.rates))},
      {"ms median", series.milliseconds.empty()
                        ? ""
                        : format("%.3f", quantile(series.milliseconds, 0.5))},
      {"ms p99", series.milliseconds.empty()
                     ? ""
                     : format("%.3f", quantile(series.milliseconds, 0.99))}};
  if (base)
    row.push_back({"ratio", format("%.3f", rate / quantile(base->rates, 0.5))});
  return row;
}

Json makeJson(const Subject &subject, const Series &series,
              const Series *base) {
  Json json = {{"model", subject.path},
               {"weight_bytes", subject.info.weight_bytes},
               {"pattern", subject.pattern},
               {"level", subject.info.level},
               {"threads", sdc_session_threads(subject.session)},
               {"test", series.test},
               {"depth", series.depth},
               {"tokens_per_second", series.rates},
               {"tokens_per_second_median", quantile(series.rates, 0.5)}};
  if (!series.milliseconds.empty()) {
    json["ms_median"] = quantile(series.milliseconds, 0.5);
    json["ms_p99"] = quantile(series.milliseconds, 0.99);
    json["ms_min"] = quantile(series.milliseconds, 0);
  }
  if (base)
    json["ratio"] = quantile(series.rates, 0.5) / quantile(base->rates, 0.5);
  return json;
}

int bench(const BenchOptions &options) {
  std::vector<std::unique_ptr<Subject>> subjects;
  bool opened = true;
  for (const std::string &path : options.models) {
    subjects.push_back(std::make_unique<Subject>());
    subjects.back()->path = path;
    opened &= openSubject(options, *subjects.back());
  }
  if (!opened)
    return 1;

  // all[s] holds the series of subject s, in the order of the tests.
  std::vector<std::vector<Series>> all(subjects.size());
  for (uint32_t depth : options.depths)
    for (Test test : testsOf(options)) {
      for (std::vector<Series> &series : all)
        series.push_back({testName(test, options), depth, {}, {}});
      for (uint32_t r = 0; r < options.repetitions; ++r)
        for (size_t s = 0; s < subjects.size(); ++s) {
          Series &series = all[s].back();
          if (!options.common.quiet)
            std::fprintf(stderr, "\r%s %s, repetition %u of %u   ",
                         baseName(subjects[s]->path).c_str(),
                         series.test.c_str(), r + 1, options.repetitions);
          if (!measure(test, *subjects[s], options, depth, series))
            return 1;
        }
    }
  if (!options.common.quiet)
    std::fprintf(stderr, "\r%60s\r", "");

  std::vector<Row> rows;
  Json json = Json::array();
  for (size_t t = 0; t < all.front().size(); ++t)
    for (size_t s = 0; s < subjects.size(); ++s) {
      const Series *base = s > 0 ? &all[0][t] : nullptr;
      rows.push_back(makeRow(*subjects[s], all[s][t], base));
      json.push_back(makeJson(*subjects[s], all[s][t], base));
    }
  if (rows.empty())
    return usageError("bench: nothing to measure: -p and -n are both 0");
  std::vector<std::vector<KernelTime>> kernels(subjects.size());
  bool profiles = isCuda(options.device) && options.tokens != 0;
  for (size_t s = 0; s < subjects.size() && profiles; ++s) {
    std::string problem;
    if (!measureKernels(subjects[s]->model, options.device,
                        options.depths.back(), std::min(options.tokens, 20U),
                        kernels[s], problem)) {
      printError(subjects[s]->path + ": " + problem);
      return 1;
    }
  }
  bool asJson = options.common.json || options.output == "json";
  for (size_t s = 0; s < subjects.size(); ++s) {
    if (!kernels[s].empty())
      json.push_back({{"model", subjects[s]->path},
                      {"test", "kernels"},
                      {"depth", options.depths.back()},
                      {"kernels", kernelsJson(kernels[s])}});
  }
  if (asJson)
    printJson(json);
  else if (options.output == "csv")
    printCsv(rows);
  else
    printMarkdown(rows);
  for (size_t s = 0; s < subjects.size(); ++s)
    if (!asJson && options.output == "md" && !kernels[s].empty())
      printKernels(baseName(subjects[s]->path), kernels[s]);
  return 0;
}

} // namespace

VerbAction sdc::setupBench(CLI::App &verb) {
  auto options = std::make_shared<BenchOptions>();
  verb.add_option("MODEL", options->models,
                  "Executables; those after the first get their ratio to it")
      ->required();
  verb.add_option("-p", options->prompt, "Tokens of a prompt; 0: none")
      ->capture_default_str();
  verb.add_option("-n", options->tokens, "Tokens to write; 0: none")
      ->capture_default_str();
  verb.add_option("-d", options->depths, "Tokens in the context before each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb.add_option("-r", options->repetitions, "Repetitions of each test")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("-w", options->warmup,
                  "Tokens to write, not measured, before each -n")
      ->capture_default_str();
  verb.add_option("-o", options->output, "md, csv or json")
      ->check(CLI::IsMember({"md", "csv", "json"}))
      ->capture_default_str();
  addDeviceOption(verb, options->device);
  addCommonOptions(verb, options->common);
  return [options] { return bench(*options); };
}
