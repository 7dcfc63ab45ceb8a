// NameListener identifies the program that listens at an address that is in
// use.
#ifndef WEFT_LIBS_SERVER_PORT_OWNER_H_
#define WEFT_LIBS_SERVER_PORT_OWNER_H_

#include "absl/status/status.h"
#include "libs/bus/address.h"
#include "libs/runtime/process/process.h"

namespace weft {

// Adds to `status`, the error of listening at `address`, which program listens
// there if that is the cause (ALREADY_EXISTS): a task of Weft, by its name, or
// another program. Sends a HELLO; blocks for at most a second.
absl::Status NameListener(Process& process, const bus::Address& address,
                          const absl::Status& status);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_PORT_OWNER_H_
