// The driver: one verb a call.

#include "tools/sdc/Options.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv) {
  CLI::App app("Compiles decoder language models to N:M sparse executables",
               "sdc");
  app.require_subcommand(1);
  sdc::CompileOptions compile;
  CLI::App *compileVerb = sdc::addCompileOptions(app, compile);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // CLI11 has exit codes of its own; wrong usage is 2 here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*compileVerb)
    return sdc::compile(compile);
  return 2;
}
