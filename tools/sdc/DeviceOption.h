// `--device cpu|cuda:N` of the verbs that run an executable.

#ifndef SDC_TOOLS_SDC_DEVICEOPTION_H
#define SDC_TOOLS_SDC_DEVICEOPTION_H

#include "sdc/sdc.h"

#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace sdc {

/// The value of `device` is then "cpu" or "cuda:N".
void addDeviceOption(CLI::App &verb, std::string &device);

bool isCuda(const std::string &device);

/// Asks for the device that the option names.
void chooseDevice(const std::string &device, sdc_session_options &options);

} // namespace sdc

#endif // SDC_TOOLS_SDC_DEVICEOPTION_H
