// What an executable says about itself.

#include "sdc/sdc.h"
#include "tools/sdc/Inspect.h"
#include "tools/sdc/OpenModel.h"
#include "tools/sdc/PrintJson.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sdc;
using Json = nlohmann::ordered_json;

namespace {

template <typename Info> Info makeInfo() {
  Info info = {};
  info.struct_size = sizeof(info);
  return info;
}

std::string patternOf(const sdc_weight_info &weight) {
  if (!weight.pattern_m)
    return "dense";
  return std::to_string(weight.pattern_n) + ":" +
         std::to_string(weight.pattern_m);
}

Json describeWeight(const sdc_model *model, uint32_t index) {
  auto weight = makeInfo<sdc_weight_info>();
  sdc_model_weight(model, index, &weight);
  Json json = {
      {"name", weight.name},
      {"shape", std::vector<int64_t>(weight.shape, weight.shape + weight.rank)},
      {"element", sdc_element_name(weight.element)},
      {"pattern", patternOf(weight)},
      {"tile", weight.tile},
      {"bytes", weight.bytes},
      {"notes", Json::array()}};
  for (uint32_t i = 0; i < weight.note_count; ++i)
    json["notes"].push_back(sdc_model_weight_note(model, index, i));
  if (*weight.method) {
    json["pruning"] = {{"method", weight.method},
                       {"damping", weight.damping},
                       {"loss", weight.loss},
                       {"relative_loss", weight.relative_loss},
                       {"notes", Json::array()}};
    for (uint32_t i = 0; i < weight.pruning_note_count; ++i)
      json["pruning"]["notes"].push_back(
          sdc_model_pruning_note(model, index, i));
  }
  return json;
}

Json describeEntry(const sdc_model *model, uint32_t index) {
  auto entry = makeInfo<sdc_entry_info>();
  sdc_model_entry(model, index, &entry);
  static const char *const kinds[] = {"decode", "prefill", "plain"};
  Json json = {{"name", entry.name},
               {"kind", kinds[entry.kind]},
               {"batch", entry.batch},
               {"rows", entry.rows},
               {"all_logits", entry.all_logits},
               {"arena_bytes", entry.arena_size},
               {"launches", Json::array()},
               {"bindings", Json::array()}};
  for (uint32_t i = 0; i < entry.launch_count; ++i) {
    auto launch = makeInfo<sdc_launch_info>();
    auto kernel = makeInfo<sdc_kernel_info>();
    sdc_model_launch(model, index, i, &launch);
    sdc_model_kernel(model, launch.kernel, &kernel);
    json["launches"].push_back({{"label", launch.label},
                                {"kernel", kernel.name},
                                {"units", launch.units},
                                {"weight_bytes", launch.weight_bytes}});
  }
  for (uint32_t i = 0; i < entry.binding_count; ++i) {
    auto binding = makeInfo<sdc_binding_info>();
    sdc_model_binding(model, index, i, &binding);
    json["bindings"].push_back(
        {{"name", binding.name},
         {"role", binding.role},
         {"element", sdc_element_name(binding.element)},
         {"shape",
          std::vector<int64_t>(binding.shape, binding.shape + binding.rank)}});
  }
  return json;
}

Json describe(const sdc_model *model, const std::string &path) {
  auto info = makeInfo<sdc_model_info>();
  sdc_model_query(model, &info);
  auto options = makeInfo<sdc_session_options>();
  auto memory = makeInfo<sdc_memory>();
  // CUDA executables say what they take on a device without having one.
  options.device = info.device;
  sdc_error error = {};
  bool known = sdc_session_memory(model, &options, &memory, &error) == SDC_OK;
  Json json = {{"file", path},
               {"bytes", info.file_size},
               {"format_minor", info.format_minor},
               {"model",
                {{"name", info.name},
                 {"layers", info.layers},
                 {"hidden", info.hidden},
                 {"vocabulary", info.vocabulary},
                 {"batch", info.batch},
                 {"context", info.context},
                 {"model_context", info.model_context},
                 {"prefill_chunk", info.prefill_chunk}}},
               {"recording", info.recording},
               {"weight_bytes", info.weight_bytes},
               {"provenance",
                {{"tool", info.tool_version},
                 {"flags", Json::array()},
                 {"model_digest", info.model_digest},
                 {"calibration_digest", info.calibration_digest},
                 {"positions",
                  {{"decode", info.decode_positions},
                   {"prompt", info.prompt_positions},
                   {"first", info.first_positions}}},
                 {"notes", Json::array()}}}};
  if (known)
    json["session_memory"] = {{"states", memory.states},
                              {"arena", memory.arena},
                              {"scratch", memory.scratch},
                              {"total", memory.total}};
  if (known && info.device == SDC_DEVICE_CUDA)
    json["device_memory"] = {{"weights", memory.device_weights},
                             {"session", memory.device},
                             {"pinned", memory.pinned}};
  for (uint32_t i = 0; i < info.flag_count; ++i)
    json["provenance"]["flags"].push_back(sdc_model_flag(model, i));
  for (uint32_t i = 0; i < info.note_count; ++i)
    json["provenance"]["notes"].push_back(sdc_model_note(model, i));
  json["text"] = [&] {
    size_t size = 0;
    return sdc_model_text(model, &size) ? size : 0;
  }();
  for (uint32_t i = 0; i < info.image_count; ++i) {
    auto image = makeInfo<sdc_image_info>();
    sdc_model_image(model, i, &image);
    json["images"].push_back(
        {{"level", image.level}, {"code_bytes", image.code_size}});
  }
  for (uint32_t i = 0; i < info.state_count; ++i) {
    auto state = makeInfo<sdc_state_info>();
    sdc_model_state(model, i, &state);
    json["states"].push_back({{"name", state.name},
                              {"past", state.past_name},
                              {"present", state.present_name},
                              {"heads", state.heads},
                              {"head_size", state.head_size},
                              {"element", sdc_element_name(state.element)}});
  }
  for (uint32_t i = 0; i < info.weight_count; ++i)
    json["weights"].push_back(describeWeight(model, i));
  for (uint32_t i = 0; i < info.entry_count; ++i)
    json["entries"].push_back(describeEntry(model, i));
  return json;
}

double mebibytes(const Json &bytes) {
  return bytes.get<double>() / (1024.0 * 1024.0);
}

void print(const Json &json, bool verbose) {
  const Json &model = json["model"];
  const Json &provenance = json["provenance"];
  std::printf("%s: %.1f MiB%s\n", json["file"].get<std::string>().c_str(),
              mebibytes(json["bytes"]),
              json["recording"].get<bool>() ? ", a recording build" : "");
  std::printf("model     %s: %u layers, hidden %u, vocabulary %u\n",
              model["name"].get<std::string>().c_str(),
              model["layers"].get<unsigned>(), model["hidden"].get<unsigned>(),
              model["vocabulary"].get<unsigned>());
  std::printf("bound to  %u slots, context %u (the model's own: %u), prefill "
              "chunk %u\n",
              model["batch"].get<unsigned>(), model["context"].get<unsigned>(),
              model["model_context"].get<unsigned>(),
              model["prefill_chunk"].get<unsigned>());
  if (json.contains("session_memory")) {
    const Json &memory = json["session_memory"];
    std::printf("memory    %.1f MiB of weights, mapped; a session takes %.1f "
                "MiB: KV %.1f, arena %.1f, scratch %.1f\n",
                mebibytes(json["weight_bytes"]), mebibytes(memory["total"]),
                mebibytes(memory["states"]), mebibytes(memory["arena"]),
                mebibytes(memory["scratch"]));
  }
  std::printf("text      %s\n", json["text"].get<uint64_t>()
                                    ? "tokenizer inside"
                                    : "no tokenizer");
  std::printf("code     ");
  for (const Json &image : json["images"])
    std::printf(" %s (%.2f MiB)", image["level"].get<std::string>().c_str(),
                mebibytes(image["code_bytes"]));
  std::printf("\nmade by   %s;", provenance["tool"].get<std::string>().c_str());
  for (const Json &flag : provenance["flags"])
    std::printf(" %s", flag.get<std::string>().c_str());
  std::printf("\nmodel digest %s\n",
              provenance["model_digest"].get<std::string>().c_str());
  if (!provenance["calibration_digest"].get<std::string>().empty())
    std::printf("calibration digest %s; positions: %llu decode, %llu prompt, "
                "%llu first\n",
                provenance["calibration_digest"].get<std::string>().c_str(),
                provenance["positions"]["decode"].get<unsigned long long>(),
                provenance["positions"]["prompt"].get<unsigned long long>(),
                provenance["positions"]["first"].get<unsigned long long>());
  for (const Json &note : provenance["notes"])
    std::printf("note: %s\n", note.get<std::string>().c_str());

  std::printf("\n%-28s %-14s %-5s %-7s %-8s %10s  %s\n", "weight", "shape",
              "type", "pattern", "tile", "MiB", "pruned by, relative loss");
  for (const Json &weight : json["weights"]) {
    std::string shape;
    for (const Json &size : weight["shape"])
      shape += (shape.empty() ? "" : "x") + std::to_string(size.get<int64_t>());
    std::string pruned;
    if (weight.contains("pruning")) {
      char text[96];
      std::snprintf(text, sizeof(text), "%s, %.4g",
                    weight["pruning"]["method"].get<std::string>().c_str(),
                    weight["pruning"]["relative_loss"].get<double>());
      pruned = text;
    }
    std::printf("%-28s %-14s %-5s %-7s %-8s %10.3f  %s\n",
                weight["name"].get<std::string>().c_str(), shape.c_str(),
                weight["element"].get<std::string>().c_str(),
                weight["pattern"].get<std::string>().c_str(),
                weight["tile"].get<std::string>().c_str(),
                mebibytes(weight["bytes"]), pruned.c_str());
    for (const Json &note : weight["notes"])
      std::printf("    note: %s\n", note.get<std::string>().c_str());
    if (weight.contains("pruning"))
      for (const Json &note : weight["pruning"]["notes"])
        std::printf("    note: %s\n", note.get<std::string>().c_str());
  }
  for (const Json &entry : json["entries"]) {
    std::printf("\nentry %s (%s): %u x %u rows, %zu launches, arena %.2f MiB\n",
                entry["name"].get<std::string>().c_str(),
                entry["kind"].get<std::string>().c_str(),
                entry["batch"].get<unsigned>(), entry["rows"].get<unsigned>(),
                entry["launches"].size(), mebibytes(entry["arena_bytes"]));
    if (!verbose)
      continue;
    for (const Json &launch : entry["launches"])
      std::printf("  %-36s %4u units  %8.3f MiB  %s\n",
                  launch["label"].get<std::string>().c_str(),
                  launch["units"].get<unsigned>(),
                  mebibytes(launch["weight_bytes"]),
                  launch["kernel"].get<std::string>().c_str());
  }
  if (!verbose)
    std::printf("(-v lists the launches)\n");
}

} // namespace

int sdc::inspectExecutable(const std::string &path,
                           const CommonOptions &common) {
  auto options = makeInfo<sdc_open_options>();
  options.flags = SDC_OPEN_WITHOUT_CODE;
  ModelHandle model = openModel(path, &options);
  if (!model)
    return 1;
  Json json = describe(model.get(), path);
  if (common.json)
    printJson(json);
  else
    print(json, common.verbose);
  return 0;
}
