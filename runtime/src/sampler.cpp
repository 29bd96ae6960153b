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
  // Lanes of maxima, then the first token that has the largest: two passes that
  // become vector code. A comparison with NaN is false, so it never wins.
  constexpr uint32_t kLanes = 16;
  float lanes[kLanes];
  for (float &lane : lanes)
    lane = -INFINITY;
  uint32_t whole = vocabulary / kLanes * kLanes;
  for (uint32_t i = 0; i < whole; i += kLanes)
    for (uint32_t j = 0; j < kLanes; ++j)
      lanes[j] = logits[i + j] > lanes[j] ? logits[i + j] : lanes[j];
  float largest = -INFINITY;
  for (float lane : lanes)
    largest = lane > largest ? lane : largest;
  for (uint32_t i = whole; i < vocabulary; ++i)
    largest = logits[i] > largest ? logits[i] : largest;
  if (largest == -INFINITY)
    return 0;
  for (uint32_t i = 0; i < vocabulary; ++i)
    if (logits[i] == largest)
      return int32_t(i);
  return 0;
}

/// 1/n!, rounded.
static constexpr double kInverseFactorials[] = {1.0,
                                                1.0,
                                                1.0 / 2,
                                                1.0 / 6,
                                                1.0 / 24,
                                                1.0 / 120,
                                                1.0 / 720,
                                                1.0 / 5040,
                                                1.0 / 40320,
                                                1.0 / 362880,
                                                1.0 / 3628800,
                                                1.0 / 39916800,
                                                1.0 / 479001600,
                                                1.0 / 6227020800};

/// Without a branch, so that a loop over it becomes vector code.
static inline double exponentialOf(double x) {
  bool tiny = !(x > -708);
  x = tiny ? 0 : x;
  constexpr double log2e = 0x1.71547652b82fep+0;
  // ln 2 in two parts: the first has zeros at its end, so that n * high is
  // exact.
  constexpr double high = 0x1.62e42feep-1, low = 0x1.a39ef35793c76p-33;
  // Adding 1.5 * 2^52 rounds to an integer, which is then in the low bits.
  constexpr double rounder = 0x1.8p52;
  double shifted = x * log2e + rounder;
  double n = shifted - rounder;
  double r = (x - n * high) - n * low;
  // Taylor: |r| <= 0.35, so the term after the last is below 2^-60.
  double sum = kInverseFactorials[13];
  for (int i = 12; i >= 0; --i)
    sum = sum * r + kInverseFactorials[i];
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 1023) << 52;
  double scale;
  memcpy(&scale, &bits, sizeof(scale));
  return tiny ? 0 : sum * scale;
}

double sdc::rt::exponential(double x) { return exponentialOf(x); }

static float withoutNaN(float logit) {
  return std::isnan(logit) ? -INFINITY : logit;
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
  /// Drops all but the first `size`, and brings those into order.
  void shorten(uint32_t size) {
    order(std::min(size, count));
    count = std::min(size, count);
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
static inline double weight(float logit, float largest, double temperature) {
  // An infinite logit is the largest, and infinity less infinity is NaN.
  double below = logit == largest ? 0 : double(logit) - double(largest);
  return exponentialOf(below / temperature);
}

/// The sum of all weights, in order.
static double sumWeights(const Candidate *candidates, uint32_t count,
                         float largest, double temperature) {
  constexpr uint32_t kBlock = 64;
  double sum = 0, weights[kBlock];
  for (uint32_t i = 0; i < count; i += kBlock) {
    uint32_t size = std::min(kBlock, count - i);
    for (uint32_t j = 0; j < size; ++j)
      weights[j] = weight(candidates[i + j].logit, largest, temperature);
    for (uint32_t j = 0; j < size; ++j)
      sum += weights[j];
  }
  return sum;
}

/// Fills `candidates` with the `count` that come first, in no order: a heap
/// whose top is the last of them, which few tokens get past.
static void selectFirst(const float *logits, uint32_t vocabulary,
                        Candidate *candidates, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    candidates[i] = {withoutNaN(logits[i]), int32_t(i)};
  std::make_heap(candidates, candidates + count, comesBefore);
  float least = candidates[0].logit;
  for (uint32_t i = count; i < vocabulary; ++i) {
    // Of equals the lower token stays, and that was there before.
    if (!(logits[i] > least))
      continue;
    std::pop_heap(candidates, candidates + count, comesBefore);
    candidates[count - 1] = {logits[i], int32_t(i)};
    std::push_heap(candidates, candidates + count, comesBefore);
    least = candidates[0].logit;
  }
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
  uint32_t count = vocabulary;
  if (!penalizes && sampling.top_k != 0 && sampling.top_k < vocabulary / 8) {
    count = sampling.top_k;
    selectFirst(logits, vocabulary, candidates, count);
  } else {
    for (uint32_t i = 0; i < vocabulary; ++i)
      candidates[i] = {withoutNaN(logits[i]), int32_t(i)};
  }
  if (penalizes)
    penalize(candidates, vocabulary, penalty, history, historySize,
             memory.seen);
  Candidate best =
      *std::min_element(candidates, candidates + count, comesBefore);
  // Nothing can be drawn where all is impossible.
  if (sampling.temperature == 0 || best.logit == -INFINITY)
    return best.token;

  double temperature = sampling.temperature;
  auto weightOf = [&](const Candidate &candidate) {
    return weight(candidate.logit, best.logit, temperature);
  };
  LazyOrder order(candidates, count);
  if (sampling.top_k != 0 && sampling.top_k < vocabulary)
    order.shorten(sampling.top_k);
  double total = sumWeights(candidates, order.size(), best.logit, temperature);

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
