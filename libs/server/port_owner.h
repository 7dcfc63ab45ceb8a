// Identifies the program that listens at an address that is in use.
#ifndef WEFT_LIBS_SERVER_PORT_OWNER_H_
#define WEFT_LIBS_SERVER_PORT_OWNER_H_

#include "absl/status/status.h"
#include "libs/bus/address.h"
#include "libs/runtime/process.h"

namespace weft {

// `status`, the error of listening at `address`, with who listens there if that
// is its cause (ALREADY_EXISTS): a task of Weft, by its name, or another
// program. Asks with a HELLO; blocks for at most a second.
absl::Status NameListener(Process& process, const bus::Address& address,
                          const absl::Status& status);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_PORT_OWNER_H_
