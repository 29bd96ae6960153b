// Chooses the next token, by the rules that sdc_sampling states.

#ifndef SDC_RUNTIME_SRC_SAMPLER_H
#define SDC_RUNTIME_SRC_SAMPLER_H

#include "sdc/sdc.h"

namespace sdc::rt {

struct Candidate {
  float logit;
  int32_t token;
};

/// Room to work in, owned by the session.
struct SamplerMemory {
  Candidate *candidates; // [vocabulary]
  uint64_t *seen;        // one bit for each token, zero between calls
};

/// Numbers that mean something, or what is wrong with them.
sdc_status checkSampling(const sdc_sampling &sampling, sdc_error *error);

/// The largest of `logits`, the lowest token among equals. NaN is never larger.
int32_t greedyToken(const float *logits, uint32_t vocabulary);

/// `history` are the tokens before, for the repeat penalty.
int32_t sampleToken(const float *logits, uint32_t vocabulary,
                    const sdc_sampling &sampling, const int32_t *history,
                    uint32_t historySize, uint32_t step, SamplerMemory memory);

/// e^x for x <= 0, within 2^-52 of it: the same bits on every machine, which
/// libm does not promise.
double exponential(double x);

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_SAMPLER_H
