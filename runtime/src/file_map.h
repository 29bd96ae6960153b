// A file mapped for reading.

#ifndef SDC_RUNTIME_SRC_FILE_MAP_H
#define SDC_RUNTIME_SRC_FILE_MAP_H

#include "sdc/sdc.h"

namespace sdc::rt {

/// Closed and unmapped with the object.
class FileMap {
public:
  FileMap() = default;
  ~FileMap();
  FileMap(const FileMap &) = delete;
  FileMap &operator=(const FileMap &) = delete;

  /// Maps the whole of a regular file. An empty file has null bytes.
  sdc_status open(const char *path, sdc_error *error);
  /// Closes the descriptor; the bytes stay.
  void closeDescriptor();

  const void *bytes() const { return memory; }
  uint64_t size() const { return length; }
  /// -1 once it is closed.
  int descriptor() const { return file; }

private:
  int file = -1;
  void *memory = nullptr;
  uint64_t length = 0;
};

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_FILE_MAP_H
