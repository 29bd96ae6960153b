// Streams, memory and limits of the process.

#include "tools/sdc/Process.h"
#include "tools/sdc/Verbs.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace sdc;

/// A standard stream that is closed would get a file of ours, and a message
/// would be written into that. Reading finds nothing, writing to stdout fails.
static void openStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

/// Says why and ends the process. Files that wait for their name go first.
/// Needs no memory.
[[noreturn]] static void die(const char *why) {
  for (const char *part : {"sdc: error: ", why, "\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  llvm::sys::RunInterruptHandlers();
  ::_exit(1);
}

/// Where a mapped file ends early, reading is a signal.
static void onBusError(int) {
  die("a file became shorter, or its disk failed, while it was read");
}

static void onFatalError(void *, const char *reason, bool) { die(reason); }

void sdc::prepareProcess() {
  openStandardStreams();
  // A file that grows beyond a limit is then an error of write().
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, onBusError);
  std::set_new_handler([] { die("out of memory"); });
  llvm::install_bad_alloc_error_handler(onFatalError);
  llvm::install_fatal_error_handler(onFatalError);
}

int sdc::guardProcess(int (*body)(int, char **), int argc, char **argv) try {
  return body(argc, argv);
} catch (const std::exception &error) {
  printError(error.what());
  return 1;
}

int sdc::finishOutput(int status) {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code problem = out.error();
  out.clear_error();
  errno = 0;
  bool lost = std::fflush(stdout) != 0 || std::ferror(stdout);
  // An earlier write may have failed, and its reason is gone.
  if (lost && errno)
    problem = std::error_code(errno, std::generic_category());
  if (!problem && !lost)
    return status;
  printError("stdout: cannot be written" +
             (problem ? ": " + problem.message() : ""));
  return status == 0 ? 1 : status;
}
