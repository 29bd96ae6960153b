// Compares what an executable computes with stored ONNX test data.

#ifndef SDC_TOOLS_SDC_VERIFYNUMBERS_H
#define SDC_TOOLS_SDC_VERIFYNUMBERS_H

#include "sdc/sdc.h"
#include "tools/sdc/TensorFiles.h"

#include <map>
#include <string>
#include <vector>

namespace sdc {

struct Tolerance {
  double absolute = 1e-3;
  double relative = 1e-3;
};

/// A test_data_set folder: its input and output tensors by name.
struct TestData {
  std::string folder;
  std::map<std::string, TensorData> inputs;
  std::map<std::string, TensorData> outputs;
};

/// Reads a folder of input_N.pb and output_N.pb, or all test_data_set_* folders
/// in it. Prints what is wrong and gives false.
bool readTestData(const std::string &folder, std::vector<TestData> &sets);

/// How far one tensor is from what was expected.
struct Difference {
  std::string tensor;
  /// Elements compared, and the largest |got - expected|.
  int64_t compared = 0;
  double largest = 0;
  /// Place of the first element out of tolerance; empty if there is none.
  std::string place;
  double got = 0;
  double expected = 0;
};

/// Feeds the inputs of `data` to a fresh state of `session`, and compares
/// logits and states, layers in order, with its outputs. Without
/// `--all-logits` in the executable only the last row of the logits is
/// compared. Prints what keeps it from running and gives false.
bool compareWithTestData(const sdc_model *model, sdc_session *session,
                         TestData &data, const Tolerance &tolerance,
                         std::vector<Difference> &differences);

/// Puts what `session` gives for the inputs of `data` in the place of its
/// outputs.
bool replaceOutputs(const sdc_model *model, sdc_session *session,
                    TestData &data);

} // namespace sdc

#endif // SDC_TOOLS_SDC_VERIFYNUMBERS_H
