// Reading whole files, and looking at outputs before long work starts.

#ifndef SDC_TOOLS_SDC_FILES_H
#define SDC_TOOLS_SDC_FILES_H

#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

/// Reads a file, or stdin if `path` is "-". Prints what is wrong and gives
/// false.
bool readFile(const std::string &path, std::string &content);

/// Whether a file can be written under the name `path`, which none of `inputs`
/// may be; empty and "-" can. Prints what is wrong and gives false.
bool checkOutput(const std::string &path,
                 const std::vector<std::string> &inputs);

/// What files were when they were looked at, to find that one has changed.
class FileStates {
public:
  explicit FileStates(const std::vector<std::string> &paths);
  /// The first file that is not what it was, or nothing.
  std::string findChanged() const;

private:
  struct State {
    std::string path;
    std::vector<int64_t> numbers;
  };
  std::vector<State> states;
};

} // namespace sdc

#endif // SDC_TOOLS_SDC_FILES_H
