// FreePort finds a free port of the loopback interface, for programs and tests
// that start several processes. Another process may take it before it is used:
// then listening fails with ALREADY_EXISTS, and the caller must try again.
#ifndef WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_
#define WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace weft::bus {

// Returns a free port; UNAVAILABLE if the system has no free port.
absl::StatusOr<uint16_t> FreePort();

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_
