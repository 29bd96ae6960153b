// Sampling: the generator against the vectors of its paper, the choice against
// a plain implementation of sdc_sampling's rules, and the frequencies against
// exact probabilities.

#include "runtime/src/sampler.h"
#include "runtime/src/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <vector>

using namespace sdc::rt;

namespace {
/// A sampler with the memory that a session would give it.
struct Sampler {
  explicit Sampler(size_t vocabulary)
      : candidates(vocabulary), seen(vocabulary / 64 + 1) {}

  int32_t operator()(const std::vector<float> &logits,
                     const sdc_sampling &sampling, uint32_t step,
                     const std::vector<int32_t> &history = {}) {
    int32_t token = sampleToken(
        logits.data(), uint32_t(logits.size()), sampling, history.data(),
        uint32_t(history.size()), step, {candidates.data(), seen.data()});
    for (uint64_t word : seen)
      EXPECT_EQ(word, 0u);
    return token;
  }

  std::vector<Candidate> candidates;
  std::vector<uint64_t> seen;
};
} // namespace

// From the known-answer tests that accompany the paper.
TEST(Philox, KnownAnswers) {
  struct Case {
    Philox counter;
    uint32_t key0, key1;
    Philox expected;
  };
  const Case cases[] = {{{{0, 0, 0, 0}},
                         0,
                         0,
                         {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
                        {{{~0u, ~0u, ~0u, ~0u}},
                         ~0u,
                         ~0u,
                         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
                        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                         0xa4093822,
                         0x299f31d0,
                         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (const Case &each : cases) {
    Philox found = philox(each.counter, each.key0, each.key1);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(found.words[i], each.expected.words[i]);
  }
}

TEST(Philox, UniformIsAsDocumented) {
  Philox words =
      philox({{7, 5, 0x89abcdef, 0x01234567}}, 0x76543210, 0xfedcba98);
  double expected =
      (double(words.words[0]) * 2097152 + double(words.words[1] / 2048)) /
      9007199254740992;
  EXPECT_EQ(uniform(0xfedcba9876543210, 0x0123456789abcdef, 5, 7), expected);
  double sum = 0, squares = 0;
  for (uint32_t step = 0; step < 100000; ++step) {
    double u = uniform(1, 2, 3, step);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
  EXPECT_NEAR(squares / 100000, 1.0 / 3, 0.005);
}

TEST(Sampler, ExponentialIsExact) {
  double worst = 0;
  for (int i = 0; i <= 700000; ++i) {
    double x = -i / 1000.0, expected = std::exp(x);
    worst = std::max(worst, std::fabs(exponential(x) - expected) / expected);
  }
  EXPECT_LT(worst, 0x1p-51);
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1000), 0);
  EXPECT_EQ(exponential(-INFINITY), 0);
}

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  EXPECT_EQ(greedyToken(std::vector<float>{1, 3, 2, 3}.data(), 4), 1);
  EXPECT_EQ(greedyToken(std::vector<float>{NAN, -1, NAN, -1}.data(), 4), 1);
  EXPECT_EQ(greedyToken(std::vector<float>{NAN, NAN}.data(), 2), 0);
  EXPECT_EQ(greedyToken(std::vector<float>{-INFINITY, -5}.data(), 2), 1);
  EXPECT_EQ(greedyToken(std::vector<float>{0, INFINITY, INFINITY}.data(), 3),
            1);
}

//===- Against the rules, written down plainly ----------------------------===//

/// The candidates that stay, in order, with their probabilities.
static std::vector<std::pair<int32_t, long double>>
distribution(std::vector<float> logits, const sdc_sampling &s,
             const std::vector<int32_t> &history) {
  if (s.repeat_penalty != 0)
    for (int32_t token : std::set<int32_t>(history.begin(), history.end())) {
      float &logit = logits[token];
      logit = logit > 0 ? logit / s.repeat_penalty : logit * s.repeat_penalty;
    }
  std::vector<std::pair<int32_t, long double>> kept;
  for (size_t i = 0; i < logits.size(); ++i)
    kept.push_back({int32_t(i), logits[i]});
  std::sort(kept.begin(), kept.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (s.top_k && s.top_k < kept.size())
    kept.resize(s.top_k);
  auto normalize = [&] {
    long double sum = 0;
    for (auto &each : kept)
      sum += each.second;
    for (auto &each : kept)
      each.second /= sum;
  };
  long double largest = kept[0].second;
  for (auto &each : kept)
    each.second =
        std::exp((each.second - largest) / (long double)s.temperature);
  normalize();
  if (s.top_p > 0 && s.top_p < 1) {
    long double sum = 0;
    size_t count = 0;
    while (count < kept.size() && sum < (long double)s.top_p)
      sum += kept[count++].second;
    kept.resize(count);
  }
  size_t count = 0;
  while (count < kept.size() &&
         kept[count].second >= (long double)s.min_p * kept[0].second)
    ++count;
  kept.resize(count);
  normalize();
  return kept;
}

TEST(Sampler, ChoosesByTheRules) {
  std::mt19937 random(5);
  unsigned close = 0, total = 0;
  for (size_t vocabulary : {1, 2, 37, 300, 5000}) {
    Sampler sampler(vocabulary);
    for (unsigned round = 0; round < 400; ++round) {
      std::normal_distribution<float> normal(0, 3);
      std::vector<float> logits(vocabulary);
      for (float &logit : logits)
        // Rounded, so that there are equal ones.
        logit = round % 2 ? std::round(4 * normal(random)) / 4 : normal(random);
      auto pick = [&](std::initializer_list<double> values) {
        return float(*(values.begin() + random() % values.size()));
      };
      sdc_sampling s = {};
      s.temperature = pick({0.3, 0.7, 1, 2.5});
      s.top_k = uint32_t(pick({0, 1, 5, 20, 299, 10000}));
      s.top_p = pick({0, 0.1, 0.5, 0.8, 0.95, 1});
      s.min_p = pick({0, 0, 0.05, 0.3});
      s.repeat_penalty = pick({0, 1, 1.3});
      s.seed = random();
      s.prompt = random();
      s.pass = random() % 4;
      std::vector<int32_t> history;
      for (unsigned i = 0; i < 10; ++i)
        history.push_back(int32_t(random() % vocabulary));
      auto expected = distribution(logits, s, history);
      long double u = uniform(s.seed, s.prompt, s.pass, round), sum = 0;
      size_t index = 0;
      bool ambiguous = false;
      for (; index + 1 < expected.size(); ++index) {
        sum += expected[index].second;
        ambiguous |= std::fabs(sum - u) < 1e-9L;
        if (sum > u)
          break;
      }
      ++total;
      if (ambiguous) {
        ++close;
        continue;
      }
      EXPECT_EQ(sampler(logits, s, round, history), expected[index].first)
          << "vocabulary " << vocabulary << " round " << round << " of "
          << expected.size();
    }
  }
  EXPECT_LT(close, total / 100);
}

// Chi-square of 40000 draws against exact probabilities. The bound is the
// quantile at 1 - 1e-6, by Wilson and Hilferty.
static void expectFrequencies(const std::vector<float> &logits,
                              const sdc_sampling &sampling) {
  auto expected = distribution(logits, sampling, {});
  std::vector<unsigned> counts(logits.size());
  Sampler sampler(logits.size());
  constexpr unsigned draws = 40000;
  for (uint32_t step = 0; step < draws; ++step)
    ++counts[sampler(logits, sampling, step)];
  double statistic = 0, drawn = 0;
  for (auto [token, probability] : expected) {
    double mean = double(probability) * draws;
    statistic += (counts[token] - mean) * (counts[token] - mean) / mean;
    drawn += counts[token];
  }
  // Nothing that was cut is ever drawn.
  EXPECT_EQ(drawn, draws);
  double freedom = double(expected.size()) - 1;
  double term = 2 / (9 * freedom);
  double bound = freedom * std::pow(1 - term + 4.75 * std::sqrt(term), 3);
  EXPECT_LT(statistic, bound) << expected.size() << " tokens";
}

TEST(Sampler, DrawsByProbability) {
  std::vector<float> logits;
  for (int i = 0; i < 40; ++i)
    logits.push_back(float((i * 7) % 40) / 8);
  sdc_sampling sampling = {};
  sampling.temperature = 1;
  sampling.seed = 11;
  expectFrequencies(logits, sampling);
  sampling.top_k = 12;
  expectFrequencies(logits, sampling);
  sampling.top_k = 0;
  sampling.top_p = 0.7f;
  expectFrequencies(logits, sampling);
  sampling.top_k = 20;
  sampling.top_p = 0.8f;
  sampling.temperature = 0.7f;
  expectFrequencies(logits, sampling);
  sampling.min_p = 0.2f;
  expectFrequencies(logits, sampling);
}

TEST(Sampler, PassesAndPromptsDiffer) {
  std::vector<float> logits(1000);
  Sampler sampler(logits.size());
  sdc_sampling sampling = {};
  sampling.temperature = 1;
  std::set<std::vector<int32_t>> streams;
  for (uint64_t seed : {0, 1})
    for (uint64_t prompt : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32})
      for (uint32_t pass : {0, 1}) {
        sampling.seed = seed;
        sampling.prompt = prompt;
        sampling.pass = pass;
        std::vector<int32_t> stream;
        for (uint32_t step = 0; step < 8; ++step)
          stream.push_back(sampler(logits, sampling, step));
        streams.insert(stream);
      }
  EXPECT_EQ(streams.size(), 12u);
}

TEST(Sampler, OddLogits) {
  Sampler sampler(4);
  sdc_sampling sampling = {};
  sampling.temperature = 1;
  sampling.top_p = 0.9f;
  EXPECT_EQ(sampler({NAN, NAN, NAN, NAN}, sampling, 0), 0);
  EXPECT_EQ(sampler({-INFINITY, -INFINITY, NAN, -INFINITY}, sampling, 0), 0);
  EXPECT_EQ(sampler({NAN, -INFINITY, 2, -INFINITY}, sampling, 0), 2);
  for (uint32_t step = 0; step < 50; ++step) {
    int32_t token = sampler({1, INFINITY, 0, INFINITY}, sampling, step);
    EXPECT_TRUE(token == 1 || token == 3);
  }
  sampling.temperature = 1e-30f;
  EXPECT_EQ(sampler({1, 3, 2, 2.999f}, sampling, 0), 1);
  // A penalty alone, without chance.
  sampling = {};
  sampling.repeat_penalty = 2;
  EXPECT_EQ(sampler({1, 3, 2, -1}, sampling, 0, {1, 1, 1}), 2);
  EXPECT_EQ(sampler({-3, -1, -1.5f, -2}, sampling, 0, {1}), 2);
  EXPECT_EQ(sampler({1, INFINITY, 2, -1}, sampling, 0, {1}), 1);
}

TEST(Sampler, RefusesNumbersThatMeanNothing) {
  sdc_error error = {};
  sdc_sampling sampling = {};
  EXPECT_EQ(checkSampling(sampling, &error), SDC_OK);
  for (float bad : {-1.0f, NAN, INFINITY}) {
    sampling = {};
    sampling.temperature = bad;
    EXPECT_EQ(checkSampling(sampling, &error), SDC_BAD_ARGUMENT);
    EXPECT_NE(strstr(error.message, "temperature is"), nullptr);
    sampling = {};
    sampling.min_p = bad;
    EXPECT_EQ(checkSampling(sampling, &error), SDC_BAD_ARGUMENT);
    sampling = {};
    sampling.repeat_penalty = bad;
    EXPECT_EQ(checkSampling(sampling, &error), SDC_BAD_ARGUMENT);
  }
  sampling = {};
  sampling.top_p = -0.5f;
  EXPECT_EQ(checkSampling(sampling, &error), SDC_BAD_ARGUMENT);
}
