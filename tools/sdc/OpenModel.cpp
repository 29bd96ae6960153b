// Opens executables for the verbs.

#include "tools/sdc/OpenModel.h"
#include "tools/sdc/Verbs.h"

using namespace sdc;

ModelHandle sdc::openModel(const std::string &path,
                           const sdc_open_options *options) {
  sdc_model *opened = nullptr;
  sdc_error error = {};
  if (sdc_model_open(path.c_str(), options, &opened, &error) != SDC_OK) {
    // The system's refusals name the file, the runtime's own do not.
    std::string message = error.message;
    if (message.rfind(path + ": ", 0) != 0)
      message = path + ": " + message;
    printError(message,
               error.code == SDC_NOT_EXECUTABLE
                   ? "`sdc compile MODEL -o model.sdx` makes an executable"
                   : "");
  }
  return {opened, sdc_model_close};
}
