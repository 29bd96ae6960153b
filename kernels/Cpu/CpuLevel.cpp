// Names, instruction sets and tables of the CPU levels.

#include "kernels/Cpu/CpuLevel.h"

using namespace sdc;

namespace {

struct LevelEntry {
  std::string_view name;
  CpuTarget target;
  CpuTuning tuning;
};

// In the order of CpuLevel.
constexpr LevelEntry kEntries[] = {
    // 16 registers of 8 lanes. The base has FMA, F16C and BMI2 as well.
    {"avx2", {"x86-64-v3", "", "haswell"}, {8192, 1024, 4, 2, 2, 1}},
    // 32 registers of 16 lanes: 8 sums and their operands, or 4 x 6 sums, 4
    // weights and one x.
    {"avx512vbmi2",
     {"x86-64-v4", "+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512bitalg",
      "icelake-server"},
     {8192, 1024, 16, 4, 6, 4}},
};

} // namespace

std::string_view sdc::cpuLevelName(CpuLevel level) {
  return kEntries[static_cast<int>(level)].name;
}

std::optional<CpuLevel> sdc::parseCpuLevel(std::string_view name) {
  for (CpuLevel level : kCpuLevels)
    if (cpuLevelName(level) == name)
      return level;
  return std::nullopt;
}

CpuTarget sdc::cpuTarget(CpuLevel level) {
  return kEntries[static_cast<int>(level)].target;
}

const CpuTuning &sdc::cpuTuning(CpuLevel level) {
  return kEntries[static_cast<int>(level)].tuning;
}
