// What all verbs say in the same way: common options, messages, pieces of text.

#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace sdc;

void sdc::addCommonOptions(CLI::App &verb, CommonOptions &options) {
  verb.add_option("-t,--threads", options.threads,
                  "Threads; 0 is one for each physical core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  verb.add_flag("--json", options.json, "Print the result as JSON on stdout");
  verb.add_flag("-q,--quiet", options.quiet, "Print errors and results only");
  verb.add_flag("-v,--verbose", options.verbose,
                "Print what is decided, and why");
  verb.add_flag_callback(
      "--version",
      [] {
        std::printf("sdc %s\n", SDC_VERSION);
        throw CLI::Success();
      },
      "Print the version and exit");
}

void sdc::printError(const std::string &message, const std::string &hint) {
  std::fprintf(stderr, "sdc: error: %s\n", message.c_str());
  if (!hint.empty())
    std::fprintf(stderr, "hint: %s\n", hint.c_str());
}

void sdc::printWarning(const std::string &message) {
  std::fprintf(stderr, "sdc: warning: %s\n", message.c_str());
}

bool sdc::printPiece(const std::string &piece) {
  return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() &&
         std::fflush(stdout) == 0;
}

int sdc::usageError(const std::string &message, const std::string &hint) {
  printError(message, hint);
  return 2;
}
