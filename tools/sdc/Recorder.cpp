// The recording loop.

#include "tools/sdc/Recorder.h"
#include "tools/sdc/Progress.h"
#include "tools/sdc/Verbs.h"

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace sdc;

/// A sequence of the wave under way; its slot is its place in the wave.
struct Recorder::Rollout {
  uint64_t index = 0; // among all rollouts
  std::vector<int32_t> tokens;
  size_t promptLength = 0;
  bool finished = false;

  size_t written() const { return tokens.size() - promptLength; }
  uint64_t decodePositions() const { return written() > 0 ? written() - 1 : 0; }
};

Recorder::Recorder(sdc_model *model, RecorderOptions options,
                   std::vector<std::vector<int32_t>> prompts,
                   CalibrationInfo info)
    : model(model), options(std::move(options)), prompts(std::move(prompts)),
      info(std::move(info)) {
  for (const CalibrationKey &key : this->info.keys)
    sums.push_back(std::make_unique<Hessian>(key.columns));
  tapSums.resize(3);
}

Recorder::~Recorder() { sdc_session_destroy(session); }

bool Recorder::reportStatus(sdc_status status) {
  if (status == SDC_OK && failure.empty())
    return true;
  printError(failure.empty() ? std::string(error.message) : failure);
  return false;
}

bool Recorder::createSession() {
  sdc_session_options session = {};
  session.struct_size = sizeof(session);
  session.threads = options.threads;
  session.on_step = [](void *user, const sdc_step *step) {
    static_cast<Recorder *>(user)->take(*step);
  };
  session.on_step_user = this;
  if (!reportStatus(
          sdc_session_create(model, &session, &this->session, &error)))
    return false;
  options.threads = sdc_session_threads(this->session);
  return true;
}

/// Adds the taps of one run of an entry to the sums.
void Recorder::take(const sdc_step &step) {
  if (!failure.empty())
    return;
  classes.clear();
  uint64_t counted = 0;
  for (uint32_t row = 0; row < step.rows; ++row) {
    int32_t position = step.positions[row];
    PositionClass kind = position < 0    ? PositionClass::None
                         : position == 0 ? PositionClass::First
                         : step.kind == SDC_ENTRY_DECODE
                             ? PositionClass::Decode
                             : PositionClass::Prompt;
    classes.push_back(kind);
    counted += kind == (options.teacherForced ? PositionClass::Prompt
                                              : PositionClass::Decode);
  }
  std::vector<size_t> &places = tapSums[step.kind];
  if (places.size() != step.tap_count) {
    places.clear();
    for (uint32_t t = 0; t < step.tap_count; ++t) {
      auto it = std::find_if(info.keys.begin(), info.keys.end(),
                             [&](const CalibrationKey &key) {
                               return key.name == step.taps[t].key;
                             });
      if (it == info.keys.end()) {
        failure = std::string("the recording build has an unknown tap ") +
                  step.taps[t].key;
        return;
      }
      places.push_back(static_cast<size_t>(it - info.keys.begin()));
    }
  }
  for (uint32_t t = 0; t < step.tap_count; ++t) {
    const sdc_tap &tap = step.taps[t];
    if (llvm::Error problem = sums[places[t]]->add(tap.values, tap.columns,
                                                   classes, options.threads)) {
      failure =
          std::string(tap.key) + ": " + llvm::toString(std::move(problem));
      return;
    }
  }
  liveCount += counted;
  if (progress)
    progress->update(std::min(liveCount, options.budget));
}

uint64_t Recorder::positionsRecorded() const {
  uint64_t positions = 0;
  for (size_t r = 0; r < info.totalLengths.size(); ++r) {
    auto written =
        static_cast<uint64_t>(info.totalLengths[r] - info.promptLengths[r]);
    positions += options.teacherForced
                     ? static_cast<uint64_t>(info.promptLengths[r] - 1)
                 : written > 0 ? written - 1
                               : 0;
  }
  return positions;
}

/// Rollouts of the next wave: a full batch, or, near the end, about as many as
/// are missing, by the average so far.
size_t Recorder::nextWaveSize() const {
  size_t batch = sdc_session_slots(session);
  uint64_t recorded = positionsRecorded();
  size_t rollouts = info.totalLengths.size();
  if (rollouts == 0 || recorded == 0)
    return batch;
  uint64_t missing = options.budget - recorded;
  uint64_t needed = (missing * rollouts + recorded - 1) / recorded;
  return std::min<uint64_t>(batch, std::max<uint64_t>(1, needed));
}

/// How many of the wave's rollouts, from the first on, reach the budget.
size_t Recorder::neededRollouts(const std::vector<Rollout> &wave) const {
  uint64_t positions = positionsRecorded();
  for (size_t i = 0; i < wave.size(); ++i) {
    positions += options.teacherForced ? wave[i].promptLength - 1
                                       : wave[i].decodePositions();
    if (positions >= options.budget)
      return i + 1;
  }
  return wave.size();
}

bool Recorder::choose(Rollout &rollout, uint32_t slot) {
  sdc_sampling sampling = {};
  sampling.struct_size = sizeof(sampling);
  sampling.temperature = options.temperature;
  sampling.top_k = options.topK;
  sampling.top_p = options.topP;
  sampling.seed = options.seed;
  sampling.prompt = rollout.index % prompts.size();
  sampling.pass = static_cast<uint32_t>(rollout.index / prompts.size());
  int32_t token = 0;
  if (!reportStatus(sdc_slot_sample(session, slot, &sampling,
                                    static_cast<uint32_t>(rollout.written()),
                                    &token, &error)))
    return false;
  rollout.tokens.push_back(token);
  bool stop = std::find(options.stopTokens.begin(), options.stopTokens.end(),
                        token) != options.stopTokens.end();
  rollout.finished =
      stop || rollout.written() >= options.maxNew ||
      sdc_slot_length(session, slot) >= sdc_session_context(session);
  return true;
}

bool Recorder::prefill(std::vector<Rollout> &wave) {
  for (uint32_t slot = 0; slot < wave.size(); ++slot) {
    Rollout &rollout = wave[slot];
    if (!reportStatus(sdc_slot_rewind(session, slot, 0, &error)) ||
        !reportStatus(sdc_prefill(session, slot, rollout.tokens.data(),
                                  rollout.promptLength, &error)))
      return false;
    rollout.finished = options.teacherForced;
    if (!options.teacherForced && !choose(rollout, slot))
      return false;
  }
  return true;
}

bool Recorder::runWave(std::vector<Rollout> &wave) {
  if (!prefill(wave))
    return false;
  std::vector<int32_t> feed(sdc_session_slots(session));
  while (true) {
    bool active = false;
    std::fill(feed.begin(), feed.end(), SDC_NO_TOKEN);
    for (size_t slot = 0; slot < wave.size(); ++slot)
      if (!wave[slot].finished) {
        feed[slot] = wave[slot].tokens.back();
        active = true;
      }
    if (!active)
      return true;
    if (!reportStatus(sdc_decode(session, feed.data(), &error)))
      return false;
    for (uint32_t slot = 0; slot < wave.size(); ++slot)
      if (!wave[slot].finished && !choose(wave[slot], slot))
        return false;
  }
}

/// Adds the wave to the record and writes the checkpoint.
bool Recorder::commit(const std::vector<Rollout> &wave,
                      const std::string &path) {
  for (const Rollout &rollout : wave) {
    info.promptLengths.push_back(static_cast<int32_t>(rollout.promptLength));
    info.totalLengths.push_back(static_cast<int32_t>(rollout.tokens.size()));
    info.tokens.insert(info.tokens.end(), rollout.tokens.begin(),
                       rollout.tokens.end());
  }
  std::vector<const Hessian *> views;
  for (std::unique_ptr<Hessian> &sum : sums) {
    sum->finishWave(options.threads);
    views.push_back(sum.get());
  }
  if (llvm::Error problem = writeCalibration(path, info, views)) {
    printError(llvm::toString(std::move(problem)));
    return false;
  }
  checkpoint = path;
  return true;
}

/// Takes the sums back to the last checkpoint, or to nothing.
void Recorder::restoreSums() {
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = std::make_unique<Hessian>(info.keys[i].columns);
  if (checkpoint.empty())
    return;
  llvm::Expected<Calibration> file = Calibration::open(checkpoint);
  if (!file) {
    failure = llvm::toString(file.takeError());
    return;
  }
  std::vector<float> triangle;
  for (size_t i = 0; i < sums.size(); ++i) {
    const CalibrationKey *key = file->info().findKey(info.keys[i].name);
    for (unsigned c = 0; key && c < kPositionClasses; ++c) {
      auto kind = static_cast<PositionClass>(c);
      if (key->counts[c] == 0)
        continue;
      if (llvm::Error problem = file->triangle(key->name, kind, triangle)) {
        failure = llvm::toString(std::move(problem));
        return;
      }
      sums[i]->load(kind, triangle, key->counts[c]);
    }
  }
}

bool Recorder::load(const std::string &path) {
  llvm::Expected<Calibration> file = Calibration::open(path);
  if (!file) {
    printError(llvm::toString(file.takeError()));
    return false;
  }
  const CalibrationInfo &saved = file->info();
  if (saved.sources.size() != 1) {
    printError(path + ": is a merge of " +
               std::to_string(saved.sources.size()) +
               " recordings and cannot be resumed");
    return false;
  }
  bool good = true;
  for (const auto &[name, value] : info.sources.front()) {
    auto it = saved.sources.front().find(name);
    std::string was = it == saved.sources.front().end() ? "" : it->second;
    // The budget may grow, and the batch does not change the tokens; all else
    // would mix two recordings.
    if (name == "tokens" || name == "batch" || was == value)
      continue;
    printError(path + ": was recorded with " + name + " '" + was +
                   "', not with '" + value + "'",
               "drop --resume to record anew");
    good = false;
  }
  if (!good)
    return false;
  info.promptLengths = saved.promptLengths;
  info.totalLengths = saved.totalLengths;
  info.tokens = saved.tokens;
  checkpoint = path;
  restoreSums();
  return reportStatus(SDC_OK);
}

bool Recorder::record(const std::string &output) {
  if (!createSession())
    return false;
  std::string partial = output + ".partial";
  liveCount = positionsRecorded();
  Progress bar(options.teacherForced ? "reading" : "recording", "positions",
               options.budget, options.quiet, liveCount);
  progress = &bar;
  // Without sampling, or with a text, another pass repeats the first.
  bool onePass = options.teacherForced || options.temperature == 0;
  while (positionsRecorded() < options.budget) {
    uint64_t next = info.totalLengths.size();
    if (onePass && next >= prompts.size())
      break;
    std::vector<Rollout> wave(nextWaveSize());
    if (onePass)
      wave.resize(std::min<uint64_t>(wave.size(), prompts.size() - next));
    for (size_t i = 0; i < wave.size(); ++i) {
      wave[i].index = next + i;
      wave[i].tokens = prompts[(next + i) % prompts.size()];
      wave[i].promptLength = wave[i].tokens.size();
    }
    if (!runWave(wave))
      return false;
    // Rollouts after the one that reaches the budget do not belong to the
    // record, but are in its sums: the wave is done again without them.
    size_t needed = neededRollouts(wave);
    if (needed < wave.size()) {
      restoreSums();
      liveCount = positionsRecorded();
      wave.resize(needed);
      for (Rollout &rollout : wave)
        rollout.tokens.resize(rollout.promptLength);
      if (!reportStatus(SDC_OK) || !runWave(wave))
        return false;
    }
    uint64_t before = positionsRecorded();
    if (!commit(wave, partial))
      return false;
    bool passDone = info.totalLengths.size() / prompts.size() !=
                    (info.totalLengths.size() - wave.size()) / prompts.size();
    if (positionsRecorded() == before && passDone && before == 0) {
      printError("the model ended every text with its first token: there are "
                 "no decode positions to record",
                 "an instruct model wants its chat template, a base model "
                 "--raw");
      return false;
    }
  }
  progress = nullptr;
  bar.finish();
  uint64_t recorded = positionsRecorded();
  if (recorded < options.budget && !options.quiet)
    printWarning("recorded " + std::to_string(recorded) + " of " +
                 std::to_string(options.budget) + " positions: " +
                 (options.teacherForced
                      ? std::string("the text is over")
                      : "greedy sampling would repeat itself"));
  // The finished file is the last checkpoint under its final name.
  if (checkpoint == partial &&
      std::rename(partial.c_str(), output.c_str()) != 0) {
    printError(output + ": cannot be written");
    return false;
  }
  return true;
}
