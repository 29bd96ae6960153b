// The metadata of a calibration file as JSON text, both ways.

#ifndef SDC_COMPILER_RECORD_CALIBRATIONMETADATA_H
#define SDC_COMPILER_RECORD_CALIBRATIONMETADATA_H

#include "compiler/Record/Calibration.h"

namespace sdc::detail {

std::map<std::string, std::string> writeMetadata(const CalibrationInfo &info);

/// Fills in linears, sources and the keys without counts. On failure says what
/// is wrong with the file.
llvm::Error readMetadata(const SafetensorsFile &file, CalibrationInfo &info);

} // namespace sdc::detail

#endif // SDC_COMPILER_RECORD_CALIBRATIONMETADATA_H
