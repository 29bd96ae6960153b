// Files as the driver reads and checks them.

#include "tools/sdc/Files.h"
#include "tools/sdc/Verbs.h"

#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace sdc;
namespace fs = std::filesystem;

bool sdc::readFile(const std::string &path, std::string &content) {
  auto buffer =
      path == "-"
          ? llvm::MemoryBuffer::getSTDIN()
          : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false,
                                        /*IsVolatile=*/true);
  if (!buffer) {
    printError((path == "-" ? "stdin" : path) + ": " +
               buffer.getError().message());
    return false;
  }
  content = (*buffer)->getBuffer().str();
  return true;
}

bool sdc::checkOutput(const std::string &output,
                      const std::vector<std::string> &inputs) {
  if (output.empty() || output == "-")
    return true;
  auto refuse = [&](const std::string &problem, const std::string &hint = "") {
    printError(output + ": " + problem, hint);
    return false;
  };
  fs::path path(output);
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || !path.has_filename())
    return refuse("is a folder, expected a file name");
  // The result takes the name; it would take that of a device as well.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return refuse("is not a regular file");
  if (!fs::is_directory(folder, ignored))
    return refuse("no such folder " + folder.string());
  if (::access(folder.c_str(), W_OK) != 0)
    return refuse("the folder " + folder.string() + " cannot be written to");
  for (const std::string &input : inputs)
    if (fs::equivalent(path, input, ignored))
      return refuse("is an input of this command, which it would replace",
                    "another name for the output");
  return true;
}

/// Device, number, size and time of a file; empty if there is none.
static std::vector<int64_t> stateOf(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return {};
  return {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
          info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

FileStates::FileStates(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    states.push_back({path, stateOf(path)});
}

std::string FileStates::findChanged() const {
  for (const State &state : states)
    if (stateOf(state.path) != state.numbers)
      return state.path;
  return "";
}
