// Levels by cpuid.

#include "runtime/src/cpu/level.h"

#include "sdc/sdc.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace sdc::rt::cpu;

namespace {
/// What a level needs: bits of cpuid leaves 1 (ecx) and 7 (ebx, ecx), and the
/// registers that the system must save (xcr0).
struct Level {
  const char *name;
  uint32_t leaf1Ecx;
  uint32_t leaf7Ebx;
  uint32_t leaf7Ecx;
  uint64_t xcr0;
};
} // namespace

#if defined(__x86_64__)

static constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28,
                          kF16c = 1u << 29;
static constexpr uint32_t kAvx2 = 1u << 5, kAvx512f = 1u << 16,
                          kAvx512dq = 1u << 17, kAvx512bw = 1u << 30,
                          kAvx512vl = 1u << 31;
static constexpr uint32_t kAvx512vbmi2 = 1u << 6;
/// SSE and AVX state; with the masks and upper halves of AVX-512.
static constexpr uint64_t kSaveAvx = 0x6, kSaveAvx512 = 0xe6;

static constexpr Level kLevels[] = {
    {"avx512vbmi2", kFma | kAvx | kF16c,
     kAvx2 | kAvx512f | kAvx512dq | kAvx512bw | kAvx512vl, kAvx512vbmi2,
     kSaveAvx512},
    {"avx2", kFma | kAvx | kF16c, kAvx2, 0, kSaveAvx},
};

static bool runs(const Level &level) {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return false;
  uint32_t needed = level.leaf1Ecx | kOsxsave;
  if ((ecx & needed) != needed)
    return false;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & level.xcr0) != level.xcr0)
    return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
    return false;
  return (ebx & level.leaf7Ebx) == level.leaf7Ebx &&
         (ecx & level.leaf7Ecx) == level.leaf7Ecx;
}

#else

static constexpr Level kLevels[] = {{"none", 0, 0, 0, 0}};
static bool runs(const Level &) { return false; }

#endif

static constexpr uint32_t kLevelCount = sizeof(kLevels) / sizeof(kLevels[0]);

const char *sdc::rt::cpu::levelName(uint32_t index) {
  return index < kLevelCount ? kLevels[index].name : nullptr;
}

bool sdc::rt::cpu::runsLevel(const char *name) {
  for (const Level &level : kLevels)
    if (strcmp(level.name, name) == 0)
      return runs(level);
  return false;
}

void sdc_cpu_query(sdc_cpu_info *out_info) {
  sdc_cpu_info info = {};
  info.level = "";
  for (uint32_t i = kLevelCount; i-- > 0;)
    if (runs(kLevels[i]))
      info.level = kLevels[i].name;
  info.cores = availableCores();
  info.processors = availableProcessors();
  size_t size = out_info->struct_size;
  info.struct_size = size;
  memcpy(out_info, &info, size < sizeof(info) ? size : sizeof(info));
}
