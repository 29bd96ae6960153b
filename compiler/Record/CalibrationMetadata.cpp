// JSON of linears and sources. Everything read is checked before it is used.

#include "compiler/Record/CalibrationMetadata.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace sdc;
using nlohmann::json;

static constexpr llvm::StringLiteral kFormat = "sdc-calibration";
static constexpr llvm::StringLiteral kVersion = "1";
/// No dimension of a model comes near; larger ones would overflow sizes.
static constexpr int64_t kMaxDimension = int64_t(1) << 24;

std::map<std::string, std::string>
sdc::detail::writeMetadata(const CalibrationInfo &info) {
  auto text = [](const json &value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  json linears = json::array(), sources = json::array();
  for (const RecordedLinear &linear : info.linears)
    linears.push_back({{"name", linear.name},
                       {"rows", linear.rows},
                       {"columns", linear.columns},
                       {"input", linear.input},
                       {"norm", linear.fingerprint.norm},
                       {"projections", linear.fingerprint.projections}});
  for (const RecordSettings &source : info.sources)
    sources.push_back(source);
  return {{"format", kFormat.str()},
          {"version", kVersion.str()},
          {"linears", text(linears)},
          {"sources", text(sources)}};
}

namespace {

bool readString(const json &object, const char *name, std::string &out) {
  auto it = object.find(name);
  if (it == object.end() || !it->is_string())
    return false;
  out = it->get<std::string>();
  return !out.empty();
}

bool readDimension(const json &object, const char *name, int64_t &out) {
  auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer())
    return false;
  out = it->get<int64_t>();
  return out >= 1 && out <= kMaxDimension;
}

bool readNumber(const json &value, double &out) {
  if (!value.is_number())
    return false;
  out = value.get<double>();
  return std::isfinite(out);
}

bool readLinear(const json &object, RecordedLinear &linear) {
  if (!object.is_object() || !readString(object, "name", linear.name) ||
      !readString(object, "input", linear.input) ||
      !readDimension(object, "rows", linear.rows) ||
      !readDimension(object, "columns", linear.columns) ||
      !object.contains("norm") || !object.contains("projections") ||
      !readNumber(object["norm"], linear.fingerprint.norm))
    return false;
  const json &projections = object["projections"];
  if (!projections.is_array() ||
      projections.size() != linear.fingerprint.projections.size())
    return false;
  for (size_t t = 0; t < projections.size(); ++t)
    if (!readNumber(projections[t], linear.fingerprint.projections[t]))
      return false;
  return true;
}

} // namespace

llvm::Error sdc::detail::readMetadata(const SafetensorsFile &file,
                                      CalibrationInfo &info) {
  const auto &metadata = file.metadata();
  auto value = [&](const char *name) -> std::string {
    auto it = metadata.find(name);
    return it == metadata.end() ? "" : it->second;
  };
  if (value("format") != kFormat)
    return file.problem("is a safetensors file, but no calibration: metadata "
                        "'format' is '" +
                        value("format") + "', expected '" + kFormat + "'");
  if (value("version") != kVersion)
    return file.problem("has version '" + value("version") +
                        "' of the calibration format, expected '" + kVersion +
                        "'");
  json linears = json::parse(value("linears"), nullptr, false);
  json sources = json::parse(value("sources"), nullptr, false);
  if (!linears.is_array() || !sources.is_array())
    return file.problem("metadata 'linears' and 'sources' are not both JSON "
                        "arrays");
  llvm::StringSet<> names;
  for (const json &object : linears) {
    RecordedLinear linear;
    if (!readLinear(object, linear))
      return file.problem("entry " + llvm::Twine(info.linears.size()) +
                          " of metadata 'linears' is not valid");
    if (!names.insert(linear.name).second)
      return file.problem("metadata name the linear '" + linear.name +
                          "' twice");
    info.linears.push_back(std::move(linear));
  }
  for (const json &object : sources) {
    RecordSettings settings;
    if (!object.is_object())
      return file.problem("metadata 'sources' have an entry that is no object");
    for (auto &[name, setting] : object.items()) {
      if (!setting.is_string())
        return file.problem("setting '" + name +
                            "' in metadata 'sources' is "
                            "no string");
      settings[name] = setting.get<std::string>();
    }
    info.sources.push_back(std::move(settings));
  }
  info.keys = keysOf(info.linears);
  for (const RecordedLinear &linear : info.linears)
    if (const CalibrationKey *key = info.findKey(linear.input);
        key->columns != linear.columns)
      return file.problem("linear '" + linear.name + "' has " +
                          llvm::Twine(linear.columns) + " columns, expected " +
                          llvm::Twine(key->columns) + " as its input '" +
                          linear.input + "' has");
  return llvm::Error::success();
}
