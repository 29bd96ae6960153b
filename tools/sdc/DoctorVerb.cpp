// sdc doctor: what this machine offers to the compiler and to the runtime.

#include "sdc/sdc.h"
#include "tools/sdc/PrintJson.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/statvfs.h>
#include <vector>

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

/// The GPUs of this machine; if there is none, `problem` says why.
std::vector<sdc_cuda_info> cudaDevices(std::string &problem) {
  std::vector<sdc_cuda_info> devices;
  uint32_t count = 0;
  sdc_error error = {};
  sdc_status status = sdc_cuda_count(&count, &error);
  for (uint32_t i = 0; status == SDC_OK && i < count; ++i) {
    sdc_cuda_info info = {};
    info.struct_size = sizeof(info);
    status = sdc_cuda_query(i, &info, &error);
    if (status == SDC_OK)
      devices.push_back(info);
  }
  if (status != SDC_OK)
    problem = error.message;
  return devices;
}

nlohmann::ordered_json describe(const std::vector<sdc_cuda_info> &devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const sdc_cuda_info &device : devices)
    list.push_back(
        {{"name", device.name},
         {"arch", "sm_" + std::to_string(device.major * 10 + device.minor)},
         {"memory", device.memory},
         {"multiprocessors", device.multiprocessors},
         {"driver", std::to_string(device.driver_major) + "." +
                        std::to_string(device.driver_minor)}});
  return list;
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
  std::string noCuda;
  std::vector<sdc_cuda_info> devices = cudaDevices(noCuda);

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
        {"cuda", describe(devices)}};
    if (!noCuda.empty())
      json["cuda_problem"] = noCuda;
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
  for (size_t i = 0; i < devices.size(); ++i)
    std::printf("cuda:%zu      %s, sm_%u%u, %.1f GiB, driver %u.%u\n", i,
                devices[i].name, devices[i].major, devices[i].minor,
                gibibytes(devices[i].memory), devices[i].driver_major,
                devices[i].driver_minor);
  if (!noCuda.empty())
    std::printf("cuda        %s\n", noCuda.c_str());
  return level ? 0 : 1;
}

} // namespace

VerbAction sdc::setupDoctor(CLI::App &verb) {
  auto options = std::make_shared<CommonOptions>();
  addCommonOptions(verb, *options);
  return [options] { return doctor(*options); };
}
