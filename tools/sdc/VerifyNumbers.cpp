// Compares what an executable computes with stored ONNX test data.

#include "tools/sdc/VerifyNumbers.h"
#include "tools/sdc/Verbs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

using namespace sdc;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool readSet(const fs::path &folder, std::vector<TestData> &sets) {
  TestData set;
  set.folder = folder.string();
  for (bool input : {true, false})
    for (int i = 0;; ++i) {
      fs::path file =
          folder / ((input ? "input_" : "output_") + std::to_string(i) + ".pb");
      if (!fs::exists(file))
        break;
      TensorData tensor;
      if (!readTensor(file.string(), tensor))
        return false;
      if (tensor.name.empty()) {
        printError(file.string() + ": the tensor has no name");
        return false;
      }
      (input ? set.inputs : set.outputs)[tensor.name] = std::move(tensor);
    }
  if (set.inputs.empty() || set.outputs.empty()) {
    printError(folder.string() + ": no input_0.pb and output_0.pb",
               "expected the layout of the ONNX backend tests");
    return false;
  }
  sets.push_back(std::move(set));
  return true;
}

bool sdc::readTestData(const std::string &folder, std::vector<TestData> &sets) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    printError(folder + ": no such folder");
    return false;
  }
  std::vector<fs::path> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory() &&
        entry.path().filename().string().rfind("test_data_set_", 0) == 0)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  if (found.empty())
    found.push_back(folder);
  for (const fs::path &path : found)
    if (!readSet(path, sets))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {

/// The tensors of a test that are not states.
struct Sequences {
  const TensorData *tokens = nullptr;
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t past = 0;
};

std::string placeOf(int64_t index, const std::vector<int64_t> &shape) {
  std::string text = "]";
  for (size_t i = shape.size(); i-- > 0;) {
    text = (i ? ", " : "[") + std::to_string(index % shape[i]) + text;
    index /= shape[i];
  }
  return text;
}

/// Compares element `index` of `expected` with `got`.
void compareElement(const TensorData &expected, int64_t index, double got,
                    const Tolerance &tolerance, Difference &difference) {
  double want = expected.at(index);
  double distance = std::fabs(got - want);
  ++difference.compared;
  // Written so that NaN is a difference.
  bool close =
      distance <= tolerance.absolute + tolerance.relative * std::fabs(want);
  if (!close && difference.place.empty()) {
    difference.place = placeOf(index, expected.shape);
    difference.got = got;
    difference.expected = want;
  }
  if (!(distance <= difference.largest))
    difference.largest = distance;
}

bool findSequences(const TestData &data, const sdc_model_info &info,
                   uint32_t slots, Sequences &sequences) {
  auto refuse = [&](const std::string &what) {
    printError(data.folder + ": " + what);
    return false;
  };
  for (const char *name : {"input_ids", "input_ids.1", "tokens"})
    if (auto it = data.inputs.find(name); it != data.inputs.end())
      sequences.tokens = &it->second;
  if (!sequences.tokens || sequences.tokens->shape.size() != 2)
    return refuse("no input_ids of shape [batch, rows]");
  sequences.batch = sequences.tokens->shape[0];
  sequences.rows = sequences.tokens->shape[1];
  if (sequences.batch > slots)
    return refuse("holds a batch of " + std::to_string(sequences.batch) +
                  ", the executable has " + std::to_string(slots) + " slots");
  if (auto it = data.inputs.find("attention_mask"); it != data.inputs.end())
    for (int64_t i = 0; i < it->second.count(); ++i)
      if (it->second.at(i) == 0)
        return refuse("attention_mask has padding, which slots do not know");
  for (int64_t i = 0; i < sequences.tokens->count(); ++i) {
    double token = sequences.tokens->at(i);
    if (token < 0 || token >= info.vocabulary)
      return refuse("token " + std::to_string(static_cast<int64_t>(token)) +
                    " is outside the vocabulary of " +
                    std::to_string(info.vocabulary));
  }
  return true;
}

/// The positions [0, past) of `slot` become those of the past tensors.
bool loadPast(const sdc_model *model, sdc_session *session,
              const TestData &data, uint32_t slot, Sequences &sequences) {
  sdc_state_info state = {};
  state.struct_size = sizeof(state);
  sdc_error error = {};
  for (uint32_t s = 0; sdc_model_state(model, s, &state); ++s) {
    auto it = data.inputs.find(state.past_name);
    if (it == data.inputs.end()) {
      printError(data.folder + ": no input " + state.past_name);
      return false;
    }
    const TensorData &past = it->second;
    if (past.shape.size() != 4 || past.shape[0] != sequences.batch ||
        past.shape[1] != state.heads || past.shape[3] != state.head_size) {
      printError(data.folder + ": " + state.past_name + " is " +
                 past.describe() + ", expected [" +
                 std::to_string(sequences.batch) + ", " +
                 std::to_string(state.heads) + ", past, " +
                 std::to_string(state.head_size) + "]");
      return false;
    }
    sequences.past = past.shape[2];
    int64_t count = past.count() / sequences.batch;
    size_t size = sdc_element_size(state.element);
    std::vector<uint8_t> bytes(static_cast<size_t>(count) * size);
    for (int64_t i = 0; i < count; ++i)
      storeElement(state.element, past.at(slot * count + i),
                   bytes.data() + static_cast<size_t>(i) * size);
    if (sdc_slot_write_state(session, slot, s, 0,
                             static_cast<uint32_t>(sequences.past),
                             bytes.data(), bytes.size(), &error) != SDC_OK) {
      printError(data.folder + ": " + error.message);
      return false;
    }
  }
  return true;
}

/// Called for each element of an output that the session gives: its tensor, its
/// index there, and its value.
using TakeElement = std::function<void(TensorData &, int64_t, double)>;

bool readStates(const sdc_model *model, sdc_session *session, TestData &data,
                uint32_t slot, const Sequences &sequences,
                const TakeElement &take) {
  sdc_state_info state = {};
  state.struct_size = sizeof(state);
  sdc_error error = {};
  for (uint32_t s = 0; sdc_model_state(model, s, &state); ++s) {
    auto it = data.outputs.find(state.present_name);
    if (it == data.outputs.end())
      continue;
    TensorData &present = it->second;
    int64_t positions = sequences.past + sequences.rows;
    if (present.shape != std::vector<int64_t>{sequences.batch, state.heads,
                                              positions, state.head_size}) {
      printError(data.folder + ": " + state.present_name + " is " +
                 present.describe());
      return false;
    }
    int64_t count = present.count() / sequences.batch;
    size_t size = sdc_element_size(state.element);
    std::vector<uint8_t> bytes(static_cast<size_t>(count) * size);
    if (sdc_slot_read_state(session, slot, s, 0,
                            static_cast<uint32_t>(positions), bytes.data(),
                            bytes.size(), &error) != SDC_OK) {
      printError(data.folder + ": " + error.message);
      return false;
    }
    for (int64_t i = 0; i < count; ++i)
      take(present, slot * count + i,
           loadElement(state.element,
                       bytes.data() + static_cast<size_t>(i) * size));
  }
  return true;
}

/// Runs the inputs of `data` and hands over every element of every output,
/// states before logits, layer by layer.
bool runTestData(const sdc_model *model, sdc_session *session, TestData &data,
                 const TakeElement &take) {
  sdc_model_info info = {};
  info.struct_size = sizeof(info);
  sdc_model_query(model, &info);
  Sequences sequences;
  if (!findSequences(data, info, sdc_session_slots(session), sequences))
    return false;
  sdc_error error = {};
  for (uint32_t slot = 0; slot < sequences.batch; ++slot) {
    if (sdc_slot_rewind(session, slot, 0, &error) != SDC_OK ||
        !loadPast(model, session, data, slot, sequences) ||
        sdc_slot_set_tokens(session, slot, nullptr,
                            static_cast<uint32_t>(sequences.past),
                            &error) != SDC_OK) {
      if (error.code != SDC_OK)
        printError(data.folder + ": " + error.message);
      return false;
    }
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < sequences.rows; ++i)
      tokens.push_back(static_cast<int32_t>(
          sequences.tokens->at(slot * sequences.rows + i)));
    std::vector<float> all;
    sdc_status status;
    if (info.all_logits) {
      all.resize(tokens.size() * info.vocabulary);
      status = sdc_prefill_all_logits(session, slot, tokens.data(),
                                      tokens.size(), all.data(), &error);
    } else {
      status = sdc_prefill(session, slot, tokens.data(), tokens.size(), &error);
    }
    if (status != SDC_OK) {
      printError(data.folder + ": " + error.message);
      return false;
    }
    if (!readStates(model, session, data, slot, sequences, take))
      return false;
    auto it = data.outputs.find("logits");
    if (it == data.outputs.end())
      continue;
    TensorData &logits = it->second;
    if (logits.shape != std::vector<int64_t>{sequences.batch, sequences.rows,
                                             info.vocabulary}) {
      printError(data.folder + ": logits are " + logits.describe());
      return false;
    }
    int64_t first = info.all_logits ? 0 : sequences.rows - 1;
    const float *got =
        info.all_logits ? all.data() : sdc_slot_logits(session, slot);
    for (int64_t row = first; row < sequences.rows; ++row)
      for (uint32_t v = 0; v < info.vocabulary; ++v)
        take(logits, (slot * sequences.rows + row) * info.vocabulary + v,
             got[(row - first) * info.vocabulary + v]);
  }
  return true;
}

} // namespace

bool sdc::compareWithTestData(const sdc_model *model, sdc_session *session,
                              TestData &data, const Tolerance &tolerance,
                              std::vector<Difference> &differences) {
  return runTestData(
      model, session, data,
      [&](TensorData &expected, int64_t index, double got) {
        if (differences.empty() || differences.back().tensor != expected.name)
          differences.push_back({expected.name, 0, 0, "", 0, 0});
        compareElement(expected, index, got, tolerance, differences.back());
      });
}

bool sdc::replaceOutputs(const sdc_model *model, sdc_session *session,
                         TestData &data) {
  return runTestData(model, session, data,
                     [](TensorData &tensor, int64_t index, double value) {
                       storeElement(tensor.element, value,
                                    tensor.bytes.data() +
                                        static_cast<size_t>(index) *
                                            sdc_element_size(tensor.element));
                     });
}
