// What lies beside a model: its configuration and its tokenizer.

#ifndef SDC_TOOLS_SDC_MODELFOLDER_H
#define SDC_TOOLS_SDC_MODELFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

struct ModelFolder {
  /// The .onnx file.
  std::string file;
  /// Its folder, "." for a bare name.
  std::string folder;
  /// What people call it: the folder's name if the file is model.onnx, else the
  /// file's without its ending.
  std::string name;
  /// The context that the model was made for; 0 if nothing says.
  int64_t context = 0;
  /// Files that this was read from.
  std::vector<std::string> inputs;
};

/// Looks at `model`, an .onnx file or a folder that holds model.onnx. What is
/// wrong with the model itself is left to the importer.
ModelFolder lookAtModel(const std::string &model);

} // namespace sdc

#endif // SDC_TOOLS_SDC_MODELFOLDER_H
