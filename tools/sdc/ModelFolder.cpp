// Looks at what lies beside a model.

#include "tools/sdc/ModelFolder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace sdc;
namespace fs = std::filesystem;
using Json = nlohmann::json;

static Json readJson(const fs::path &path) {
  std::ifstream stream(path);
  return stream ? Json::parse(stream, nullptr, /*allow_exceptions=*/false)
                : Json();
}

/// A positive integer at the end of `keys`; 0 if there is none.
static int64_t findNumber(const Json &json,
                          std::initializer_list<const char *> keys) {
  const Json *place = &json;
  for (const char *key : keys) {
    if (!place->is_object())
      return 0;
    auto it = place->find(key);
    if (it == place->end())
      return 0;
    place = &*it;
  }
  return place->is_number_integer()
             ? std::max<int64_t>(0, place->get<int64_t>())
             : 0;
}

ModelFolder sdc::lookAtModel(const std::string &model) {
  ModelFolder result;
  std::error_code ignored;
  fs::path path(model);
  if (fs::is_directory(path, ignored))
    path /= "model.onnx";
  result.file = path.string();
  fs::path folder = path.parent_path();
  result.folder = folder.empty() ? "." : folder.string();
  fs::path whole = fs::weakly_canonical(path, ignored);
  result.name = path.filename() == "model.onnx"
                    ? whole.parent_path().filename().string()
                    : path.stem().string();

  struct Source {
    const char *file;
    std::initializer_list<const char *> keys;
  };
  const Source sources[] = {
      {"config.json", {"max_position_embeddings"}},
      {"config.json", {"text_config", "max_position_embeddings"}},
      {"config.json", {"n_positions"}},
      {"config.json", {"n_ctx"}},
      {"genai_config.json", {"model", "context_length"}}};
  for (const Source &source : sources) {
    fs::path file = fs::path(result.folder) / source.file;
    if (!fs::exists(file, ignored))
      continue;
    if (int64_t context = findNumber(readJson(file), source.keys)) {
      result.context = context;
      result.inputs.push_back(file.string());
      break;
    }
  }
  return result;
}
