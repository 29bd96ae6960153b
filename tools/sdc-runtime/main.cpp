// sdc-runtime: the verbs of sdc that need the runtime alone, for machines that
// run executables and do not make them. It needs no LLVM and no ONNX.

#include "tools/sdc/TextSource.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace sdc;

/// Tokenizers are read by the compiler, and executables hold what it made.
bool sdc::loadTextTable(const std::string &path, uint32_t,
                        std::vector<uint64_t> &, size_t &) {
  printError(path + ": sdc-runtime does not read tokenizers, only those in "
                    "executables",
             "compile the model beside its tokenizer.json");
  return false;
}

static int runCommand(int argc, char **argv) {
  CLI::App app("Runs executables that sdc compile made.", "sdc-runtime");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", std::string("sdc-runtime ") + SDC_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  int status = 0;
  auto add = [&](const char *name, const char *summary,
                 VerbAction (*setup)(CLI::App &)) {
    CLI::App *verb = app.add_subcommand(name, summary);
    verb->set_help_flag("-h,--help", "Print this help and exit");
    verb->callback([&status, action = setup(*verb)] { status = action(); });
  };
  add("chat", "Talk with an executable", setupChat);
  add("bench", "Measure executables", setupBench);
  add("doctor", "Say what this machine offers", setupDoctor);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    return usageError(error.what());
  }
  return status;
}

int main(int argc, char **argv) {
  try {
    return runCommand(argc, argv);
  } catch (const std::exception &error) {
    printError(error.what());
    return 1;
  }
}
