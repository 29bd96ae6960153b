// Kernels of a toy decoder, small enough to be checked by hand: a hidden value
// is a weighted sum over all tokens of its slot so far, and the logits are a
// product with it. Compiled twice: into flat images as the compiler makes them,
// and into the tests, where sanitizers see them. They call nothing.

#include <stdint.h>

enum { kVocabulary = 37, kHidden = 8, kHeads = 2, kSize = 4, kOther = 3 };

struct Params {
  int64_t context;
  int64_t slots;
};

/// tokens, positions, slots, keys, other, params, embedding. Units are rows.
/// keys [slots, heads, context, size] holds the embedding of each token; other
/// [slots, 1, context, 3] its number, its position, and their sum.
void toy_append(void *const *operands, int64_t begin, int64_t end,
                void *scratch) {
  (void)scratch;
  const int32_t *tokens = operands[0], *positions = operands[1],
                *slots = operands[2];
  float *keys = operands[3];
  uint16_t *other = operands[4];
  const struct Params *params = operands[5];
  const float *embedding = operands[6];
  for (int64_t row = begin; row < end; ++row) {
    int64_t position = positions[row], slot = slots[row];
    if (position < 0)
      continue;
    const float *values = embedding + (int64_t)tokens[row] * kHidden;
    for (int64_t i = 0; i < kHidden; ++i) {
      int64_t line = (slot * kHeads + i / kSize) * params->context + position;
      keys[line * kSize + i % kSize] = values[i];
    }
    uint16_t *cell = other + (slot * params->context + position) * kOther;
    cell[0] = (uint16_t)tokens[row];
    cell[1] = (uint16_t)position;
    cell[2] = (uint16_t)(tokens[row] + position);
  }
}

/// positions, slots, keys, other, params, hidden. Units are rows. The sum is
/// kept in scratch memory, which must be the thread's own.
void toy_attend(void *const *operands, int64_t begin, int64_t end,
                void *scratch) {
  const int32_t *positions = operands[0], *slots = operands[1];
  const float *keys = operands[2];
  const uint16_t *other = operands[3];
  const struct Params *params = operands[4];
  float *hidden = operands[5];
  volatile float *sum = scratch;
  for (int64_t row = begin; row < end; ++row) {
    int64_t position = positions[row], slot = slots[row];
    if (position < 0)
      continue;
    for (int64_t i = 0; i < kHidden; ++i)
      sum[i] = 0;
    for (int64_t at = 0; at <= position; ++at)
      for (int64_t i = 0; i < kHidden; ++i) {
        int64_t line = (slot * kHeads + i / kSize) * params->context + at;
        const uint16_t *cell = other + (slot * params->context + at) * kOther;
        sum[i] += keys[line * kSize + i % kSize] * (float)(cell[2] % 5 + 1);
      }
    for (int64_t i = 0; i < kHidden; ++i)
      hidden[row * kHidden + i] = sum[i];
  }
}

static float dot(const float *a, const float *b) {
  float sum = 0;
  for (int64_t i = 0; i < kHidden; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// hidden, head, positions, logits. Units are tokens of the vocabulary.
static void logitsOfAll(void *const *operands, int64_t begin, int64_t end,
                        int64_t rows) {
  const float *hidden = operands[0], *head = operands[1];
  float *logits = operands[3];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t token = begin; token < end; ++token)
      logits[row * kVocabulary + token] =
          dot(hidden + row * kHidden, head + token * kHidden);
}

void toy_logits_3(void *const *operands, int64_t begin, int64_t end,
                  void *scratch) {
  (void)scratch;
  logitsOfAll(operands, begin, end, 3);
}

void toy_logits_4(void *const *operands, int64_t begin, int64_t end,
                  void *scratch) {
  (void)scratch;
  logitsOfAll(operands, begin, end, 4);
}

/// The same, of the last active row of 4.
void toy_logits_last_4(void *const *operands, int64_t begin, int64_t end,
                       void *scratch) {
  (void)scratch;
  const float *hidden = operands[0], *head = operands[1];
  const int32_t *positions = operands[2];
  float *logits = operands[3];
  int64_t last = 0;
  for (int64_t row = 0; row < 4; ++row)
    last = positions[row] >= 0 ? row : last;
  for (int64_t token = begin; token < end; ++token)
    logits[token] = dot(hidden + last * kHidden, head + token * kHidden);
}

/// a, b, sum: a plain graph, f32 [100] each. Units are elements.
void toy_add(void *const *operands, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const float *a = operands[0], *b = operands[1];
  float *sum = operands[2];
  for (int64_t i = begin; i < end; ++i)
    sum[i] = a[i] + b[i];
}
