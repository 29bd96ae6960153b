// How many threads are worth starting: physical cores among the processors that
// the process may use, and no more than its share of time pays for. Hyper-
// threads share the port to memory that decoding waits for, and threads beyond
// the share would spin in vain.

#include "runtime/src/cpu/level.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

using namespace sdc::rt::cpu;

/// Reads the beginning of a small file of the system; false if there is none.
static bool readFile(const char *path, char (&text)[128]) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t count = read(file, text, sizeof(text) - 1);
  close(file);
  if (count <= 0)
    return false;
  text[count] = '\0';
  return true;
}

/// Whether `cpu` is the first of the processors in `set` that share its core.
static bool leadsItsCore(int cpu, const cpu_set_t &set) {
  char path[96], text[128];
  snprintf(path, sizeof(path),
           "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  if (!readFile(path, text))
    return true;
  // A list of numbers and ranges: "0,64" or "0-1".
  for (const char *at = text; *at >= '0' && *at <= '9';) {
    char *end;
    long first = strtol(at, &end, 10), last = first;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    for (long sibling = first; sibling <= last && sibling < cpu; ++sibling)
      if (CPU_ISSET(sibling, &set))
        return false;
    at = *end == ',' ? end + 1 : end;
  }
  return true;
}

/// Processors that the process's group may keep busy; 0 if there is no limit.
static uint32_t groupShare() {
  char text[128];
  if (!readFile("/sys/fs/cgroup/cpu.max", text))
    return 0;
  char *end;
  long long quota = strtoll(text, &end, 10); // "max 100000" or "150000 100000"
  long long period = end != text ? strtoll(end, nullptr, 10) : 0;
  if (quota <= 0 || period <= 0)
    return 0;
  return static_cast<uint32_t>((quota + period - 1) / period);
}

static uint32_t count(bool coresOnly) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    // More processors than the set holds.
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<uint32_t>(online) : 1;
  }
  uint32_t found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set) && (!coresOnly || leadsItsCore(cpu, set)))
      ++found;
  uint32_t share = groupShare();
  if (share != 0 && share < found)
    found = share;
  return found ? found : 1;
}

uint32_t sdc::rt::cpu::availableCores() { return count(/*coresOnly=*/true); }
uint32_t sdc::rt::cpu::availableProcessors() {
  return count(/*coresOnly=*/false);
}
