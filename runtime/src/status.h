// How functions of the runtime fail: they return a status and leave a message
// with the caller. A message is lower-case, has no full stop, names the thing
// at fault by its place in the file or the call, and says expected and got.
//
//   if (index >= count)
//     return fail(error, SDC_BAD_ARGUMENT, "slot %u: the session has %u", ...);
//
// A failure is passed on with SDC_TRY. Nothing here allocates.

#ifndef SDC_RUNTIME_SRC_STATUS_H
#define SDC_RUNTIME_SRC_STATUS_H

#include "sdc/sdc.h"

namespace sdc::rt {

/// Writes code and message to `error`, which may be null, and returns `code`.
[[gnu::format(printf, 3, 4)]] sdc_status fail(sdc_error *error, sdc_status code,
                                              const char *format, ...);

/// Names the system's error `number` ("permission denied").
const char *systemError(int number);

} // namespace sdc::rt

#define SDC_TRY(call)                                                          \
  do {                                                                         \
    if (sdc_status triedStatus = (call); triedStatus != SDC_OK)                \
      return triedStatus;                                                      \
  } while (false)

#endif // SDC_RUNTIME_SRC_STATUS_H
