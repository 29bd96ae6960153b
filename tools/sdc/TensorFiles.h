// Tensors in files: ONNX TensorProto (.pb), as the ONNX backend tests store
// them, and NumPy arrays (.npy).

#ifndef SDC_TOOLS_SDC_TENSORFILES_H
#define SDC_TOOLS_SDC_TENSORFILES_H

#include "sdc/sdc.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

/// A tensor in memory, row-major, little-endian.
struct TensorData {
  std::string name; // empty if the file does not say
  sdc_element element = SDC_F32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t count() const;
  /// Element `index` as a number; bool is 0 or 1.
  double at(int64_t index) const;
  /// "2x3xf32".
  std::string describe() const;
};

/// Bytes of one element as a number, and the reverse, rounded to nearest even.
double loadElement(sdc_element element, const uint8_t *bytes);
void storeElement(sdc_element element, double value, uint8_t *bytes);

/// Reads .pb or .npy, by the name's ending. Prints what is wrong and gives
/// false.
bool readTensor(const std::string &path, TensorData &tensor);

/// Writes .npy; bf16, which NumPy does not know, becomes f32.
bool writeNpy(const std::string &path, const TensorData &tensor);

} // namespace sdc

#endif // SDC_TOOLS_SDC_TENSORFILES_H
