// sdc inspect: what is in an executable, a calibration file or a model. The
// kind of file is told by its content.

#include "tools/sdc/Inspect.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace sdc;

namespace {

struct InspectOptions {
  CommonOptions common;
  std::string file;
  std::string against;
};

enum class FileKind { Executable, Calibration, Model, Unreadable };

/// An executable has a magic; a calibration file is safetensors: a length, then
/// JSON. All else is left to the importer, which knows what it is not.
FileKind kindOf(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return FileKind::Model;
  std::ifstream stream(path, std::ios::binary);
  char head[9] = {};
  if (!stream || !stream.read(head, 1)) {
    printError(path + ": " +
               (stream.eof() ? "the file is empty" : std::strerror(errno)));
    return FileKind::Unreadable;
  }
  stream.read(head + 1, 8);
  if (std::memcmp(head, "SDCEXEC", 8) == 0)
    return FileKind::Executable;
  return head[8] == '{' ? FileKind::Calibration : FileKind::Model;
}

int inspect(const InspectOptions &options) {
  FileKind kind = kindOf(options.file);
  if (!options.against.empty() && kind != FileKind::Calibration &&
      kind != FileKind::Unreadable)
    return usageError("inspect: --against compares calibration files, and '" +
                      options.file + "' is none");
  switch (kind) {
  case FileKind::Executable:
    return inspectExecutable(options.file, options.common);
  case FileKind::Calibration:
    return inspectCalibration(options.file, options.against, options.common);
  case FileKind::Model:
    return inspectModel(options.file, options.common);
  case FileKind::Unreadable:
    break;
  }
  return 1;
}

} // namespace

VerbAction sdc::setupInspect(CLI::App &verb) {
  auto options = std::make_shared<InspectOptions>();
  verb.add_option("FILE", options->file,
                  "An .sdx, a calibration file, an .onnx, or a folder that "
                  "holds model.onnx")
      ->required();
  verb.add_option("--against", options->against,
                  "A second calibration file: how much they differ, by key");
  addCommonOptions(verb, options->common);
  return [options] { return inspect(*options); };
}
