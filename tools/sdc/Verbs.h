// The verbs of the driver, and what all of them share. A verb is one file: its
// setup function adds options to a CLI11 subcommand and returns what runs when
// the command line has been read.
//
// Exit status of every verb: 0 done, 1 failed, 2 wrong usage.

#ifndef SDC_TOOLS_SDC_VERBS_H
#define SDC_TOOLS_SDC_VERBS_H

#include <functional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace sdc {

/// Runs a verb whose options have been read; gives the exit status.
using VerbAction = std::function<int()>;

VerbAction setupCompile(CLI::App &verb);
VerbAction setupRecord(CLI::App &verb);
VerbAction setupRun(CLI::App &verb);
VerbAction setupChat(CLI::App &verb);
VerbAction setupBench(CLI::App &verb);
VerbAction setupInspect(CLI::App &verb);
VerbAction setupVerify(CLI::App &verb);
VerbAction setupDoctor(CLI::App &verb);

/// Options that every verb has.
struct CommonOptions {
  /// 0: one for each physical core.
  unsigned threads = 0;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};
void addCommonOptions(CLI::App &verb, CommonOptions &options);

/// Prints "sdc: error: ...", or "sdc: warning: ...", on stderr.
void printError(const std::string &message, const std::string &hint = "");
void printWarning(const std::string &message);

/// Prints a piece of text on stdout at once; false if it is not taken.
bool printPiece(const std::string &piece);

/// Prints an error of wrong usage and gives 2.
int usageError(const std::string &message, const std::string &hint = "");

} // namespace sdc

#endif // SDC_TOOLS_SDC_VERBS_H
