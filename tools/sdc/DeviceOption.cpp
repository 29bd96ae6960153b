// Reads names of devices.

#include "tools/sdc/DeviceOption.h"

#include <CLI/CLI.hpp>
#include <optional>

using namespace sdc;

/// N of "cuda:N"; "cuda" is the first.
static std::optional<uint32_t> cudaIndex(const std::string &text) {
  if (text == "cuda")
    return 0;
  if (text.rfind("cuda:", 0) != 0 || text.size() == 5 || text.size() > 8)
    return std::nullopt;
  if (text.find_first_not_of("0123456789", 5) != std::string::npos)
    return std::nullopt;
  return static_cast<uint32_t>(std::stoul(text.substr(5)));
}

void sdc::addDeviceOption(CLI::App &verb, std::string &device) {
  verb.add_option("--device", device, "Where it runs: cpu or cuda:N")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            if (text == "cpu")
              return "";
            if (std::optional<uint32_t> index = cudaIndex(text)) {
              text = "cuda:" + std::to_string(*index);
              return "";
            }
            size_t arch = text.find("sm_");
            if (arch == 0 || (arch == 5 && text.rfind("cuda:", 0) == 0))
              return "'" + text.substr(arch) +
                     "' is an architecture, which `sdc compile --target "
                     "cuda:" +
                     text.substr(arch) + "` takes; a device is cpu or cuda:N";
            return "unknown device '" + text + "', expected cpu or cuda:N";
          },
          "cpu|cuda:N"))
      ->capture_default_str();
}

bool sdc::isCuda(const std::string &device) {
  return cudaIndex(device).has_value();
}

void sdc::chooseDevice(const std::string &device,
                       sdc_session_options &options) {
  std::optional<uint32_t> index = cudaIndex(device);
  options.device = index ? SDC_DEVICE_CUDA : SDC_DEVICE_CPU;
  options.device_index = index.value_or(0);
}
