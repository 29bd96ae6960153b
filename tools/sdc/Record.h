// Makes a calibration file: builds the recording executable, opens it and lets
// the recorder run.

#ifndef SDC_TOOLS_SDC_RECORD_H
#define SDC_TOOLS_SDC_RECORD_H

#include "tools/sdc/CompileOptions.h"

#include <string>

namespace sdc {

/// Records the model of `options` as options.recording says and writes
/// `output`. Prints what is wrong and gives false.
bool recordCalibration(const CompileOptions &options, const std::string &output,
                       bool resume);

/// Says what a recording would take: bytes, memory, inputs.
bool planRecording(const CompileOptions &options);

} // namespace sdc

#endif // SDC_TOOLS_SDC_RECORD_H
