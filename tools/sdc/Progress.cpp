// Draws a progress line.

#include "tools/sdc/Progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

using namespace sdc;

Progress::Progress(std::string what, std::string unit, uint64_t total,
                   bool quiet, uint64_t begin)
    : what(std::move(what)), unit(std::move(unit)), total(total), done(begin),
      begin(begin), quiet(quiet), terminal(isatty(STDERR_FILENO) == 1),
      start(Clock::now()), last(start) {}

static std::string duration(double seconds) {
  char text[32];
  auto whole = static_cast<long>(seconds);
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%ld h %02ld min", whole / 3600,
                  whole / 60 % 60);
  else
    std::snprintf(text, sizeof(text), "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

void Progress::update(uint64_t count) {
  done = count;
  if (quiet)
    return;
  Clock::time_point now = Clock::now();
  auto pause = terminal ? std::chrono::milliseconds(100)
                        : std::chrono::milliseconds(15000);
  if (now - last < pause)
    return;
  last = now;
  draw(now);
}

void Progress::draw(Clock::time_point now) {
  double elapsed = std::chrono::duration<double>(now - start).count();
  double rate = elapsed > 0 ? static_cast<double>(done - begin) / elapsed : 0;
  std::string left = "";
  if (rate > 0 && total > done)
    left = ", " + duration(static_cast<double>(total - done) / rate) + " left";
  if (terminal) {
    constexpr int kWidth = 24;
    int filled =
        total ? static_cast<int>(std::min<uint64_t>(
                    kWidth, done * kWidth / std::max<uint64_t>(1, total)))
              : 0;
    std::string bar(static_cast<size_t>(filled), '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r\033[K%s [%s] %llu/%llu %s, %.1f/s%s", what.c_str(),
                 bar.c_str(), static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(total), unit.c_str(), rate,
                 left.c_str());
  } else {
    std::fprintf(stderr, "%s: %llu of %llu %s, %.1f/s%s\n", what.c_str(),
                 static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(total), unit.c_str(), rate,
                 left.c_str());
  }
  drawn = true;
}

void Progress::finish() {
  if (quiet || !drawn)
    return;
  draw(Clock::now());
  if (terminal)
    std::fprintf(stderr, "\n");
  drawn = false;
}
