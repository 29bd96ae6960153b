// The driver: one verb a call. It owns the command line; all else is in the
// libraries.

#include "tools/sdc/Process.h"
#include "tools/sdc/Verbs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

using namespace sdc;

namespace {

struct VerbEntry {
  const char *name;
  const char *summary;
  VerbAction (*setup)(CLI::App &);
};

constexpr VerbEntry kVerbs[] = {
    {"compile", "Make an executable of an ONNX model", setupCompile},
    {"record", "Let the dense model write, and record what its linears see",
     setupRecord},
    {"run", "Write text with an executable", setupRun},
    {"chat", "Talk with an executable", setupChat},
    {"bench", "Measure executables", setupBench},
    {"inspect", "Say what is in an executable, a calibration file or a model",
     setupInspect},
    {"verify", "Check an executable: structure, digests, masks, numbers",
     setupVerify},
    {"doctor", "Say what this machine offers", setupDoctor},
};

/// Levenshtein distance.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

/// The known word nearest to `word`, empty if none is near.
std::string nearest(const std::string &word,
                    const std::vector<std::string> &known) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 2);
  for (const std::string &candidate : known) {
    size_t distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> flagsOf(const CLI::App &verb) {
  std::vector<std::string> flags;
  for (const CLI::Option *option : verb.get_options()) {
    for (const std::string &name : option->get_lnames())
      flags.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      flags.push_back("-" + name);
  }
  return flags;
}

/// Says which words of the command line are unknown, and what was meant.
int reportUnknown(const CLI::App &app, const CLI::App *verb) {
  if (!verb) {
    std::vector<std::string> verbs;
    for (const VerbEntry &entry : kVerbs)
      verbs.push_back(entry.name);
    std::vector<std::string> words = app.remaining();
    std::string word = words.empty() ? "" : words.front();
    std::string guess = nearest(word, verbs);
    return usageError("unknown verb '" + word + "'",
                      guess.empty() ? "sdc --help lists the verbs"
                                    : "did you mean '" + guess + "'?");
  }
  for (const std::string &word : verb->remaining()) {
    std::string flag = word.substr(0, word.find('='));
    if (flag.rfind('-', 0) != 0) {
      usageError(verb->get_name() + ": unexpected argument '" + word + "'");
      continue;
    }
    std::string guess = nearest(flag, flagsOf(*verb));
    usageError(verb->get_name() + ": unknown flag '" + flag + "'",
               guess.empty() ? "sdc " + verb->get_name() + " --help"
                             : "did you mean '" + guess + "'?");
  }
  return 2;
}

} // namespace

/// Reads the command line and runs its verb.
static int runCommand(int argc, char **argv) {
  CLI::App app("Compiles decoder language models in ONNX to executables whose "
               "weights are N:M sparse.",
               "sdc");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", std::string("sdc ") + SDC_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  std::vector<std::pair<CLI::App *, VerbAction>> verbs;
  for (const VerbEntry &entry : kVerbs) {
    CLI::App *verb = app.add_subcommand(entry.name, entry.summary);
    // Unknown words are collected, so that all of them are named.
    verb->allow_extras();
    verb->set_help_flag("-h,--help", "Print this help and exit");
    verbs.emplace_back(verb, entry.setup(*verb));
  }
  app.allow_extras();

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::RequiredError &error) {
    // A missing verb or argument may be a misspelt one.
    for (auto &[verb, action] : verbs)
      if (verb->parsed())
        return verb->remaining_size()
                   ? reportUnknown(app, verb)
                   : usageError(verb->get_name() + ": " + error.what());
    return app.remaining_size()
               ? reportUnknown(app, nullptr)
               : usageError("expected a verb", "sdc --help lists them");
  } catch (const CLI::ParseError &error) {
    return usageError(error.what());
  }
  for (auto &[verb, action] : verbs) {
    if (!verb->parsed())
      continue;
    if (verb->remaining_size())
      return reportUnknown(app, verb);
    return action();
  }
  return 2;
}

int main(int argc, char **argv) {
  prepareProcess();
  return finishOutput(guardProcess(runCommand, argc, argv));
}
