// Reading, checking and completing N:M patterns.

#include "kernels/Format/Pattern.h"

#include <algorithm>

using namespace sdc;

namespace {

/// A decimal number of one or two digits without sign or spaces.
std::optional<unsigned> parseNumber(std::string_view text) {
  if (text.empty() || text.size() > 2)
    return std::nullopt;
  unsigned value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

} // namespace

std::optional<Pattern> Pattern::parse(std::string_view text,
                                      std::string &problem) {
  if (text == "dense")
    return dense();
  size_t colon = text.find(':');
  std::optional<unsigned> n, m;
  if (colon != std::string_view::npos) {
    n = parseNumber(text.substr(0, colon));
    m = parseNumber(text.substr(colon + 1));
  }
  if (!n || !m) {
    problem = "pattern '" + std::string(text) +
              "' is neither 'dense' nor N:M, as in 16:32";
    return std::nullopt;
  }
  if (*n == 1 && *m == 1) {
    problem = "pattern '1:1' keeps everything; it is written 'dense'";
    return std::nullopt;
  }
  Pattern pattern{*n, *m};
  problem = pattern.problem();
  if (!problem.empty())
    return std::nullopt;
  return pattern;
}

std::string Pattern::problem() const {
  if (n == 1 && m == 1)
    return "";
  std::string name = std::to_string(n) + ":" + std::to_string(m);
  if (m != 2 && m != 4 && m != 8 && m != 16 && m != 32)
    return "pattern " + name + " has groups of " + std::to_string(m) +
           ", expected 2, 4, 8, 16 or 32";
  if (n < 1)
    return "pattern " + name + " keeps nothing, expected 1 <= N < M";
  if (n >= m)
    return "pattern " + name + " keeps " + std::to_string(n) + " of " +
           std::to_string(m) + ", expected 1 <= N < M (N counts kept weights)";
  return "";
}

std::string Pattern::str() const {
  if (isDense())
    return "dense";
  return std::to_string(n) + ":" + std::to_string(m);
}

int64_t sdc::completeMask(Pattern pattern, int64_t columns, uint32_t *words) {
  int64_t numWords = (columns + kWordColumns - 1) / kWordColumns;
  if (pattern.isDense()) {
    std::fill(words, words + numWords, 0xffffffffu);
    return -1;
  }
  int n = static_cast<int>(pattern.n);
  for (int64_t start = 0; start < numWords * kWordColumns; start += pattern.m) {
    uint32_t &word = words[start / kWordColumns];
    unsigned shift = static_cast<unsigned>(start % kWordColumns);
    uint32_t group = (word >> shift) & pattern.groupMask();
    int kept = __builtin_popcount(group);
    int64_t real = std::clamp<int64_t>(columns - start, 0, pattern.m);
    uint32_t realBits =
        real == 32 ? 0xffffffffu : (uint32_t(1) << unsigned(real)) - 1;
    int demanded = std::max(0, n - static_cast<int>(real));
    if (kept > n || __builtin_popcount(group & ~realBits) > demanded)
      return start;
    for (unsigned j = 0; kept < n; ++j) {
      if (group >> j & 1u)
        continue;
      group |= 1u << j;
      ++kept;
    }
    word |= group << shift;
  }
  return -1;
}
