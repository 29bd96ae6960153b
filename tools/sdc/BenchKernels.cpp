// Measures launches by the profile of a session.

#include "tools/sdc/BenchKernels.h"

#include "tools/sdc/DeviceOption.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

using namespace sdc;

double sdc::readCeiling(const char *device) {
  // A kernel that only reads, 8 GB, 2026-10-28 (issue 4).
  struct Measured {
    const char *name;
    double bytesPerSecond;
  };
  constexpr Measured table[] = {{"NVIDIA H200", 4.55e12}};
  for (const Measured &entry : table)
    if (std::strcmp(device, entry.name) == 0)
      return entry.bytesPerSecond;
  return 0;
}

/// Number of the entry that decodes; -1 if there is none.
static int64_t decodeEntry(const sdc_model *model) {
  sdc_entry_info entry = {};
  entry.struct_size = sizeof(entry);
  for (uint32_t i = 0; sdc_model_entry(model, i, &entry); ++i)
    if (entry.kind == SDC_ENTRY_DECODE)
      return i;
  return -1;
}

/// Feeds `depth` tokens, then decodes `warmup` and `steps` more; the profile
/// holds the latter.
static sdc_status runSteps(sdc_session *session, uint32_t depth, uint32_t steps,
                           sdc_error *error) {
  constexpr uint32_t warmup = 3;
  std::vector<int32_t> prompt(std::max(depth, 1U), 1);
  if (sdc_status status =
          sdc_prefill(session, 0, prompt.data(), prompt.size(), error))
    return status;
  std::vector<int32_t> feed(sdc_session_slots(session), SDC_NO_TOKEN);
  feed[0] = 1;
  for (uint32_t step = 0; step < warmup + steps; ++step) {
    if (step == warmup)
      sdc_session_clear_profile(session);
    if (sdc_status status = sdc_decode(session, feed.data(), error))
      return status;
  }
  return SDC_OK;
}

static void collect(const sdc_model *model, const sdc_session *session,
                    uint32_t entry, double ceiling,
                    std::vector<KernelTime> &kernels) {
  sdc_launch_info launch = {};
  launch.struct_size = sizeof(launch);
  for (uint32_t i = 0; sdc_model_launch(model, entry, i, &launch); ++i) {
    sdc_kernel_info kernel = {};
    kernel.struct_size = sizeof(kernel);
    sdc_launch_time time = {};
    time.struct_size = sizeof(time);
    if (!sdc_model_kernel(model, launch.kernel, &kernel) ||
        !sdc_session_launch_time(session, entry, i, &time) || time.runs == 0)
      continue;
    auto found =
        std::find_if(kernels.begin(), kernels.end(), [&](const auto &known) {
          return known.name == kernel.name;
        });
    if (found == kernels.end()) {
      kernels.emplace_back();
      found = kernels.end() - 1;
      found->name = kernel.name;
    }
    found->launches += 1;
    found->microseconds += static_cast<double>(time.nanoseconds) /
                           static_cast<double>(time.runs) / 1e3;
    found->bytes += launch.weight_bytes;
  }
  for (KernelTime &kernel : kernels)
    if (ceiling > 0 && kernel.microseconds > 0)
      kernel.share = static_cast<double>(kernel.bytes) /
                     (kernel.microseconds * 1e-6) / ceiling;
}

bool sdc::measureKernels(sdc_model *model, const std::string &device,
                         uint32_t depth, uint32_t steps,
                         std::vector<KernelTime> &kernels,
                         std::string &problem) {
  int64_t entry = decodeEntry(model);
  if (entry < 0) {
    problem = "the executable has no decode entry";
    return false;
  }
  sdc_session_options options = {};
  options.struct_size = sizeof(options);
  chooseDevice(device, options);
  options.slots = 1;
  options.profile = true;
  sdc_session *created = nullptr;
  sdc_error error = {};
  if (sdc_session_create(model, &options, &created, &error) != SDC_OK) {
    problem = error.message;
    return false;
  }
  std::unique_ptr<sdc_session, void (*)(sdc_session *)> session(
      created, sdc_session_destroy);
  if (runSteps(created, depth, steps, &error) != SDC_OK) {
    problem = error.message;
    return false;
  }
  sdc_cuda_info info = {};
  info.struct_size = sizeof(info);
  bool known = sdc_cuda_query(options.device_index, &info, nullptr) == SDC_OK;
  collect(model, created, static_cast<uint32_t>(entry),
          known ? readCeiling(info.name) : 0, kernels);
  return true;
}

void sdc::printKernels(const std::string &title,
                       const std::vector<KernelTime> &kernels) {
  double total = 0;
  uint64_t bytes = 0;
  std::printf("\n%s: launches of a decode step, each by itself between two "
              "events\n\n| %8s | %9s | %9s | %7s | kernel\n"
              "| -------: | --------: | --------: | ------: | :-----\n",
              title.c_str(), "launches", "us", "MB", "ceiling");
  for (const KernelTime &kernel : kernels) {
    std::printf("| %8u | %9.1f | %9.2f | ", kernel.launches,
                kernel.microseconds, static_cast<double>(kernel.bytes) / 1e6);
    if (kernel.share > 0)
      std::printf("%5.1f %% | %s\n", kernel.share * 100, kernel.name.c_str());
    else
      std::printf("%7s | %s\n", "", kernel.name.c_str());
    total += kernel.microseconds;
    bytes += kernel.bytes;
  }
  std::printf("| %8s | %9.1f | %9.2f | %7s | sum\n", "", total,
              static_cast<double>(bytes) / 1e6, "");
}

nlohmann::ordered_json
sdc::kernelsJson(const std::vector<KernelTime> &kernels) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KernelTime &kernel : kernels) {
    nlohmann::ordered_json entry = {{"kernel", kernel.name},
                                    {"launches", kernel.launches},
                                    {"us", kernel.microseconds},
                                    {"weight_bytes", kernel.bytes}};
    if (kernel.share > 0)
      entry["share_of_read_ceiling"] = kernel.share;
    list.push_back(entry);
  }
  return list;
}
