// A progress line for long work: done of all, rate, time left. Drawn on stderr
// when that is a terminal; otherwise a plain line now and then.

#ifndef SDC_TOOLS_SDC_PROGRESS_H
#define SDC_TOOLS_SDC_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace sdc {

class Progress {
public:
  /// `what` begins the line, `unit` names what is counted. A quiet one draws
  /// nothing.
  Progress(std::string what, std::string unit, uint64_t total, bool quiet,
           uint64_t begin = 0);
  ~Progress() { finish(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Draws, at most ten times a second.
  void update(uint64_t done);
  /// Ends the line.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  std::string what, unit;
  uint64_t total, done, begin;
  bool quiet, terminal, drawn = false;
  Clock::time_point start, last;
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_PROGRESS_H
