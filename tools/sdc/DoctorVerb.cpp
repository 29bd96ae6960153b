// sdc doctor: what this machine offers to the compiler and to the runtime.

#include "sdc/sdc.h"
#include "tools/sdc/PrintJson.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/statvfs.h>

using namespace sdc;

namespace {

/// A value of /proc/meminfo in bytes; 0 if it is not there.
uint64_t memoryInfo(const std::string &key) {
  std::ifstream stream("/proc/meminfo");
  std::string name;
  uint64_t kibibytes;
  std::string unit;
  while (stream >> name >> kibibytes && std::getline(stream, unit))
    if (name == key + ":")
      return kibibytes * 1024;
  return 0;
}

/// Whether a library can be opened here.
bool hasLibrary(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle)
    dlclose(handle);
  return handle != nullptr;
}

std::string cpuModel() {
  std::ifstream stream("/proc/cpuinfo");
  std::string line;
  while (std::getline(stream, line))
    if (line.rfind("model name", 0) == 0)
      return line.substr(line.find(':') + 2);
  return "unknown";
}

int doctor(const CommonOptions &options) {
  sdc_cpu_info cpu = {};
  cpu.struct_size = sizeof(cpu);
  sdc_cpu_query(&cpu);
  uint32_t major = 0, minor = 0;
  sdc_format_version(&major, &minor);
  struct statvfs disk = {};
  uint64_t freeDisk =
      statvfs(".", &disk) == 0 ? uint64_t(disk.f_bavail) * disk.f_frsize : 0;
  bool level = *cpu.level != 0;
  bool driver = hasLibrary("libcuda.so.1");

  if (options.json) {
    nlohmann::ordered_json json = {
        {"version", SDC_VERSION},
        {"format", {{"major", major}, {"minor", minor}}},
        {"cpu",
         {{"model", cpuModel()},
          {"level", cpu.level},
          {"cores", cpu.cores},
          {"processors", cpu.processors}}},
        {"memory",
         {{"total", memoryInfo("MemTotal")},
          {"available", memoryInfo("MemAvailable")}}},
        {"disk_free", freeDisk},
        {"cuda_driver", driver}};
    printJson(json);
    return level ? 0 : 1;
  }
  auto gibibytes = [](uint64_t bytes) {
    return static_cast<double>(bytes) / (1024.0 * 1024 * 1024);
  };
  std::printf("sdc         %s, executables of format %u.%u\n", SDC_VERSION,
              major, minor);
  std::printf("processor   %s\n", cpuModel().c_str());
  std::printf("cpu level   %s\n",
              level ? cpu.level : "none: executables need at least AVX2");
  std::printf("cores       %u, of %u logical processors\n", cpu.cores,
              cpu.processors);
  std::printf("memory      %.1f GiB, %.1f available\n",
              gibibytes(memoryInfo("MemTotal")),
              gibibytes(memoryInfo("MemAvailable")));
  std::printf("disk        %.1f GiB free here\n", gibibytes(freeDisk));
  std::printf("cuda        %s; this build compiles for CPU only\n",
              driver ? "a driver is here" : "no driver");
  return level ? 0 : 1;
}

} // namespace

VerbAction sdc::setupDoctor(CLI::App &verb) {
  auto options = std::make_shared<CommonOptions>();
  addCommonOptions(verb, *options);
  return [options] { return doctor(*options); };
}
