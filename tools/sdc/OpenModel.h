// Opening an executable, with the messages that all verbs share.

#ifndef SDC_TOOLS_SDC_OPENMODEL_H
#define SDC_TOOLS_SDC_OPENMODEL_H

#include "sdc/sdc.h"

#include <memory>
#include <string>

namespace sdc {

using ModelHandle = std::unique_ptr<sdc_model, void (*)(sdc_model *)>;

/// Null, after a message, if it can't be opened.
ModelHandle openModel(const std::string &path,
                      const sdc_open_options *options = nullptr);

} // namespace sdc

#endif // SDC_TOOLS_SDC_OPENMODEL_H
