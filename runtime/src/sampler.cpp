// Chooses the next token.

#include "runtime/src/sampler.h"

#include "runtime/src/philox.h"
#include "runtime/src/status.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sdc::rt;

sdc_status sdc::rt::checkSampling(const sdc_sampling &sampling,
                                  sdc_error *error) {
  for (uint32_t word : sampling.reserved)
    if (word != 0)
      return fail(error, SDC_BAD_ARGUMENT,
                  "sdc_sampling.reserved is set, this runtime knows no use for "
                  "it");
  // Written so that NaN fails.
  if (!(sampling.temperature >= 0) || std::isinf(sampling.temperature))
    return fail(error, SDC_BAD_ARGUMENT,
                "temperature is %g, expected a finite number of at least 0",
                double(sampling.temperature));
  if (!(sampling.top_p >= 0))
    return fail(error, SDC_BAD_ARGUMENT, "top_p is %g, expected at least 0",
                double(sampling.top_p));
  if (!(sampling.min_p >= 0 && sampling.min_p <= 1))
    return fail(error, SDC_BAD_ARGUMENT, "min_p is %g, expected 0 to 1",
                double(sampling.min_p));
  if (!(sampling.repeat_penalty >= 0) || std::isinf(sampling.repeat_penalty))
    return fail(error, SDC_BAD_ARGUMENT,
                "repeat_penalty is %g, expected a finite number of at least 0",
                double(sampling.repeat_penalty));
  return SDC_OK;
}

int32_t sdc::rt::greedyToken(const float *logits, uint32_t vocabulary) {
  int32_t best = 0;
  float largest = -INFINITY;
  for (uint32_t i = 0; i < vocabulary; ++i)
    if (logits[i] > largest) {
      largest = logits[i];
      best = int32_t(i);
    }
  return best;
}

double sdc::rt::exponential(double x) {
  if (!(x > -708))
    return 0;
  constexpr double log2e = 0x1.71547652b82fep+0;
  // ln 2 in two parts: the first has zeros at its end, so that n * high is
  // exact.
  constexpr double high = 0x1.62e42feep-1, low = 0x1.a39ef35793c76p-33;
  // Adding and taking away 1.5 * 2^52 rounds to an integer.
  constexpr double rounder = 0x1.8p52;
  double n = (x * log2e + rounder) - rounder;
  double r = (x - n * high) - n * low;
  // Taylor: |r| <= 0.35, so the term after the last is below 2^-60.
  double sum = 0;
  for (int i = 13; i > 0; --i)
    sum = (sum + 1) * r / i;
  sum += 1;
  uint64_t bits = uint64_t(int64_t(n) + 1023) << 52;
  double scale;
  memcpy(&scale, &bits, sizeof(scale));
  return sum * scale;
}

/// Larger logits first, then lower tokens.
static bool comesBefore(const Candidate &a, const Candidate &b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

namespace {
/// Candidates of which only as many are in order as somebody has looked at.
class LazyOrder {
public:
  LazyOrder(Candidate *candidates, uint32_t count)
      : candidates(candidates), count(count) {}

  uint32_t size() const { return count; }
  /// Drops all but the first `size`.
  void shorten(uint32_t size) {
    if (size >= count)
      return;
    order(size);
    count = size;
  }
  const Candidate &operator[](uint32_t index) {
    if (index >= ordered)
      order(std::min(count, std::max(kFirst, 4 * index)));
    return candidates[index];
  }

private:
  static constexpr uint32_t kFirst = 256;

  void order(uint32_t size) {
    if (size <= ordered)
      return;
    Candidate *begin = candidates + ordered;
    if (size < count)
      std::nth_element(begin, candidates + size, candidates + count,
                       comesBefore);
    std::sort(begin, candidates + size, comesBefore);
    ordered = size;
  }

  Candidate *candidates;
  uint32_t count;
  uint32_t ordered = 0;
};
} // namespace

/// Lowers the logits of tokens that were there before.
static void penalize(Candidate *candidates, uint32_t vocabulary, float penalty,
                     const int32_t *history, uint32_t size, uint64_t *seen) {
  for (uint32_t i = 0; i < size; ++i) {
    uint32_t token = uint32_t(history[i]);
    if (token >= vocabulary)
      continue;
    uint64_t bit = uint64_t{1} << (token % 64);
    if (seen[token / 64] & bit)
      continue;
    seen[token / 64] |= bit;
    float &logit = candidates[token].logit;
    if (!std::isinf(logit))
      logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  for (uint32_t i = 0; i < size; ++i)
    if (uint32_t(history[i]) < vocabulary)
      seen[uint32_t(history[i]) / 64] = 0;
}

/// Probabilities without their common factor: that of the most likely is 1.
static double weight(float logit, float largest, double temperature) {
  if (logit == largest)
    return 1;
  return exponential((double(logit) - double(largest)) / temperature);
}

int32_t sdc::rt::sampleToken(const float *logits, uint32_t vocabulary,
                             const sdc_sampling &sampling,
                             const int32_t *history, uint32_t historySize,
                             uint32_t step, SamplerMemory memory) {
  float penalty = sampling.repeat_penalty;
  bool penalizes = penalty != 0 && penalty != 1 && historySize != 0;
  if (sampling.temperature == 0 && !penalizes)
    return greedyToken(logits, vocabulary);

  Candidate *candidates = memory.candidates;
  for (uint32_t i = 0; i < vocabulary; ++i)
    candidates[i] = {std::isnan(logits[i]) ? -INFINITY : logits[i], int32_t(i)};
  if (penalizes)
    penalize(candidates, vocabulary, penalty, history, historySize,
             memory.seen);
  Candidate best =
      *std::min_element(candidates, candidates + vocabulary, comesBefore);
  // Nothing can be drawn where all is impossible.
  if (sampling.temperature == 0 || best.logit == -INFINITY)
    return best.token;

  double temperature = sampling.temperature;
  auto weightOf = [&](const Candidate &candidate) {
    return weight(candidate.logit, best.logit, temperature);
  };
  double total = 0;
  LazyOrder order(candidates, vocabulary);
  if (sampling.top_k != 0)
    order.shorten(sampling.top_k);
  for (uint32_t i = 0; i < order.size(); ++i)
    total += weightOf(candidates[i]);

  // How many stay, and their sum.
  uint32_t kept = order.size();
  bool cutsSum = sampling.top_p > 0 && sampling.top_p < 1;
  if (cutsSum || sampling.min_p > 0) {
    double sum = 0, enough = cutsSum ? sampling.top_p * total : INFINITY;
    uint32_t i = 0;
    for (; i < order.size() && sum < enough; ++i) {
      double next = weightOf(order[i]);
      if (next < double(sampling.min_p))
        break;
      sum += next;
    }
    kept = i;
    total = sum;
  }

  double target =
      uniform(sampling.seed, sampling.prompt, sampling.pass, step) * total;
  double sum = 0;
  for (uint32_t i = 0; i + 1 < kept; ++i) {
    sum += weightOf(order[i]);
    if (sum > target)
      return order[i].token;
  }
  // Rounding may leave the sum just short of the target.
  return order[kept - 1].token;
}
