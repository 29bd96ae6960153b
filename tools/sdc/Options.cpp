// What the command line says: options, their help and their checks.

#include "tools/sdc/Options.h"

#include <CLI/CLI.hpp>

using namespace sdc;

CLI::App *sdc::addCompileOptions(CLI::App &app, CompileOptions &options) {
  CLI::App *verb = app.add_subcommand("compile", "Compile an ONNX model");
  verb->add_option("MODEL", options.model,
                   "An .onnx file, or a folder that holds model.onnx")
      ->required();
  verb->add_option("-o", options.output, "The file to write; - is stdout")
      ->required();
  verb->add_option("--compile-to", options.compileTo, "Stop after this phase")
      ->check(CLI::IsMember({"import"}));
  verb->add_option("-b,--batch", options.batch, "Sequences of a decode step")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--prefill-chunk", options.prefillChunk,
                   "Tokens of a prefill call")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  verb->add_option("--weights-dir", options.weightsDir,
                   "Folder of external data, if it is not the model's")
      ->check(CLI::ExistingDirectory);
  verb->add_option_function<std::string>(
          "--weights",
          [&options](const std::string &text) {
            options.randomSeed = std::stoull(text.substr(text.find(':') + 1));
          },
          "random:SEED fills weights whose file is absent")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            const std::string prefix = "random:";
            bool valid = text.rfind(prefix, 0) == 0 &&
                         text.size() > prefix.size() &&
                         text.size() <= prefix.size() + 19 &&
                         text.find_first_not_of("0123456789", prefix.size()) ==
                             std::string::npos;
            return valid ? "" : "expected random:SEED, got " + text;
          },
          "random:SEED"));
  return verb;
}
