// Tokens for tests, and what a slot says after them.

#ifndef SDC_TEST_RUNTIME_SEQUENCES_H
#define SDC_TEST_RUNTIME_SEQUENCES_H

#include "test/runtime/Handles.h"

namespace sdc::test {

using Tokens = std::vector<int32_t>;

inline Tokens makeTokens(size_t count, unsigned seed) {
  Tokens tokens;
  uint32_t state = seed * 7919 + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.push_back(int32_t((state >> 16) % kVocabulary));
  }
  return tokens;
}

inline std::vector<float> logits(const Session &session, uint32_t slot) {
  const float *values = sdc_slot_logits(session.get(), slot);
  return values ? std::vector<float>(values, values + kVocabulary)
                : std::vector<float>();
}

inline void prefill(const Session &session, uint32_t slot,
                    const Tokens &tokens) {
  EXPECT_OK(
      sdc_prefill(session.get(), slot, tokens.data(), tokens.size(), &error));
}

} // namespace sdc::test

#endif // SDC_TEST_RUNTIME_SEQUENCES_H
