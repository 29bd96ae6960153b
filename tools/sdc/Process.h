// What the process owes whoever started it: files never get the numbers of the
// standard streams, limits of the system become messages, and what stdout could
// not take is an error.

#ifndef SDC_TOOLS_SDC_PROCESS_H
#define SDC_TOOLS_SDC_PROCESS_H

namespace sdc {

/// Called first in main.
void prepareProcess();

/// Runs `body`; an exception becomes a message and 1.
int guardProcess(int (*body)(int, char **), int argc, char **argv);

/// Writes out what is buffered for stdout. Gives `status`, or 1 with a message
/// if something was lost.
int finishOutput(int status);

} // namespace sdc

#endif // SDC_TOOLS_SDC_PROCESS_H
