// Runs a plain graph on tensors from files.

#include "tools/sdc/PlainGraph.h"
#include "sdc/sdc.h"
#include "tools/sdc/DeviceOption.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/TensorFiles.h"

#include <algorithm>
#include <filesystem>
#include <memory>

using namespace sdc;

namespace {

/// The inputs or outputs of the plain entry.
std::vector<sdc_binding_info> bindingsOf(const sdc_model *model,
                                         sdc_role role) {
  std::vector<sdc_binding_info> found;
  sdc_entry_info entry = {};
  entry.struct_size = sizeof(entry);
  for (uint32_t e = 0; sdc_model_entry(model, e, &entry); ++e)
    for (uint32_t b = 0; b < entry.binding_count; ++b) {
      sdc_binding_info binding = {};
      binding.struct_size = sizeof(binding);
      if (sdc_model_binding(model, e, b, &binding) && binding.role == role)
        found.push_back(binding);
    }
  return found;
}

sdc_tensor describe(TensorData &tensor) {
  return {tensor.name.c_str(),
          tensor.element,
          static_cast<uint32_t>(tensor.shape.size()),
          tensor.shape.data(),
          tensor.bytes.data(),
          tensor.bytes.size()};
}

/// Tensor names may hold what a file name may not.
std::string fileName(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name + ".npy";
}

} // namespace

int sdc::runPlainGraph(const std::string &path,
                       const std::vector<std::string> &inputs,
                       const std::string &output, const std::string &device,
                       const CommonOptions &common) {
  sdc_error error = {};
  ModelHandle model = openModel(path);
  if (!model)
    return 1;
  sdc_model *opened = model.get();
  sdc_model_info info = {};
  info.struct_size = sizeof(info);
  sdc_model_query(opened, &info);
  if (!info.plain) {
    printError(path + ": a decoder is run with a prompt, not with tensors",
               "-p TEXT; `sdc verify --test-data` feeds it tensors");
    return 1;
  }

  std::vector<TensorData> tensors;
  bool ok = true;
  for (const std::string &input : inputs) {
    size_t equals = input.find('=');
    if (equals == std::string::npos || equals == 0) {
      usageError("run: --input expects NAME=FILE, got '" + input + "'");
      return 2;
    }
    TensorData tensor;
    ok &= readTensor(input.substr(equals + 1), tensor);
    tensor.name = input.substr(0, equals);
    tensors.push_back(std::move(tensor));
  }
  if (!ok)
    return 1;

  sdc_session_options options = {};
  options.struct_size = sizeof(options);
  options.threads = common.threads;
  chooseDevice(device, options);
  sdc_session *created = nullptr;
  if (sdc_session_create(opened, &options, &created, &error) != SDC_OK) {
    printError(path + ": " + error.message);
    return 1;
  }
  std::unique_ptr<sdc_session, void (*)(sdc_session *)> session(
      created, sdc_session_destroy);

  std::vector<TensorData> results;
  for (const sdc_binding_info &binding : bindingsOf(opened, SDC_ROLE_OUTPUT)) {
    TensorData result;
    result.name = binding.name;
    result.element = binding.element;
    result.shape.assign(binding.shape, binding.shape + binding.rank);
    result.bytes.resize(binding.bytes);
    results.push_back(std::move(result));
  }
  std::vector<sdc_tensor> in, out;
  for (TensorData &tensor : tensors)
    in.push_back(describe(tensor));
  for (TensorData &tensor : results)
    out.push_back(describe(tensor));
  if (sdc_run(created, in.data(), in.size(), out.data(), out.size(), &error) !=
      SDC_OK) {
    printError(path + ": " + error.message);
    return 1;
  }
  std::error_code failed;
  std::filesystem::create_directories(output, failed);
  if (failed) {
    printError(output + ": " + failed.message());
    return 1;
  }
  for (const TensorData &result : results)
    ok &= writeNpy(output + "/" + fileName(result.name), result);
  return ok ? 0 : 1;
}
