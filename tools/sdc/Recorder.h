// The recording loop: the dense model writes, wave by wave, and what its
// linears see is summed (compiler/Record).
//
// A rollout is a prompt of P tokens and the G tokens that the model wrote after
// it. Its decode positions are the G - 1 inputs P+1 .. P+G-1: the last prompt
// token is prefill, the last written one is never fed. Rollout r is prompt
// r mod N in pass r / N; its random numbers come from (seed, prompt, pass,
// step), so its tokens do not depend on the batch. The recording ends with the
// first rollout that reaches the budget of decode positions.
//
// After each wave sums and rollouts are written to a checkpoint, by rename. The
// state of a recording is a function of that file, so one that was killed and
// resumed gives the same bytes as one that was not.

#ifndef SDC_TOOLS_SDC_RECORDER_H
#define SDC_TOOLS_SDC_RECORDER_H

#include "compiler/Record/Calibration.h"
#include "sdc/sdc.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sdc {

struct RecorderOptions {
  /// Decode positions to reach (of prompts), or prompt positions (of a text).
  uint64_t budget = 1000000;
  float temperature = 0.7F;
  uint32_t topK = 20;
  float topP = 0.8F;
  uint64_t seed = 0;
  uint32_t maxNew = 16000;
  unsigned threads = 0;
  /// Feed the sequences only; nothing is written, all positions are prompt.
  bool teacherForced = false;
  bool quiet = false;
  std::vector<int32_t> stopTokens;
};

class Recorder {
public:
  /// `model` is a recording build, `prompts` token ids. `info` has linears, keys
  /// and one source; the recorder fills in the rest.
  Recorder(sdc_model *model, RecorderOptions options,
           std::vector<std::vector<int32_t>> prompts, CalibrationInfo info);
  ~Recorder();

  /// Goes on from a checkpoint or a finished file. Prints what keeps it from
  /// that and gives false.
  bool load(const std::string &path);

  /// Records and writes `output`; checkpoints are `output`.partial. Prints
  /// problems and gives false.
  bool record(const std::string &output);

private:
  struct Rollout;

  bool createSession();
  bool runWave(std::vector<Rollout> &wave);
  bool prefill(std::vector<Rollout> &wave);
  bool choose(Rollout &rollout, uint32_t slot);
  void take(const sdc_step &step);
  bool commit(const std::vector<Rollout> &wave, const std::string &path);
  size_t neededRollouts(const std::vector<Rollout> &wave) const;
  size_t nextWaveSize() const;
  uint64_t positionsRecorded() const;
  void restoreSums();
  bool reportStatus(sdc_status status);

  sdc_model *model;
  RecorderOptions options;
  std::vector<std::vector<int32_t>> prompts;
  CalibrationInfo info;
  sdc_session *session = nullptr;
  sdc_error error = {};
  /// One for each of info.keys.
  std::vector<std::unique_ptr<Hessian>> sums;
  /// Index into sums for each tap of an entry kind; built at the first step.
  std::vector<std::vector<size_t>> tapSums;
  std::vector<PositionClass> classes;
  std::string failure;
  std::string checkpoint;
  class Progress *progress = nullptr;
  uint64_t liveCount = 0;
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_RECORDER_H
